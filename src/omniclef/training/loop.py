"""Training the joint schema head on a frozen backbone: sampling, steps, validation, checkpoints.

Knows records, prefills and the head; knows nothing of where records come from. Needs the extra [torch].
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from omniclef.answers import softmax
from omniclef.backbones.base import Backbone, Head, Prefill
from omniclef.backbones.padding import pad
from omniclef.head import JointSchemaHead
from omniclef.records import Record, parse_questions
from omniclef.training.calibration import HeldOut
from omniclef.training.media import decode
from omniclef.training.objective import Weights, objective, targets
from omniclef.training.records import LabelledRecord

__all__ = ["Plan", "Vary", "fit", "held_out_answers", "validate"]

Vary = Callable[[LabelledRecord, np.random.Generator], LabelledRecord]
TYPES = {"noul": 0, "choice": 1, "score": 2}


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how fast. Rates fall as a cosine after a linear warm-up; ``average`` is the decay of the running
    mean of the weights, which is what is kept in the end."""

    steps: int = 6000
    batch: int = 32
    rate: float = 6e-4
    warmup: int = 200
    decay: float = 0.02
    average: float = 0.998
    clip: float = 1.0
    every: int = 500
    seed: int = 7
    threads: int = 2
    weights: Weights = field(default_factory=Weights)


def fit(
    head: JointSchemaHead,
    backbone: Backbone,
    train: Sequence[LabelledRecord],
    valid: Sequence[LabelledRecord],
    vary: Vary,
    plan: Plan,
    folder: Path,
    console: Console | None = None,
) -> JointSchemaHead:
    """The head with the averaged weights. Writes ``metrics.jsonl`` and ``state.pt`` to ``folder`` as it goes.

    A run that finds ``state.pt`` goes on from there with the same draws as if it had never stopped.
    """
    torch.set_num_threads(plan.threads)
    folder.mkdir(parents=True, exist_ok=True)
    mean = JointSchemaHead(head.config)
    mean.load_state_dict(head.state_dict())
    optimizer = torch.optim.AdamW(_groups(head, plan.decay), lr=plan.rate, betas=(0.9, 0.98))
    state = folder / "state.pt"
    first = _resume(state, head, mean, optimizer) if state.exists() else 0
    log = folder / "metrics.jsonl"
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=plan.steps, completed=first, note="")
        running = 0.0
        for step in range(first, plan.steps):
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * _share(step, plan)
            # Each step draws from its own generator, so that a resumed run repeats nothing and skips nothing.
            rng = np.random.default_rng([plan.seed, step])
            chosen = [vary(train[i], rng) for i in rng.integers(0, len(train), plan.batch)]
            head.train()
            torch.manual_seed(plan.seed * 1_000_003 + step)
            loss = torch.zeros(())
            for part, share in _parts(_prefilled(backbone, chosen)):
                value = _loss(head, part, plan.weights)[0] * share
                value.backward()
                loss += value.detach()
            torch.nn.utils.clip_grad_norm_(head.parameters(), plan.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            _average(mean, head, min(plan.average, (step + 1) / (step + 10)))
            running = 0.98 * running + 0.02 * float(loss) if step > first else float(loss)
            progress.update(task, advance=1, note=f"loss {running:.3f}")
            if (step + 1) % plan.every == 0 or step + 1 == plan.steps:
                figures = {
                    "step": step + 1,
                    "loss": round(running, 4),
                    **validate(mean, backbone, valid, plan.weights),
                }
                with log.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(figures) + "\n")
                _save(state, step + 1, head, mean, optimizer)
    mean.eval()
    return mean


def validate(
    head: JointSchemaHead, backbone: Backbone, records: Sequence[LabelledRecord], weights: Weights
) -> dict[str, Any]:
    """Mean loss, and accuracy by family, on records as they are."""
    head.eval()
    right: dict[str, list[float]] = defaultdict(list)
    losses = []
    with torch.inference_mode():
        for start in range(0, len(records), 32):
            batch = records[start : start + 32]
            for part, _ in _parts(_prefilled(backbone, batch)):
                loss, p, wanted, families = _loss(head, part, weights)
                losses.append(float(loss))
                hits = (p.argmax(1) == wanted.argmax(1)).tolist()
                for family, hit in zip(families, hits, strict=True):
                    right[family].append(float(hit))
    accuracy = {family: round(float(np.mean(hits)), 4) for family, hits in sorted(right.items())}
    mean = round(float(np.mean(list(accuracy.values()))), 4) if accuracy else None
    return {"valid_loss": round(float(np.mean(losses)), 4), "mean": mean, "accuracy": accuracy}


def held_out_answers(head: Head, backbone: Backbone, records: Sequence[LabelledRecord]) -> list[HeldOut]:
    """Each labelled question of the records, answered, in order."""
    names = {number: name for name, number in TYPES.items()}
    found = []
    for start in range(0, len(records), 32):
        reads = _prefilled(backbone, records[start : start + 32])
        for read, scores in zip(reads, head([read.prefill for read in reads]), strict=True):
            trust, first = read.prefill.trust, 0
            for truth, kind in read.truths:
                if truth.any():
                    probabilities = softmax(scores.logits[first : first + len(truth)].tolist())
                    share = 1.0 if trust is None else float(trust[first])
                    medium = read.prefill.tokens.medium
                    found.append(HeldOut(names[kind], probabilities, int(truth.argmax()), share, medium))
                first += len(truth)
    return found


def truths(record: LabelledRecord, parsed: Record) -> Iterator[tuple[npt.NDArray[np.float32], int]]:
    """(truth [k], type) of every question in order; a question without a label gives zeros."""
    for key, question in parsed.questions.items():
        keys = [option.key for option in question.options()]
        truth = np.zeros(len(keys), np.float32)
        label = record.labels.get(key)
        if label is not None:
            name = str(label).lower() if isinstance(label, bool) else str(label)
            truth[keys.index(name)] = 1.0
        yield truth, TYPES[question.type]


@dataclass(frozen=True, slots=True)
class _Read:
    family: str
    prefill: Prefill
    truths: list[tuple[npt.NDArray[np.float32], int]]


def _prefilled(backbone: Backbone, records: Sequence[LabelledRecord]) -> list[_Read]:
    parsed = [decode(record, parse_questions(record.questions)) for record in records]
    prefills = backbone.prefill(parsed)
    return [
        _Read(record.family, prefill, list(truths(record, one)))
        for record, one, prefill in zip(records, parsed, prefills, strict=True)
    ]


def _parts(reads: Sequence[_Read], pairs: int = 400_000) -> Iterator[tuple[list[_Read], float]]:
    """Records of similar size together, so that one long record does not pad them all; with their share of all."""
    rest = sorted(reads, key=lambda read: (len(read.prefill.options), len(read.prefill.memory)))
    while rest:
        part: list[_Read] = []
        options = rows = 0
        for read in rest:
            options, rows = max(options, len(read.prefill.options)), max(rows, len(read.prefill.memory))
            if part and ((len(part) + 1) * options * (rows + 64) > pairs or options > 3 * len(part[0].prefill.options)):
                break
            part.append(read)
        rest = rest[len(part) :]
        yield part, len(part) / len(reads)


def _loss(head: JointSchemaHead, reads: Sequence[_Read], weights: Weights) -> tuple[Tensor, Tensor, Tensor, list[str]]:
    inputs = {name: torch.from_numpy(value) for name, value in pad([read.prefill for read in reads]).items()}
    logits, _ = head(**inputs)
    lines: list[tuple[int, npt.NDArray[np.float32], int]] = []
    families = []
    added = np.zeros(logits.shape, np.float32)
    factors = np.ones(logits.shape, np.float32)
    for row, read in enumerate(reads):
        first = row * logits.shape[1]
        if read.prefill.bias is not None:
            added[row, : len(read.prefill.bias)] = read.prefill.bias
        if read.prefill.scale is not None:
            factors[row, : len(read.prefill.scale)] = read.prefill.scale
        for truth, kind in read.truths:
            if truth.any():
                lines.append((first, truth, kind))
                families.append(read.family)
            first += len(truth)
    wanted = targets(lines)
    loss, p = objective((logits * torch.from_numpy(factors) + torch.from_numpy(added)).reshape(-1), wanted, weights)
    return loss, p, wanted.truth, families


def _groups(head: JointSchemaHead, decay: float) -> list[dict[str, Any]]:
    """Matrices decay, gains, biases and scalars do not."""
    matrices = [p for p in head.parameters() if p.ndim > 1]
    others = [p for p in head.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def _share(step: int, plan: Plan) -> float:
    if step < plan.warmup:
        return (step + 1) / plan.warmup
    done = (step - plan.warmup) / max(1, plan.steps - plan.warmup)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))


def _average(mean: JointSchemaHead, head: JointSchemaHead, decay: float) -> None:
    with torch.no_grad():
        for slow, fast in zip(mean.parameters(), head.parameters(), strict=True):
            slow.lerp_(fast, 1 - decay)


def _save(
    path: Path, step: int, head: JointSchemaHead, mean: JointSchemaHead, optimizer: torch.optim.Optimizer
) -> None:
    partial = path.with_suffix(".partial")
    torch.save(
        {
            "step": step,
            "head": head.state_dict(),
            "mean": mean.state_dict(),
            "optimizer": optimizer.state_dict(),
            "config": asdict(head.config),
        },
        partial,
    )
    partial.rename(path)


def _resume(path: Path, head: JointSchemaHead, mean: JointSchemaHead, optimizer: torch.optim.Optimizer) -> int:
    kept = torch.load(path, weights_only=True)
    head.load_state_dict(kept["head"])
    mean.load_state_dict(kept["mean"])
    optimizer.load_state_dict(kept["optimizer"])
    return int(kept["step"])
