"""An encoded clip to two frames a second and its sound."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from omniclef.errors import MediaError
from omniclef.media.budgets import DEFAULT_BUDGETS, Budgets
from omniclef.media.signatures import Signature
from omniclef.media.sources import Fetch, Source, identify, read_source
from omniclef.media.streams import SAMPLE_RATE, SLACK, Deadline, Samples, check_seconds, decode_sound, opened
from omniclef.records import Video

__all__ = ["FRAMES_PER_SECOND", "FRAME_PIXELS", "load_video"]

FRAMES_PER_SECOND = 2.0
FRAME_PIXELS = 256 * 32 * 32

Frame: TypeAlias = npt.NDArray[np.uint8]


def load_video(
    source: Source,
    *,
    field: str = "videos[0]",
    budget: Budgets = DEFAULT_BUDGETS,
    fetch: Fetch | None = None,
) -> Video:
    """Decode an MP4, MOV, WebM or MKV.

    Frame k is the first one at or after k/2 s, as the released models were given them. Where more than one is
    due at once (a pause in a variable frame rate, a picture that starts after its sound) the frame on show
    before the pause fills the gap, so that frame k always is what was seen at k/2 s. An odd count repeats the
    last frame. Frames are scaled, never up, to at most 256 * 32 * 32 pixels with even sides, and turned
    upright by the rotation metadata.

    The clock starts at 0 if the streams do so within half a second, else with the first of them. Sound that
    starts later gets silence before it; a difference of under 0.1 s is an encoder's delay and is left alone.

    Args:
        source: see ``read_source``.
        field: path of the clip in the request, for errors.
        budget: ``video_*``, the audio channels and sample rates for the sound, and ``decode_seconds`` for
            both.
        fetch: called with an http(s) URL; without it a URL is refused.

    Returns:
        ``Video`` with frames uint8 [h, w, 3] RGB, an even number of them; ``fps`` 2.0; ``audio`` float32 [T]
        mono at 16 kHz, or None where there is no audio stream or nothing in it. A silent track is not None.

    Raises:
        MediaError: another kind of file, no video stream or no picture in it, damaged or cut short, over
            budget.
    """
    data = read_source(source, field=field, limit=budget.video_bytes, fetch=fetch)
    signature = identify(data, "video", field)
    deadline = Deadline(budget.decode_seconds, field)
    with opened(data, signature, field, budget) as container:
        picture = picture_stream(container, signature, field)
        check_picture(picture.codec_context.width, picture.codec_context.height, field, budget)
        claimed = claimed_length(container)
        check_seconds(claimed, budget.video_seconds, field, "the header claims")
    sound, heard = soundtrack(data, signature, field, budget, deadline)
    with opened(data, signature, field, budget) as container:
        picture = picture_stream(container, signature, field)
        # The decoder refuses them too: a stream may change its size midway.
        picture.codec_context.options = {"max_pixels": str(budget.video_frame_pixels)}
        picture.thread_type = "AUTO"
        sampler = Sampler(heard if sound is not None else None, field, budget)
        for frame in container.decode(picture):
            deadline.check()
            sampler.see(frame)
    frames = sampler.frames()
    end = max(sampler.end, heard + sound.size / SAMPLE_RATE if sound is not None else 0.0) - sampler.origin
    if claimed - end > max(0.6, 0.05 * claimed):
        problem = f"is cut short: {end:.1f} s of the {claimed:.1f} s that its header claims can be decoded"
        raise MediaError(field, problem, "send the whole file")
    return Video(frames, FRAMES_PER_SECOND, aligned(sound, heard - sampler.origin))


def picture_stream(container: InputContainer, signature: Signature, field: str) -> VideoStream:
    """The first video stream that moves; the cover of a music file is none."""
    for stream in container.streams.video:
        if not stream.disposition & Disposition.attached_pic:
            return stream
    has_sound = bool(container.streams.audio)
    remedy = "send it under audio" if has_sound else "send a file with a video stream"
    raise MediaError(field, f"the {signature.name} has no video stream", remedy)


def claimed_length(container: InputContainer) -> float:
    """Seconds from the first thing shown or heard to the last, by the header; 0 where it does not tell."""
    length = container.duration or 0
    if "matroska" in container.format.name:  # counts from 0, however late the first block is
        length -= max(0, container.start_time or 0)
    return max(0.0, length / 1e6)


def check_picture(width: int, height: int, field: str, budget: Budgets) -> None:
    if width * height > budget.video_frame_pixels:
        problem = f"frames of {width} x {height} = {width * height:,} pixels"
        raise MediaError(
            field, f"{problem}, the limit is {budget.video_frame_pixels:,}", "scale the video down"
        )


def soundtrack(
    data: bytes, signature: Signature, field: str, budget: Budgets, deadline: Deadline
) -> tuple[Samples | None, float]:
    """(samples or None, time of the first one), decoded in a pass of its own: its start sets the clock of
    frames.
    """
    with opened(data, signature, field, budget) as container:
        stream = next(iter(container.streams.audio), None)
        if stream is None:
            return None, 0.0
        samples, start = decode_sound(
            container, stream, field=field, limit=budget.video_seconds, budget=budget, deadline=deadline
        )
    return (samples, start) if samples.size else (None, 0.0)


def aligned(sound: Samples | None, lead: float) -> Samples | None:
    if sound is None or lead < SLACK:
        return sound
    return np.concatenate([np.zeros(round(lead * SAMPLE_RATE), np.float32), sound])


class Sampler:
    """Picks frames by the clock. ``heard`` is the time of the first sample of sound, None without sound."""

    def __init__(self, heard: float | None, field: str, budget: Budgets) -> None:
        self.heard, self.field, self.budget = heard, field, budget
        self.origin = 0.0
        self.end = 0.0
        self.kept: list[Frame] = []
        self.before: VideoFrame | None = None  # the frame on show until the next one
        self.converted: tuple[VideoFrame, Frame] | None = None

    def see(self, frame: VideoFrame) -> None:
        if frame.time is None:
            return
        check_picture(frame.width, frame.height, self.field, self.budget)
        if self.before is None:
            self.origin = self.clock_start(frame.time)
        at = frame.time - self.origin
        check_seconds(at, self.budget.video_seconds, self.field, "shows a frame at")
        self.end = max(self.end, frame.time + float((frame.duration or 0) * (frame.time_base or 0)))
        due = math.floor((at + 1e-6) * FRAMES_PER_SECOND) + 1 - len(self.kept)
        if due > 0:
            self.keep(frame, due)
        self.before = frame

    def clock_start(self, seen: float) -> float:
        first = seen if self.heard is None else min(seen, self.heard)
        return 0.0 if -SLACK < first < 1 / FRAMES_PER_SECOND else first

    def keep(self, frame: VideoFrame, due: int) -> None:
        count, limit = len(self.kept) + due, self.budget.video_frames
        if count > limit:
            problem = f"{count} frames at {FRAMES_PER_SECOND:g} a second, the limit is {limit}"
            raise MediaError(self.field, problem, "send a shorter video")
        if due > 1:
            self.kept += [self.pixels(self.before or frame)] * (due - 1)
        self.kept.append(self.pixels(frame))

    def pixels(self, frame: VideoFrame) -> Frame:
        if self.converted is None or self.converted[0] is not frame:
            self.converted = (frame, rgb(frame))
        return self.converted[1]

    def frames(self) -> tuple[Frame, ...]:
        if not self.kept and self.before is not None:  # every frame lies just before 0
            self.kept.append(self.pixels(self.before))
        if not self.kept:
            raise MediaError(self.field, "the video stream is empty (0 frames)", "send a video with pictures")
        return tuple(self.kept + self.kept[-1:] if len(self.kept) % 2 else self.kept)


def rgb(frame: VideoFrame) -> Frame:
    width, height = fitted(frame.width, frame.height)
    pixels = np.asarray(frame.to_ndarray(format="rgb24", width=width, height=height), np.uint8)
    turns = round(frame.rotation / 90)
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns % 4 else pixels


def fitted(width: int, height: int) -> tuple[int, int]:
    """Even sides nearest to the scaled ones, as in the release; one step smaller where rounding passed the
    cap.
    """
    scale = min(1.0, math.sqrt(FRAME_PIXELS / (width * height)))
    wide, high = (max(2, round(side * scale / 2) * 2) for side in (width, height))
    while wide * high > FRAME_PIXELS:
        wide, high = (wide - 2, high) if wide >= high else (wide, high - 2)
    return wide, high
