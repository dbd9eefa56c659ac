"""Random damage: a valid result or one ``MediaError``, and nothing else, whatever bytes are changed."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from encoded_media import clip, grey_clock, sound, steady, tone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from omniclef.errors import MediaError
from omniclef.media import load_audio, load_image, load_video

CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)
CUT = st.one_of(st.just(1.0), st.floats(0, 1))


@cache
def picture(form: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (24, 20, 3), np.uint8)).save(file, form)
    return file.getvalue()


@cache
def track(container: str) -> bytes:
    codec, rate = {"wav": ("pcm_s16le", 16_000), "mp3": ("libmp3lame", 16_000), "flac": ("flac", 16_000)}.get(
        container, ("libopus", 48_000) if container == "ogg" else ("aac", 16_000)
    )
    return sound(tone(0.3, rate), rate, container, codec)


@cache
def film(container: str) -> bytes:
    codec, heard = ("libvpx", "libopus") if container == "webm" else ("libx264", "aac")
    frames = grey_clock(steady(1, 8))
    return clip(
        frames, container=container, codec=codec, samples=tone(1, 48_000), sound_codec=heard, size=(32, 32)
    )


def damaged(data: bytes, changes, cut: float, head: bool) -> bytes:
    """Overwrites a few bytes anywhere, or in the first 200, where headers are; then cuts the end off."""
    broken = bytearray(data)
    span = min(len(data), 200) if head else len(data)
    for place, value in changes:
        broken[int(place * span)] = value
    return bytes(broken[: int(cut * len(data))])


def check_message(error: MediaError, field: str) -> None:
    assert error.field == field
    assert error.remedy
    assert "\n" not in str(error)


quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
@quick
@given(changes=CHANGES, cut=CUT, head=st.booleans())
def test_pictures(form: str, changes, cut: float, head: bool) -> None:
    try:
        pixels = load_image(damaged(picture(form), changes, cut, head))
    except MediaError as error:
        check_message(error, "images[0]")
    else:
        assert pixels.dtype == np.uint8
        assert pixels.ndim == 3
        assert pixels.shape[2] == 3
        assert pixels.size


@pytest.mark.parametrize("container", ["wav", "mp3", "flac", "ogg", "ipod"])
@quick
@given(changes=CHANGES, cut=CUT, head=st.booleans())
def test_sounds(container: str, changes, cut: float, head: bool) -> None:
    try:
        samples = load_audio(damaged(track(container), changes, cut, head))
    except MediaError as error:
        check_message(error, "audio[0]")
    else:
        assert samples.dtype == np.float32
        assert samples.ndim == 1
        assert 0 < samples.size <= 301 * 16_000
        assert np.isfinite(samples).all()


@pytest.mark.parametrize("container", ["mp4", "webm", "matroska"])
@quick
@given(changes=CHANGES, cut=CUT, head=st.booleans())
def test_clips(container: str, changes, cut: float, head: bool) -> None:
    try:
        video = load_video(damaged(film(container), changes, cut, head))
    except MediaError as error:
        check_message(error, "videos[0]")
    else:
        assert len(video.frames) in range(2, 770, 2)
        assert all(frame.ndim == 3 and frame.shape[2] == 3 and frame.size for frame in video.frames)
        assert video.audio is None or (video.audio.size and np.isfinite(video.audio).all())
