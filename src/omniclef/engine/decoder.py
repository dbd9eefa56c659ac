"""Media are decoded in processes of their own, with limits on memory and time: a hostile file ends one of them at most.

Knows media and their budgets. Must not know models, and opens nothing but what it was given. What a decoder says is
JSON: whoever took one over has nothing to unpickle here.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omniclef.engine.asks import EngineSettings, Overloaded, WorkerLost
from omniclef.engine.child import Backoff, Child
from omniclef.engine.link import memory_file, receive, seal, send
from omniclef.engine.queueing import Shares, Size, Ticket
from omniclef.errors import MediaError
from omniclef.media import load_audio, load_image, load_video
from omniclef.media.budgets import Budgets
from omniclef.records import Video

__all__ = ["Decoded", "Decoders", "Encoded", "Layout", "main"]

KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
"""What a decoder learns of our environment: no keys, no addresses."""

ARENAS = {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads that nobody needs would fill the address space."""

GRACE = 5.0
"""Seconds of the clock that a medium may take beyond its own limit, before its decoder is ended."""

CORES = 4
"""Cores that a decoder may keep busy for all of that limit."""

ALIGNED = 64

Pixels: TypeAlias = npt.NDArray[np.uint8]
Samples: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Media of one ask as they were sent. examples: (field, source) of media that are only tried, as a model reads them
    itself."""

    images: tuple[bytes | str, ...] = ()
    audio: tuple[bytes | str, ...] = ()
    videos: tuple[bytes | str, ...] = ()
    examples: tuple[tuple[str, str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.images) + len(self.audio) + len(self.videos) + len(self.examples)

    @property
    def size(self) -> int:
        """Bytes, base64 as it is."""
        media = (*self.images, *self.audio, *self.videos, *(source for _, _, source in self.examples))
        return sum(map(len, media))


@dataclass(frozen=True, slots=True)
class Layout:
    """How decoded media lie in a file: every picture, sound and frame at a multiple of ``ALIGNED`` bytes, in order.

    images: (height, width) of each. audio: samples of each. videos: (height, width) of each frame, and samples of the
    sound or -1, of each clip.
    """

    images: tuple[tuple[int, int], ...] = ()
    audio: tuple[int, ...] = ()
    videos: tuple[tuple[tuple[tuple[int, int], ...], int], ...] = ()

    @classmethod
    def parse(cls, said: Any) -> Layout:
        return cls(
            tuple((int(high), int(wide)) for high, wide in said["images"]),
            tuple(map(int, said["audio"])),
            tuple((tuple((int(high), int(wide)) for high, wide in f), int(count)) for f, count in said["videos"]),
        )

    @property
    def size(self) -> Size:
        sound = sum(self.audio) + sum(max(0, samples) for _, samples in self.videos)
        return Size(
            tuple(high * wide for high, wide in self.images),
            sound / 16_000,
            tuple(sum(high * wide for high, wide in frames) for frames, _ in self.videos),
        )

    @property
    def nbytes(self) -> int:
        total = 0
        for shape in self._shapes():
            total = _aligned(total) + _bytes_of(shape)
        return total

    def read(self, buffer: Any) -> tuple[tuple[Pixels, ...], tuple[Samples, ...], tuple[Video, ...]]:
        """(images, sounds, clips) as views of ``buffer``."""
        arrays: list[Any] = []
        start = 0
        for shape in self._shapes():
            start = _aligned(start)
            array = np.frombuffer(buffer, np.float32 if len(shape) == 1 else np.uint8, prod(shape), start)
            arrays.append(array.reshape(shape))
            start += _bytes_of(shape)
        left = iter(arrays)
        images = tuple(islice(left, len(self.images)))
        sounds = tuple(islice(left, len(self.audio)))
        clips = [
            Video(tuple(islice(left, len(frames))), 2.0, next(left) if samples >= 0 else None)
            for frames, samples in self.videos
        ]
        return images, sounds, tuple(clips)

    def _shapes(self) -> Iterator[tuple[int, ...]]:
        yield from ((high, wide, 3) for high, wide in self.images)
        yield from ((samples,) for samples in self.audio)
        for frames, samples in self.videos:
            yield from ((high, wide, 3) for high, wide in frames)
            if samples >= 0:
                yield (samples,)


@dataclass(slots=True)
class Decoded:
    """``file`` is open and ours to close."""

    layout: Layout
    file: int

    def duplicate(self) -> int:
        """The same file, opened once more."""
        return os.dup(self.file)

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


@dataclass(slots=True, eq=False, kw_only=True)
class _Job(Ticket):
    media: Encoded
    answer: asyncio.Future[Decoded]


class _Decoder:
    """One child, and what it does at the moment."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.ready = False
        self.job: _Job | None = None
        self.file = -1
        self.field = ""
        self.overdue: asyncio.TimerHandle | None = None
        self.late = False
        self.backoff = Backoff()


class Decoders:
    """All decoders of an engine and the asks that wait for one, each tenant in turn.

    With several of them one takes no clips, so that a picture never waits for two long ones. Nothing is decoded while
    ``room`` says that too much decoded waits already; call ``go`` when that has changed.

    Args:
        settings: number, memory and budgets.
        room: whether there is memory for what another job makes.
    """

    def __init__(self, settings: EngineSettings, room: Callable[[], bool]) -> None:
        self._settings = settings
        self._room = room
        self._decoders = [_Decoder() for _ in range(settings.decoders)]
        self._quick: Shares[_Job] = Shares(1 << 20)
        self._clips: Shares[_Job] = Shares(1 << 20)
        self._closed = False
        self._starting: set[asyncio.Task[None]] = set()
        self.restarts = 0

    @property
    def pids(self) -> list[int]:
        return [decoder.child.pid for decoder in self._decoders if decoder.child]

    def __len__(self) -> int:
        """Asks that are decoded or wait for it."""
        return len(self._quick) + len(self._clips) + sum(decoder.job is not None for decoder in self._decoders)

    @property
    def waiting_bytes(self) -> int:
        """Encoded."""
        return self._quick.tokens + self._clips.tokens

    async def start(self) -> None:
        """Returns when all of them are running; they get ready by themselves."""
        await asyncio.gather(*(self._start(decoder) for decoder in self._decoders))

    async def decode(self, media: Encoded, tenant: str) -> Decoded:
        """What ``media`` hold. A caller that is cancelled leaves the queue; what has begun ends by its own limits.

        Raises:
            MediaError: a medium cannot be read, asks for more than its budget, or broke its decoder.
            Overloaded: too much is waiting.
            WorkerLost: the decoder was ended by somebody else.
        """
        waiting, bound = self.waiting_bytes, self._settings.media_bytes
        if waiting and waiting + media.size > bound:
            raise Overloaded(waiting, bound, 2.0, unit="bytes of media")
        job = _Job(tenant=tenant, tokens=media.size, media=media, answer=asyncio.get_running_loop().create_future())
        shares = self._clips if media.videos else self._quick
        shares.add(job)
        self.go()
        try:
            return await job.answer
        except asyncio.CancelledError:
            shares.remove(job)
            raise

    def go(self) -> None:
        """Gives idle decoders something to do."""
        for number, decoder in enumerate(self._decoders):
            if not (self._quick or self._clips) or not self._room():
                return
            if decoder.ready and decoder.job is None:
                clips = self._clips if number or len(self._decoders) == 1 else Shares[_Job]()
                # Whoever can decode clips does so first: the others cannot help it.
                taken = clips.take(0, most=1) or self._quick.take(0, most=1)
                if taken:
                    self._give(decoder, taken[0])

    async def close(self) -> None:
        self._closed = True
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(decoder.child.close() for decoder in self._decoders if decoder.child))
        closed = WorkerLost("the engine was closed before the media were decoded")
        for decoder in self._decoders:
            decoder.child, decoder.ready = None, False
            self._finish(decoder, closed)
        for job in (*self._quick.clear(), *self._clips.clear()):
            if not job.answer.done():
                job.answer.set_exception(closed)

    async def _start(self, decoder: _Decoder, delay: float = 0.0) -> None:
        await asyncio.sleep(delay)
        environment = {name: os.environ[name] for name in KEPT if name in os.environ} | ARENAS
        child = await Child.start("decoder", partial(self._heard, decoder), partial(self._ended, decoder), environment)
        decoder.child = child
        child.link.send(pickle.dumps((self._settings.budgets, self._settings.decoder_memory, self._settings.ask_bytes)))

    def _give(self, decoder: _Decoder, job: _Job) -> None:
        assert decoder.child is not None
        decoder.job, decoder.field, decoder.late = job, "", False
        decoder.file = memory_file()
        seconds = len(job.media) * self._settings.budgets.decode_seconds + GRACE
        decoder.overdue = asyncio.get_running_loop().call_later(seconds, self._stop, decoder)
        decoder.child.link.send(pickle.dumps(job.media), [decoder.file])

    def _stop(self, decoder: _Decoder) -> None:
        if decoder.child:
            decoder.late = True
            decoder.child.kill()

    def _heard(self, decoder: _Decoder, message: bytes) -> None:
        said = json.loads(message)
        if said.get("ready"):
            decoder.ready = True
        elif "at" in said:
            decoder.field = str(said["at"])
        elif "error" in said:
            field, problem, remedy = map(str, said["error"])
            self._finish(decoder, MediaError(field, problem, remedy))
        else:
            self._finish(decoder, self._taken(decoder, said["layout"]))
        self.go()

    def _taken(self, decoder: _Decoder, said: Any) -> Decoded | Exception:
        """What a decoder says that it has written, where that is so."""
        layout = Layout.parse(said)
        seal(decoder.file)
        if os.fstat(decoder.file).st_size < layout.nbytes:
            return WorkerLost("decoding gave less than it claimed; try again", 0.1)
        file, decoder.file = decoder.file, -1
        return Decoded(layout, file)

    def _finish(self, decoder: _Decoder, result: Decoded | Exception) -> None:
        job, decoder.job = decoder.job, None
        if decoder.overdue:
            decoder.overdue.cancel()
        if decoder.file >= 0:
            os.close(decoder.file)
            decoder.file = -1
        if job is None or job.answer.done():
            if isinstance(result, Decoded):
                result.close()
        elif isinstance(result, Decoded):
            job.answer.set_result(result)
        else:
            job.answer.set_exception(result)

    def _ended(self, decoder: _Decoder, status: int) -> None:
        # A file that ends decoders must not make others wait longer each time; only one that never starts does that.
        delay = 0.0 if decoder.ready else decoder.backoff()
        decoder.child, decoder.ready = None, False
        if decoder.job:
            self._finish(decoder, _reason(decoder, status))
        if not self._closed:
            self.restarts += 1
            task = asyncio.get_running_loop().create_task(self._start(decoder, delay))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)


def _reason(decoder: _Decoder, status: int) -> Exception:
    """Why a decoder ended. Only what somebody else did to it is not the file's fault."""
    field = decoder.field or "media"
    if decoder.late or status == -signal.SIGXCPU:
        return MediaError(field, "takes too long to decode", "send a shorter or smaller file")
    if status == -signal.SIGKILL:
        return WorkerLost("the process that decoded the media was ended; try again", 0.5)
    return MediaError(field, "breaks its decoder", "encode the file again")


def main(number: int) -> None:
    """The child. Its first message are its limits, each further one a job with a file to write to."""
    sock = socket.socket(fileno=number)
    limits, _ = receive(sock)
    budgets, memory, most = pickle.loads(limits)
    # What is mapped, and not what is reserved: libraries reserve far more than they ever touch.
    used = _data_bytes()
    _limit(resource.RLIMIT_DATA, used + memory)
    _limit(resource.RLIMIT_FSIZE, most + (1 << 20))
    _limit(resource.RLIMIT_CORE, 0)
    send(sock, b'{"ready": true}')

    def at(field: str) -> None:
        send(sock, json.dumps({"at": field}).encode())

    try:
        while True:
            message, (file,) = receive(sock)
            media: Encoded = pickle.loads(message)
            del message
            try:
                answer = _decode(media, file, budgets, most, at)
            finally:
                os.close(file)
            send(sock, json.dumps(answer).encode())
    except (EOFError, OSError):
        return  # nobody is there any more


def _decode(media: Encoded, file: int, budgets: Budgets, most: int, at: Callable[[str], None]) -> dict[str, Any]:
    writer = _Writer(file, most)
    images, audio, videos = [], [], []

    def begin(field: str) -> None:
        at(field)
        times = resource.getrusage(resource.RUSAGE_SELF)
        seconds = round(times.ru_utime + times.ru_stime + CORES * budgets.decode_seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))

    try:
        for kind, field, example in media.examples:
            begin(field)
            (load_image if kind == "image" else load_audio)(example, field=field, budget=budgets)
        for index, source in enumerate(media.images):
            begin(field := f"images[{index}]")
            pixels = load_image(source, field=field, budget=budgets)
            images.append(pixels.shape[:2])
            writer.write(field, pixels)
        for index, source in enumerate(media.audio):
            begin(field := f"audio[{index}]")
            samples = load_audio(source, field=field, budget=budgets)
            audio.append(samples.size)
            writer.write(field, samples)
        for index, source in enumerate(media.videos):
            begin(field := f"videos[{index}]")
            clip = load_video(source, field=field, budget=budgets)
            videos.append(([frame.shape[:2] for frame in clip.frames], -1 if clip.audio is None else clip.audio.size))
            for frame in clip.frames:
                writer.write(field, frame)
            if clip.audio is not None:
                writer.write(field, clip.audio)
    except MediaError as error:
        return {"error": [error.field, error.problem, error.remedy]}
    except MemoryError:
        return {"error": [field, "needs more memory to decode than there is for it", "send a smaller file"]}
    return {"layout": {"images": images, "audio": audio, "videos": videos}}


class _Writer:
    """Arrays one after the other, as ``Layout`` says; ``most`` bytes of them."""

    def __init__(self, file: int, most: int) -> None:
        self._file, self._most, self._end = file, most, 0

    def write(self, field: str, array: Pixels | Samples) -> None:
        start = _aligned(self._end)
        stop = start + array.nbytes
        if stop > self._most:
            problem = f"the media of this request take {stop:,} bytes decoded, the limit is {self._most:,}"
            raise MediaError(field, problem, "send fewer or smaller ones in one request")
        os.lseek(self._file, start, os.SEEK_SET)
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        while view:
            view = view[os.write(self._file, view) :]
        self._end = stop


def _bytes_of(shape: tuple[int, ...]) -> int:
    return 4 * shape[0] if len(shape) == 1 else prod(shape)


def _aligned(position: int) -> int:
    return -(-position // ALIGNED) * ALIGNED


def _data_bytes() -> int:
    """Private memory of this process that counts against RLIMIT_DATA."""
    try:
        with Path("/proc/self/status").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("VmData:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 1 << 30


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (min(value, hard) if hard != resource.RLIM_INFINITY else value,) * 2)
