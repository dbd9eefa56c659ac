"""The sound tower of nano: 16 kHz samples to evidence rows, a vector in the text space, and a key for
comparison.

Knows Whisper's log-mel input and the graph ``sound.onnx``; knows nothing of files, questions or
probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

__all__ = ["RATE", "Sound", "SoundTower", "log_mel"]

Array = npt.NDArray[np.float32]

RATE = 16_000
HOP = 160
WINDOW = 400
MELS = 80
STRIDE = 8  # mel frames a row stands for
WINDOW_SECONDS = 10  # the graph's longest input: attention costs the square of it, and words need little of it
MEL_SECONDS = 30  # what Whisper's own log-mel is defined on
ROW_SECONDS = HOP * STRIDE / RATE


@dataclass(frozen=True, slots=True)
class Sound:
    """One clip as the head sees it.

    rows: [T, 384] evidence, one every ``seconds`` (0.08 s), in order of time
    aligned: [384] unit vector in the text space: where the words for this sound would be
    key: [K] unit vector of raw features, for comparison with the key of another clip
    """

    rows: Array
    aligned: Array
    key: Array
    seconds: float


@cache
def _filters() -> Array:
    """[80, 201] triangles, area-normalised, evenly spaced on Slaney's mel scale from 0 to 8 kHz."""

    def hertz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # Linear to 1 kHz (mel 15), then 27 mels for each factor of 6.4.
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    top = 15 + 27 * np.log(8.0) / np.log(6.4)
    edges = hertz(np.linspace(0, top, MELS + 2))
    bins = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    area = 2 / (edges[2:] - edges[:-2])
    triangles: Array = (np.maximum(0, np.minimum(rise, fall)) * area[:, None]).astype(np.float32)
    return triangles


def log_mel(samples: Array) -> Array:
    """Whisper's log-mel picture of at most 30 s: [80, F] float32, F = ceil(samples / 160).

    Equal to the first F frames of what Whisper computes on the clip padded with silence to 30 s: Hann window
    of 400, hop 160, power, log10 with floor 1e-10, at most 8 below the loudest, then (x + 4) / 4. The loudest
    frame of the padded clip is a frame of the clip, so nothing needs the padding itself.
    """
    frames = -(-len(samples) // HOP)
    half = WINDOW // 2
    body = np.zeros(min(frames * HOP + half, MEL_SECONDS * RATE), dtype=np.float32)
    body[: len(samples)] = samples
    whole = np.pad(body, half, mode="reflect")  # its end is in reach only of a clip that fills the 30 s
    view = np.lib.stride_tricks.sliding_window_view(whole, WINDOW)[::HOP][:frames]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)
    power = np.abs(np.fft.rfft(view * hann, axis=1)) ** 2
    log = np.log10(np.maximum(power.astype(np.float32) @ _filters().T, 1e-10))
    picture: Array = ((np.maximum(log, log.max() - 8) + 4) / 4).T.astype(np.float32)
    return picture


class SoundTower:
    """Runs ``sound.onnx`` on clips of any length, one window at a time, so that a clip never depends on its
    batch.
    """

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session

    def encode(self, clips: Sequence[Array]) -> list[Sound]:
        """Each clip, float32 [T] mono at 16 kHz with T >= 1, as rows, aligned vector and key.

        A clip longer than ``WINDOW_SECONDS`` is cut into the fewest windows of equal length, without overlap;
        its rows follow one another, and ``aligned`` and ``key`` are the windows' means by duration, at unit
        length.
        """
        return [self._clip(clip) for clip in clips]

    def _clip(self, clip: Array) -> Sound:
        if clip.ndim != 1 or not len(clip):
            raise ValueError(f"a clip is a row of at least one sample, not an array of shape {clip.shape}")
        parts = [self._window(clip[start:stop]) for start, stop in _windows(len(clip))]
        weights = [len(rows) for rows, _, _ in parts]
        return Sound(
            rows=np.concatenate([rows for rows, _, _ in parts]),
            aligned=_mean([aligned for _, aligned, _ in parts], weights),
            key=_mean([key for _, _, key in parts], weights),
            seconds=ROW_SECONDS,
        )

    def _window(self, samples: Array) -> tuple[Array, Array, Array]:
        picture = log_mel(samples)
        frames = picture.shape[1]
        mel = np.zeros((1, MELS, -(-frames // STRIDE) * STRIDE), dtype=np.float32)
        mel[0, :, :frames] = picture
        rows, aligned, key = self._session.run(
            ["rows", "aligned", "key"], {"mel": mel, "frames": np.array([frames], dtype=np.int64)}
        )
        return rows[0], aligned[0], key[0]


def _windows(length: int) -> list[tuple[int, int]]:
    """Sample spans of the fewest windows of nearly equal length; cuts fall on whole rows."""
    step = HOP * STRIDE
    count = -(-length // (WINDOW_SECONDS * RATE))
    size = -(-length // (count * step)) * step
    return [(start, min(start + size, length)) for start in range(0, length, size)]


def _mean(units: list[Array], weights: list[int]) -> Array:
    if len(units) == 1:
        return units[0]
    total = np.average(np.stack(units), axis=0, weights=weights)
    unit: Array = (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
    return unit
