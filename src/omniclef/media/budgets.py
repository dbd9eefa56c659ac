"""Every limit on encoded media, in one frozen object.

The defaults suit a person's own machine and are wider than the hosted services (which take 4 images of 4 MiB,
4 sounds of 8 MiB and 2 videos of 60 s): they let through a phone photo, a five-minute recording or a short
clip, and refuse what would fill the memory. A server builds its own, narrower one.
"""

from __future__ import annotations

from dataclasses import dataclass

from omniclef.errors import MediaError

__all__ = ["DEFAULT_BUDGETS", "Budgets"]

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits for one request (the counts) and for one medium (all the others). Reaching a limit is allowed.

    Attributes:
        images, audio, videos: media of each kind in a request.
        image_bytes, audio_bytes, video_bytes: encoded size, checked before the bytes are read or base64 is
            decoded.
        image_pixels: width times height, checked from the header before anything is decoded (40 MP: about 120
            MB as RGB).
        audio_seconds, video_seconds: length, checked against the header's claim and against what is decoded.
            For a video it bounds the soundtrack too.
        audio_channels: channels of a sound or a soundtrack.
        min_sample_rate, max_sample_rate: of the encoded sound, in Hz.
        video_frames: frames kept at 2 a second, the repeated last one not counted (up to 0.75 MiB each).
        video_frame_pixels: width times height of an encoded frame (36 MP lets 8K through).
        decode_seconds: time one sound or video may take to decode, checked between frames.
    """

    images: int = 16
    audio: int = 8
    videos: int = 4
    image_bytes: int = 16 * MIB
    image_pixels: int = 40_000_000
    audio_bytes: int = 64 * MIB
    audio_seconds: float = 300.0
    audio_channels: int = 8
    min_sample_rate: int = 1_000
    max_sample_rate: int = 384_000
    video_bytes: int = 64 * MIB
    video_seconds: float = 300.0
    video_frames: int = 768
    video_frame_pixels: int = 36_000_000
    decode_seconds: float = 120.0

    def check_counts(self, *, images: int = 0, audio: int = 0, videos: int = 0) -> None:
        """Raises ``MediaError`` when a request carries more media of a kind than it may."""
        counts = (
            ("images", images, self.images),
            ("audio", audio, self.audio),
            ("videos", videos, self.videos),
        )
        for field, count, limit in counts:
            if count > limit:
                raise MediaError(field, f"{count} items, the limit is {limit}", "send fewer in one request")


DEFAULT_BUDGETS = Budgets()
