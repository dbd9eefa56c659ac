"""Makes the encoded files that the media tests read: tones, clips of plain colours, and broken ones."""

from __future__ import annotations

import io
import struct
import tempfile
import wave
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

TICKS = 1000  # video time base: milliseconds


def tone(seconds: float, rate: int, hertz: float = 440.0, level: float = 0.5) -> npt.NDArray[np.float32]:
    return (level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def wav(samples: npt.NDArray[np.float32], rate: int) -> bytes:
    """16-bit WAV of float samples [T] or [T, channels]."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((samples * 32767).astype("<i2").tobytes())
    return file.getvalue()


def float_wav(samples: npt.NDArray[np.float32], rate: int) -> bytes:
    body = samples.astype("<f4").tobytes()
    form = struct.pack("<HHIIHH", 3, 1, rate, rate * 4, 4, 32)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


def sound(
    samples: npt.NDArray[np.float32],
    rate: int,
    container: str,
    codec: str,
    options: dict[str, str] | None = None,
) -> bytes:
    """Encode mono float samples with libav."""
    with written(container, options) as (out, path):
        write_sound(out, sound_stream(out, codec, rate), samples, rate)
        out.close()
        return path.read_bytes()


@contextmanager
def written(
    container: str, options: dict[str, str] | None
) -> Iterator[tuple[av.container.OutputContainer, Path]]:
    """An open file: some containers go back over what they wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "media"
        with av.open(str(path), "w", format=container, options=options or {}) as out:
            yield out, path


def sound_stream(out, codec: str, rate: int):
    """libav's own Vorbis encoder is marked as an experiment and only takes two channels."""
    layout = "stereo" if codec == "vorbis" else "mono"
    return out.add_stream(codec, rate=rate, layout=layout, options={"strict": "experimental"})


def write_sound(out, stream, samples, rate, start: float = 0.0) -> None:
    if not samples.size:
        return
    size = stream.frame_size or 1024
    resampler = av.AudioResampler(format=stream.format, layout=stream.layout, rate=rate, frame_size=size)
    frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = rate, round(start * rate), Fraction(1, rate)
    for piece in [*resampler.resample(frame), *resampler.resample(None)]:
        out.mux(stream.encode(piece))
    out.mux(stream.encode(None))


def clip(
    frames: Sequence[tuple[float, npt.ArrayLike]],
    *,
    container: str = "mp4",
    codec: str = "libx264",
    size: tuple[int, int] = (64, 48),
    samples: npt.NDArray[np.float32] | None = None,
    sound_codec: str = "aac",
    sound_start: float = 0.0,
    rate: int = 48_000,
    options: dict[str, str] | None = None,
) -> bytes:
    """A video of plain colours or pictures [h, w, 3], each from its time in seconds on, and its sound."""
    fast = {"deadline": "realtime", "cpu-used": "8"} if codec == "libvpx" else {}
    with written(container, options) as (out, path):
        picture = out.add_stream(codec, rate=25, options=fast)
        picture.width, picture.height = size
        picture.pix_fmt = "yuv420p"
        picture.codec_context.time_base = picture.time_base = Fraction(1, TICKS)
        picture.codec_context.gop_size = 12
        picture.codec_context.max_b_frames = 0
        heard = sound_stream(out, sound_codec, rate) if samples is not None else None
        for at, colour in frames:
            plane = np.full((size[1], size[0], 3), colour, np.uint8)
            frame = av.VideoFrame.from_ndarray(plane, format="rgb24")
            frame.pts, frame.time_base = round(at * TICKS), Fraction(1, TICKS)
            out.mux(picture.encode(frame))
        out.mux(picture.encode(None))
        if heard is not None:
            write_sound(out, heard, samples, rate, sound_start)
        out.close()
        return path.read_bytes()


def grey_clock(times: Sequence[float], step: float = 40.0) -> list[tuple[float, tuple[int, int, int]]]:
    """Frames whose grey level tells their time: ``20 + step * seconds``."""
    return [(at, (round(20 + step * at),) * 3) for at in times]


def steady(seconds: float, fps: float) -> list[float]:
    return [k / fps for k in range(round(seconds * fps))]


def shown_times(frames: Sequence[npt.NDArray[np.uint8]], step: float = 40.0) -> list[float]:
    """The inverse of ``grey_clock``: what each frame says the time is, to about a tenth of a second."""
    return [(float(frame.mean()) - 20) / step for frame in frames]


def peak_hertz(samples: npt.NDArray[np.float32], rate: int = 16_000) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(spectrum.argmax() * rate / samples.size)
