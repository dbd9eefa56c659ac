"""Fits ``SoundMap``: where spoken words and sounds lie in the text space. Seeded; the encoder stays as it is.

Each clip has a text; the map's ``aligned`` should be the text's sentence embedding. Loss: one minus the
cosine, plus the cross-entropy of the clip against every text of the training set, whose target is the text's
own similarity to them (so that a paraphrase is no mistake). Real recordings weigh more than synthetic speech.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from omniclef.backbones.nano.sound import log_mel
from omniclef.media import load_audio
from omniclef.training.convert.sound import FOLD, MelEncoder, SoundMap, signature
from omniclef.training.corpus.speech import Speaker
from omniclef.training.corpus.utterances import recordings, sketches, spoken

__all__ = ["Heard", "Plan", "fit", "gather", "hear"]

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Heard:
    """A training clip after the encoder.

    hidden: [T, width], signature: [4 width], float16; frames: its mel frames; text: its words, or what it
    sounds like.
    """

    hidden: npt.NDArray[np.float16]
    signature: npt.NDArray[np.float16]
    frames: int
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how hard to fit. ``sharpness`` divides cosines into logits; ``blur`` does so for the
    targets.
    """

    epochs: int = 12
    batch: int = 32
    rate: float = 2e-3
    decay: float = 0.05
    sharpness: float = 0.05
    blur: float = 0.04
    dropout: float = 0.15
    seed: int = 0


def hear(encoder: MelEncoder, mel: Array, text: str, weight: float = 1.0) -> Heard:
    """One clip, as its log-mel picture [80, F], through the encoder."""
    frames = torch.tensor([mel.shape[1]])
    padded = np.zeros((1, mel.shape[0], -(-mel.shape[1] // 8) * 8), np.float32)
    padded[0, :, : mel.shape[1]] = mel
    with torch.inference_mode():
        hidden, early = encoder(torch.from_numpy(padded), frames)
        sign = signature(hidden, early, frames)[0].numpy().astype(np.float16)
    rows = hidden[0, : -(-mel.shape[1] // 2)].numpy().astype(np.float16)
    return Heard(rows, sign, mel.shape[1], text, weight)


def gather(data: Path, encoder: MelEncoder, speaker: Speaker, seed: int) -> list[Heard]:
    """Everything the map is fitted on: speech made here, the real recordings, and sketches of sounds."""
    out = []
    for source in (spoken(data, speaker, seed), recordings(data), sketches(seed)):
        for item in source:
            clip = load_audio(item.clip, field="audio") if isinstance(item.clip, Path) else item.clip
            out.append(hear(encoder, log_mel(clip), item.text, item.weight))
    return out


def fit(
    clips: Sequence[Heard],
    embed: Callable[[Sequence[str]], Array],
    plan: Plan = Plan(),
    watch: Callable[[str, SoundMap], None] = lambda line, _: print(line, flush=True),
) -> SoundMap:
    """A map for the encoder that heard ``clips``. ``embed`` gives unit sentence embeddings [n, 384] of
    texts.
    """
    torch.manual_seed(plan.seed)
    rng = np.random.default_rng(plan.seed)
    texts = sorted({clip.text for clip in clips})
    place = {text: index for index, text in enumerate(texts)}
    bank = torch.from_numpy(np.ascontiguousarray(embed(texts), dtype=np.float32))
    map_ = SoundMap(clips[0].hidden.shape[1])
    standardise(map_, clips, rng)
    rare = torch.tensor(_rarity(clips, place), dtype=torch.float32)

    steps = plan.epochs * sum(1 for _ in _batches(clips, plan.batch, np.random.default_rng(0)))
    slow = [p for p in map_.parameters() if p.ndim > 1]
    fast = [p for p in map_.parameters() if p.ndim <= 1]
    optimiser = torch.optim.AdamW([{"params": slow, "weight_decay": plan.decay}, {"params": fast, "weight_decay": 0.0}])
    done = 0
    for epoch in range(plan.epochs):
        total = torch.zeros(2)
        for batch in _batches(clips, plan.batch, rng):
            share = min(1.0, (done + 1) / (0.06 * steps)) * 0.5 * (1 + math.cos(math.pi * done / steps))
            for group in optimiser.param_groups:
                group["lr"] = plan.rate * share
            hidden, signs, frames = stack(batch)
            goal = torch.tensor([place[clip.text] for clip in batch])
            weight = torch.tensor([clip.weight for clip in batch]) * rare[goal]
            _, aligned, _ = map_(*_disturb(hidden, signs, map_, plan.dropout), frames)
            target = (bank[goal] @ bank.T / plan.blur).softmax(1)
            contrast = -(target * (aligned @ bank.T / plan.sharpness).log_softmax(1)).sum(1)
            distance = 1 - (aligned * bank[goal]).sum(1)
            loss = (weight * (contrast + 4 * distance)).sum() / weight.sum()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(map_.parameters(), 1.0)
            optimiser.step()
            done += 1
            total += torch.stack([1 - distance.mean().detach(), torch.ones(())])
        watch(f"epoch {epoch + 1}/{plan.epochs}: cosine {float(total[0] / total[1]):.3f}", map_)
    fitted: SoundMap = map_.eval()
    return fitted


def standardise(map_: SoundMap, clips: Sequence[Heard], rng: np.random.Generator) -> None:
    """Sets the map's fixed means and deviations from at most 1,500 clips."""
    chosen = [clips[i] for i in rng.permutation(len(clips))[:1500]]
    rows = torch.from_numpy(np.concatenate([clip.hidden[::5] for clip in chosen]).astype(np.float32))
    map_.mean.copy_(rows.mean(0))
    map_.scale.copy_(rows.std(0) + 1e-3)
    signs = torch.from_numpy(np.stack([clip.signature for clip in chosen]).astype(np.float32))
    map_.key_mean.copy_(signs.mean(0))
    map_.key_scale.copy_(signs.std(0) + 1e-3)


def stack(clips: Sequence[Heard]) -> tuple[Tensor, Tensor, Tensor]:
    """hidden [N, T, width] padded with zeros to a multiple of 4, signatures [N, 4 width], frames [N]."""
    longest = -(-max(len(clip.hidden) for clip in clips) // FOLD) * FOLD
    hidden = np.zeros((len(clips), longest, clips[0].hidden.shape[1]), np.float32)
    for index, clip in enumerate(clips):
        hidden[index, : len(clip.hidden)] = clip.hidden
    signs = np.stack([clip.signature for clip in clips]).astype(np.float32)
    return torch.from_numpy(hidden), torch.from_numpy(signs), torch.tensor([clip.frames for clip in clips])


def _rarity(clips: Sequence[Heard], place: dict[str, int]) -> list[float]:
    """A text spoken n times weighs n ** -0.5 each time, so that a few words do not rule."""
    counts = [0] * len(place)
    for clip in clips:
        counts[place[clip.text]] += 1
    return [count**-0.5 for count in counts]


def _batches(clips: Sequence[Heard], size: int, rng: np.random.Generator) -> Iterator[list[Heard]]:
    """Batches of similar length, in random order; what is similar changes from epoch to epoch."""
    length = np.array([clip.frames for clip in clips]) * np.exp(rng.normal(0, 0.15, len(clips)))
    order = np.argsort(length)
    cuts = [order[i : i + size] for i in range(0, len(order), size)]
    for index in rng.permutation(len(cuts)):
        yield [clips[i] for i in cuts[index]]


def _disturb(hidden: Tensor, signs: Tensor, map_: SoundMap, dropout: float) -> tuple[Tensor, Tensor]:
    """Training noise: some rows fall back to the mean, all get a little noise, and so do the signatures."""
    gone = torch.rand(hidden.shape[:2])[:, :, None] < dropout
    noisy = hidden + 0.3 * map_.scale * torch.randn_like(hidden)
    rows = torch.where(gone, map_.mean.expand_as(hidden), noisy)
    return rows, signs + 0.3 * map_.key_scale * torch.randn_like(signs)
