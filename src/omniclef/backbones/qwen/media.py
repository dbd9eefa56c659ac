"""Media of one record as a released backbone reads them: tokens of the prompt and tensors for the towers.

Knows which tokens stand for a picture, a sound or a clip, and how a clip's sound is woven into its frames. Must not
know prompts, networks or encoded files. Written against transformers 5.21.1, whose processors the weights were made
with, and of those only the mel spectrogram is used: the others changed since, or need torchvision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor

from omniclef.backbones.base import Modality, RowSource
from omniclef.backbones.qwen.pictures import Pictures
from omniclef.records import Record, Video

__all__ = ["Media", "MediaReader", "joined"]

RATE = 16_000
PER_SECOND = 13
"""Tokens, and positions, of a second of sound."""

MEL_FRAMES = 100
"""Frames of a mel spectrogram in a second: the piece that the audio tower makes 13 tokens of."""

SHORTEST = 400
"""Samples of one window of the spectrogram; shorter sounds are followed by silence up to here."""

IMAGE_PIXELS = 65_536, 1_048_576
FRAME_PIXELS = 128 * 32 * 32, 768 * 32 * 32
"""What the publisher's code gives Clef-omni, whatever the processor files say. Clef takes what they say."""

TYPES: dict[Modality, int] = {"image": 1, "video": 2}
"""Clef's marks of tokens that stand for media."""

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Media:
    """What the media of a record become.

    tokens: of the prompt, markers included. tensors: by their names in the network's forward. counts: tokens by
    modality. types: 0 for text, else as in ``TYPES``, one for each token. sources: where rows lie, counted from the
    first of ``tokens``. sounding: whether clips are heard.
    """

    tokens: tuple[int, ...] = ()
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    counts: Mapping[Modality, int] = field(default_factory=dict)
    types: tuple[int, ...] = ()
    sources: tuple[RowSource, ...] = ()
    sounding: bool = False

    @property
    def kind(self) -> tuple[int, int]:
        """Records of one kind may share a forward pass.

        A pass either hears all of its clips or none. And the audio tower pads the pieces of all sounds, a second or
        less each, to the longest of the pass, which shows in the others: a record keeps the length it would have alone.
        """
        frames = self.tensors.get("feature_attention_mask")
        piece = 0 if frames is None else min(MEL_FRAMES, int(frames.sum(-1).max()))
        return 2 if self.sounding else 1 if self.tokens else 0, piece

    def placed(self, start: int) -> tuple[RowSource, ...]:
        """The sources, where the media's tokens begin at ``start`` of the prompt."""
        return tuple(replace(s, start=s.start + start, stop=s.stop + start) for s in self.sources)


class MediaReader:
    """Reads media as Clef-omni does (``omni``) or as Clef does.

    Args:
        encode: text to token ids.
        settings: sections of a release's processor files by modality.
        omni: which of the two; only Clef-omni hears.
    """

    def __init__(
        self, encode: Callable[[str], Sequence[int]], settings: Mapping[str, Mapping[str, Any]], omni: bool
    ) -> None:
        self._encode = encode
        self._omni = omni
        self._images = Pictures.of(settings["image"])
        self._clips = Pictures.of(settings["video"], whole_clip=not omni)
        self._listen: Any = None
        if omni:
            self._images, self._clips = self._images.within(*IMAGE_PIXELS), self._clips.within(*FRAME_PIXELS)
            known = ("feature_size", "sampling_rate", "hop_length", "chunk_length", "n_fft", "padding_value", "dither")
            sound = settings["audio"]
            self._listen = transformers.WhisperFeatureExtractor(**{key: sound[key] for key in known if key in sound})

    def read(self, record: Record) -> Media:
        """Images, then sounds, then clips, in the order of the record.

        Raises:
            InvalidInput: a picture is of a shape that the tower cannot take.
        """
        if not (record.images or record.audio or record.videos):
            return Media()
        strip = _Strip(self._encode)
        tensors: dict[str, Tensor] = {}
        # Clips are heard only if each of them has a sound; then their tracks follow the record's own sounds.
        tracks = [video.audio for video in record.videos if video.audio is not None]
        sounding = self._omni and bool(record.videos) and len(tracks) == len(record.videos)
        lengths = self._hear([*record.audio, *(tracks if sounding else ())], tensors)
        self._see(record, strip, tensors)
        for index in range(len(record.audio)):
            strip.sound(index, lengths[index])
        self._watch(record.videos, strip, tensors, lengths[len(record.audio) :] if sounding else [])
        if not self._omni:
            strip.text("\n")
        return Media(
            tokens=tuple(strip.tokens),
            tensors=tensors,
            counts=strip.counts,
            types=() if self._omni else tuple(strip.types),
            sources=tuple(strip.sources),
            sounding=sounding,
        )

    def _see(self, record: Record, strip: _Strip, tensors: dict[str, Tensor]) -> None:
        read = [self._images.patches([image], f"images[{i}]") for i, image in enumerate(record.images)]
        for index, (_, grid) in enumerate(read):
            strip.image(index, _tokens(grid, self._images), newline=self._omni)
        if read:
            tensors["pixel_values"] = torch.cat([patches for patches, _ in read])
            tensors["image_grid_thw"] = torch.tensor([grid for _, grid in read])

    def _watch(self, videos: Sequence[Video], strip: _Strip, tensors: dict[str, Tensor], heard: Sequence[int]) -> None:
        """``heard``: tokens of each clip's sound, none where clips are not heard."""
        read = [self._clips.patches(video.frames, f"videos[{i}]") for i, video in enumerate(videos)]
        seconds = [self._clips.frames / video.fps for video in videos]
        for index, (_, grid) in enumerate(read):
            shape = _tokens(grid, self._clips)
            if self._omni:
                strip.clip(index, shape, seconds[index], heard[index] if heard else None)
            else:
                strip.timed_clip(index, shape, videos[index].fps, self._clips.frames)
        if read:
            tensors["pixel_values_videos"] = torch.cat([patches for patches, _ in read])
            tensors["video_grid_thw"] = torch.tensor([grid for _, grid in read])
            if self._omni:
                tensors["video_second_per_grid"] = torch.tensor(seconds)

    def _hear(self, sounds: Sequence[Samples], tensors: dict[str, Tensor]) -> list[int]:
        """Tokens of each sound. One call for all: a sound's last window reaches into the padding behind it."""
        if not sounds:
            return []
        long = [np.pad(sound, (0, max(0, SHORTEST - len(sound)))) for sound in sounds]
        found = self._listen(
            long, sampling_rate=RATE, padding=True, truncation=False, return_attention_mask=True, return_tensors="pt"
        )
        tensors["input_features"], mask = found["input_features"], found["attention_mask"]
        tensors["feature_attention_mask"] = mask
        return [_sound_tokens(int(frames)) for frames in mask.sum(-1)]


class _Strip:
    """The tokens of a record's media while they are laid out."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self.tokens: list[int] = []
        self.types: list[int] = []
        self.counts: dict[Modality, int] = {}
        self.sources: list[RowSource] = []

    def text(self, text: str) -> None:
        """Text and marks; a mark splits a text, so these seams change nothing."""
        self._add(self._encode(text), 0)

    def image(self, index: int, shape: tuple[int, int, int], newline: bool) -> None:
        before = len(self.tokens)
        self.text("<|vision_start|>")
        _, rows, columns = shape
        boxes = [
            (column / columns, row / rows, (column + 1) / columns, (row + 1) / rows)
            for row in range(rows)
            for column in range(columns)
        ]
        self._medium("image", index, "<|image_pad|>", boxes)
        self.text("<|vision_end|>\n" if newline else "<|vision_end|>")
        self._count("image", before)

    def sound(self, index: int, length: int) -> None:
        before = len(self.tokens)
        self.text("<|audio_start|>")
        self._medium("audio", index, "<|audio_pad|>", _heard(length))
        self.text("<|audio_end|>\n")
        self._count("audio", before)

    def clip(self, index: int, shape: tuple[int, int, int], seconds: float, heard: int | None) -> None:
        """Frames, with the tokens of their sound between them where it is heard.

        A token goes where its time is; a frame's come before a sound's of the same time.
        """
        before = len(self.tokens)
        (frame,), (wave,) = self._encode("<|video_pad|>"), self._encode("<|audio_pad|>")
        steps, rows, columns = shape
        seen = [
            (step * seconds * PER_SECOND, 0, frame, (step * seconds, (step + 1) * seconds)) for step in range(steps)
        ]
        pieces = [piece for piece in seen for _ in range(rows * columns)]
        if heard is not None:
            pieces += [(float(place), 1, wave, span) for place, span in enumerate(_heard(heard))]
            pieces.sort(key=lambda piece: piece[:2])
        self.text("<|vision_start|>" if heard is None else "<|vision_start|><|audio_start|>")
        start = len(self.tokens)
        self._add([token for _, _, token, _ in pieces], TYPES["video"])
        self.sources.append(RowSource("video", index, start, len(self.tokens), tuple(span for *_, span in pieces)))
        self.text("<|vision_end|>\n" if heard is None else "<|audio_end|><|vision_end|>\n")
        self._count("video", before)

    def timed_clip(self, index: int, shape: tuple[int, int, int], fps: float, frames: int) -> None:
        """Clef's way: each pair of frames by itself, after the time between them in words."""
        before = len(self.tokens)
        steps, rows, columns = shape
        self.text("<|vision_start|>")
        for step in range(steps):
            first, last = step * frames / fps, (step * frames + frames - 1) / fps
            self.text(f"<{(first + last) / 2:.1f} seconds>")
            self.text("<|vision_start|>")
            span = (first, (step + 1) * frames / fps)
            self._medium("video", index, "<|video_pad|>", [span] * (rows * columns))
            self.text("<|vision_end|>")
        self.text("<|vision_end|>")
        self._count("video", before)

    def _medium(self, modality: Modality, index: int, mark: str, spans: Sequence[tuple[float, ...]]) -> None:
        start = len(self.tokens)
        self._add(list(self._encode(mark)) * len(spans), TYPES.get(modality, 0))
        self.sources.append(RowSource(modality, index, start, len(self.tokens), tuple(spans)))

    def _add(self, tokens: Sequence[int], kind: int) -> None:
        self.tokens += tokens
        self.types += [kind] * len(tokens)

    def _count(self, modality: Modality, before: int) -> None:
        self.counts[modality] = self.counts.get(modality, 0) + len(self.tokens) - before


def joined(media: Sequence[Media], ends: Sequence[int], length: int) -> dict[str, Any]:
    """Tensors of one forward pass over records whose media end at ``ends``, in prompts padded to ``length``."""
    names = list(dict.fromkeys(name for some in media for name in some.tensors))
    tensors: dict[str, Any] = {}
    for name in names:
        parts = [some.tensors[name] for some in media if name in some.tensors]
        if name in ("input_features", "feature_attention_mask"):
            longest = max(part.shape[-1] for part in parts)
            parts = [F.pad(part, (0, longest - part.shape[-1])) for part in parts]
        tensors[name] = torch.cat(parts)
    if any(some.sounding for some in media):
        tensors["use_audio_in_video"] = True
    if any(some.types for some in media):
        types = torch.zeros(len(media), length, dtype=torch.long)
        for row, (some, end) in enumerate(zip(media, ends, strict=True)):
            types[row, end - len(some.types) : end] = torch.tensor(some.types, dtype=torch.long)
        tensors["mm_token_type_ids"] = types
    return tensors


def _tokens(grid: tuple[int, int, int], pictures: Pictures) -> tuple[int, int, int]:
    """Steps in time, rows and columns of tokens."""
    return grid[0], grid[1] // pictures.merge, grid[2] // pictures.merge


def _sound_tokens(frames: int) -> int:
    """Tokens of a mel spectrogram: three layers halve what is left of whole seconds."""
    seconds, rest = divmod(frames, MEL_FRAMES)
    for _ in range(3):
        rest = (rest + 1) // 2
    return PER_SECOND * seconds + rest


def _heard(length: int) -> list[tuple[float, float]]:
    return [(place / PER_SECOND, (place + 1) / PER_SECOND) for place in range(length)]
