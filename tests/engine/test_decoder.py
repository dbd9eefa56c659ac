"""Decoders as real processes: what they give back, and what a hostile file can and cannot do."""

from __future__ import annotations

import asyncio
import io
import mmap
import os
import signal
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from omniclef.engine.asks import SERVED, EngineSettings, WorkerLost
from omniclef.engine.decoder import Decoded, Decoders, Encoded
from omniclef.errors import MediaError
from omniclef.media import load_audio, load_image, load_video

DEMO = Path(str(resources.files("omniclef"))) / "demo"
PHOTO, ORDER, CLIP = ((DEMO / name).read_bytes() for name in ("photo.jpg", "order.wav", "clip.mp4"))

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def png(width: int, height: int, rows: int) -> bytes:
    """A black grey picture whose header claims ``height`` rows."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes((1 + width) * rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@asynccontextmanager
async def decoding(settings: EngineSettings | None = None) -> AsyncIterator[Decoders]:
    decoders = Decoders(settings or EngineSettings(decoders=1), lambda: True)
    await decoders.start()
    try:
        yield decoders
    finally:
        await decoders.close()


async def ready(decoders: Decoders) -> None:
    """Waits until a decoder answers."""
    (await decoders.decode(Encoded(images=(PHOTO,)), "")).close()


def arrays(decoded: Decoded) -> Any:
    media = decoded.layout.read(mmap.mmap(decoded.file, decoded.layout.nbytes, access=mmap.ACCESS_COPY))
    decoded.close()
    return media


def test_what_comes_back_is_what_the_loaders_give(run: Run) -> None:
    small = io.BytesIO()
    Image.new("RGB", (5, 3), "red").save(small, "PNG")

    async def scenario() -> Decoded:
        async with decoding() as decoders:
            return await decoders.decode(Encoded((PHOTO, small.getvalue()), (ORDER, ORDER), (CLIP,)), "")

    images, sounds, clips = arrays(run(scenario()))
    assert [image.tolist() for image in images] == [load_image(PHOTO).tolist(), [[[255, 0, 0]] * 5] * 3]
    assert all(np.array_equal(sound, load_audio(ORDER)) for sound in sounds)
    expected = load_video(CLIP)
    assert len(clips[0].frames) == len(expected.frames)
    assert all(np.array_equal(*pair) for pair in zip(clips[0].frames, expected.frames, strict=True))
    assert np.array_equal(clips[0].audio, expected.audio)


@pytest.mark.parametrize(
    ("media", "field", "problem"),
    [
        (Encoded(images=(PHOTO, png(60_000, 60_000, 1))), "images[1]", "pixels"),
        (Encoded(videos=(CLIP[: len(CLIP) * 2 // 3],)), "videos[0]", "cut short"),
        (Encoded(audio=(b"RIFF but no sound",)), "audio[0]", "no audio format"),
        (Encoded(images=("data:image/png;base64,!",)), "images[0]", "base64"),
        (Encoded(examples=(("image", "questions.q", "data:image/png;base64,AAAA"),)), "questions.q", "no image format"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_its_decoder_goes_on(
    run: Run, engine: Any, media: Encoded, field: str, problem: str
) -> None:
    decoders = engine._decoders
    run(ready(decoders))
    before = decoders.restarts
    with pytest.raises(MediaError, match=problem) as refused:
        run(decoders.decode(media, ""))
    assert refused.value.field == field
    run(ready(decoders))
    assert decoders.restarts == before


def test_a_picture_within_its_budget_but_beyond_the_memory_of_a_decoder_fails_alone(run: Run) -> None:
    async def scenario() -> None:
        async with decoding(EngineSettings(decoders=1, decoder_memory=48 << 20)) as decoders:
            results = await asyncio.gather(
                decoders.decode(Encoded(images=(png(6000, 6000, 6000),)), "hostile"),
                decoders.decode(Encoded(images=(PHOTO,)), "other"),
                return_exceptions=True,
            )
            assert isinstance(results[0], MediaError)
            assert isinstance(results[1], Decoded)
            results[1].close()

    run(scenario())


def test_media_that_are_too_large_together_are_refused(run: Run) -> None:
    async def scenario() -> None:
        async with decoding(EngineSettings(decoders=1, ask_bytes=2 * load_image(PHOTO).nbytes)) as decoders:
            await decoders.decode(Encoded(images=(PHOTO,)), "")
            with pytest.raises(MediaError, match="decoded, the limit is") as refused:
                await decoders.decode(Encoded(images=(PHOTO,) * 3), "")
            assert refused.value.field == "images[2]"

    run(scenario())


def test_a_decoder_that_is_killed_takes_its_own_ask_along_and_no_other(run: Run) -> None:
    async def scenario() -> None:
        async with decoding() as decoders:
            await ready(decoders)
            (pid,) = decoders.pids
            os.kill(pid, signal.SIGSTOP)  # so that it is at work when it ends
            jobs = [asyncio.ensure_future(decoders.decode(Encoded(images=(PHOTO,)), str(n))) for n in range(4)]
            await asyncio.sleep(0)
            os.kill(pid, signal.SIGKILL)
            first, *others = await asyncio.gather(*jobs, return_exceptions=True)
            assert isinstance(first, WorkerLost)
            assert first.retryable
            for other in others:
                assert isinstance(other, Decoded)
                other.close()
            assert decoders.pids != [pid]

    run(scenario())


def test_a_decoder_that_breaks_by_itself_blames_the_file(run: Run) -> None:
    async def scenario() -> None:
        async with decoding() as decoders:
            await ready(decoders)
            (pid,) = decoders.pids
            os.kill(pid, signal.SIGSTOP)
            job = asyncio.ensure_future(decoders.decode(Encoded(images=(PHOTO,)), ""))
            await asyncio.sleep(0)
            os.kill(pid, signal.SIGSEGV)
            os.kill(pid, signal.SIGCONT)
            with pytest.raises(MediaError, match="breaks its decoder"):
                await job

    run(scenario())


@pytest.mark.slow
def test_a_file_that_never_ends_is_refused_by_the_clock(run: Run) -> None:
    async def scenario() -> None:
        budgets = replace(SERVED, decode_seconds=0.5)
        async with decoding(EngineSettings(decoders=1, budgets=budgets)) as decoders:
            await ready(decoders)
            os.kill(decoders.pids[0], signal.SIGSTOP)
            with pytest.raises(MediaError, match="too long"):
                await decoders.decode(Encoded(images=(PHOTO,)), "")
            await ready(decoders)

    run(scenario())


def test_a_cancelled_ask_leaves_the_queue_and_no_file_stays_open(run: Run, open_files: Callable[[], int]) -> None:
    async def scenario() -> None:
        async with decoding() as decoders:
            await ready(decoders)
            files = open_files()
            (pid,) = decoders.pids
            os.kill(pid, signal.SIGSTOP)
            jobs = [asyncio.ensure_future(decoders.decode(Encoded(images=(PHOTO,)), "")) for _ in range(3)]
            await asyncio.sleep(0)
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            assert len(decoders) == 1  # the one that was begun
            os.kill(pid, signal.SIGCONT)
            await ready(decoders)
            assert open_files() == files

    run(scenario())


def test_a_decoder_knows_no_secrets_and_no_runtime(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-1234")

    async def scenario() -> None:
        async with decoding() as decoders:
            await ready(decoders)
            (pid,) = decoders.pids
            assert b"secret-1234" not in Path(f"/proc/{pid}/environ").read_bytes()
            assert "onnxruntime" not in Path(f"/proc/{pid}/maps").read_text()

    run(scenario())
