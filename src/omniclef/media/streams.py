"""What sound and video share: opening a container in memory, its claims, its clock, and decoding one sound
track.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Stream

from omniclef.errors import MediaError
from omniclef.media.budgets import Budgets
from omniclef.media.signatures import Signature, has_mp3_length
from omniclef.media.sources import one_line

__all__ = ["SAMPLE_RATE", "SLACK", "Deadline", "check_seconds", "claimed_seconds", "decode_sound", "opened"]

SAMPLE_RATE = 16_000
SLACK = 0.1  # seconds of encoder delay and padding that count against no limit
LOUDEST = 65_536.0  # a sound at full scale is 1; a file that passes this holds no sound
STRAY_PACKETS = 2  # MP3 files often begin or end with a torn frame; players skip it, and so do we

Samples = npt.NDArray[np.float32]


class Deadline:
    """Time that decoding one medium may take, by a clock that never jumps; starts when made."""

    def __init__(self, seconds: float, field: str) -> None:
        self.seconds, self.field = seconds, field
        self.end = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self.end:
            problem = f"decoding took longer than the limit of {self.seconds:g} s"
            raise MediaError(self.field, problem, "send a shorter or smaller file")


@contextmanager
def opened(data: bytes, signature: Signature, field: str, budget: Budgets) -> Iterator[InputContainer]:
    """The container, closed afterwards; whatever libav makes of hostile bytes leaves as one ``MediaError``.

    libav decodes a little of a video while it opens it, so it has to know the largest frame already then.
    """
    options = {"max_pixels": str(budget.video_frame_pixels)}
    try:
        with av.open(
            io.BytesIO(data), "r", signature.reader, options, metadata_errors="replace"
        ) as container:
            yield container
    except MediaError:
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        problem = f"the {signature.name} is damaged or cut short ({reason})"
        raise MediaError(field, problem, "encode the file again") from error


def claimed_seconds(container: InputContainer, stream: Stream, data: bytes) -> float | None:
    """Length of ``stream`` by the headers; None where they do not tell it."""
    if container.format.name == "mp3" and not has_mp3_length(data):
        return None
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    if container.duration and len(container.streams) == 1:
        return container.duration / 1e6
    return None


def check_seconds(seconds: float, limit: float, field: str, what: str) -> None:
    if seconds > limit + SLACK:
        raise MediaError(field, f"{what} {seconds:.1f} s, the limit is {limit:g} s", "send a shorter piece")


def decode_sound(
    container: InputContainer,
    stream: AudioStream,
    *,
    field: str,
    limit: float,
    budget: Budgets,
    deadline: Deadline,
) -> tuple[Samples, float]:
    """Decode one track: (float32 [T] mono at 16 kHz, time of its first sample in seconds); T may be 0.

    One or two channels are mixed by libav, as for the released models (stereo: 0.7071 of each). More channels
    are
    averaged: libav would drop the low-frequency one and let the sum pass full scale.
    """
    check_format(stream.rate, stream.channels, field, budget)
    mixer = Mixer()
    chunks: list[Samples] = []
    start, total = None, 0
    for frame in decoded_frames(container, stream):
        deadline.check()
        check_format(frame.sample_rate, frame.layout.nb_channels, field, budget)
        if start is None:
            start = frame.time or 0.0
        for chunk in mixer.mix(frame):
            chunks.append(chunk)
            total += chunk.size
        check_seconds(total / SAMPLE_RATE, limit, field, "lasts over")
    if start is None:
        return np.zeros(0, np.float32), 0.0
    samples = np.concatenate([*chunks, *mixer.mix(None)])
    if not np.isfinite(samples).all() or (samples.size and np.abs(samples).max() > LOUDEST):
        raise MediaError(
            field, "holds samples that are no sound (not finite, or far over full scale)", "encode it again"
        )
    return samples, start


def check_format(rate: int, channels: int, field: str, budget: Budgets) -> None:
    if channels > budget.audio_channels:
        problem = f"{channels} channels, the limit is {budget.audio_channels}"
        raise MediaError(field, problem, "mix the sound down to fewer channels")
    if not budget.min_sample_rate <= rate <= budget.max_sample_rate:
        limits = f"{budget.min_sample_rate:,} to {budget.max_sample_rate:,} Hz"
        raise MediaError(
            field, f"a sample rate of {rate:,} Hz, the limits are {limits}", "resample the sound"
        )


def decoded_frames(container: InputContainer, stream: AudioStream) -> Iterator[AudioFrame]:
    stray = 0
    for packet in container.demux(stream):
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            stray += 1
            if container.format.name != "mp3" or stray > STRAY_PACKETS:
                raise
            continue
        for frame in frames:
            if isinstance(frame, AudioFrame):
                yield frame


class Mixer:
    """Frames of one track in, mono chunks at 16 kHz out; None flushes what the filter still holds."""

    def __init__(self) -> None:
        # Interleaved, because PyAV 18 crashes on reading the planes of exactly eight channels.
        self.interleaved = AudioResampler(format="flt")
        self.mono = AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)

    def mix(self, frame: AudioFrame | None) -> list[Samples]:
        if frame is not None and frame.layout.nb_channels > 2:
            whole = self.interleaved.resample(frame)
            return [chunk for channels in whole for chunk in self.resample(averaged(channels))]
        return self.resample(frame)

    def resample(self, frame: AudioFrame | None) -> list[Samples]:
        # Where nothing is to be done the resampler hands back what it got, None included.
        frames = [f for f in self.mono.resample(frame) if f is not None]
        return [np.asarray(f.to_ndarray(), np.float32).reshape(-1) for f in frames]


def averaged(frame: AudioFrame) -> AudioFrame:
    """Mono from an interleaved float frame of any number of channels."""
    channels = np.asarray(frame.to_ndarray(), np.float32).reshape(-1, frame.layout.nb_channels)
    mean = channels.mean(axis=1, dtype=np.float32)[None]
    mono = AudioFrame.from_ndarray(mean, format="flt", layout="mono")
    mono.sample_rate, mono.pts, mono.time_base = frame.sample_rate, frame.pts, frame.time_base
    return mono
