"""Clips: frames at the right times, sizes, turns and colours, sound in step with them, and every limit."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from encoded_media import clip, grey_clock, peak_hertz, shown_times, sound, steady, tone

from omniclef.errors import MediaError
from omniclef.media import Budgets, load_video
from omniclef.media.video import fitted

WHOLE = steady(3, 25)


def assert_times(frames, expected: list[float]) -> None:
    assert np.allclose(shown_times(frames), expected, atol=0.09), shown_times(frames)


@pytest.mark.parametrize(
    ("container", "codec", "sound_codec"),
    [
        ("mp4", "libx264", "aac"),
        ("mov", "mpeg4", "pcm_s16le"),
        ("webm", "libvpx", "libopus"),
        ("matroska", "libx264", "flac"),
    ],
)
def test_formats(container: str, codec: str, sound_codec: str) -> None:
    samples = tone(3, 48_000)
    data = clip(grey_clock(WHOLE), container=container, codec=codec, sound_codec=sound_codec, samples=samples)
    video = load_video(data)
    assert video.fps == 2.0
    assert all(frame.shape == (48, 64, 3) and frame.dtype == np.uint8 for frame in video.frames)
    assert_times(video.frames, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    assert video.audio is not None
    assert video.audio.dtype == np.float32
    assert abs(video.audio.size - 48_000) < 1_700
    assert abs(peak_hertz(video.audio) - 440) < 1


def test_colours() -> None:
    (first, *_), (last, *_) = (
        load_video(clip([(k / 10, c) for k in range(6)])).frames for c in ((220, 40, 40), (30, 60, 200))
    )
    assert np.abs(first.mean(axis=(0, 1)) - (220, 40, 40)).max() < 6
    assert np.abs(last.mean(axis=(0, 1)) - (30, 60, 200)).max() < 6


def test_an_odd_count_repeats_the_last_frame() -> None:
    frames = load_video(clip(grey_clock(steady(2.3, 30)))).frames
    assert_times(frames, [0.0, 0.5, 1.0, 1.5, 2.0, 2.0])
    assert_times(load_video(clip(grey_clock([0.0]))).frames, [0.0, 0.0])


def test_frames_are_the_first_at_or_after_each_half_second() -> None:
    video = load_video(clip(grey_clock([0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8], step=100)))
    assert np.allclose(shown_times(video.frames, step=100), [0.0, 0.6, 1.2, 1.5], atol=0.05)


def test_sound_or_silence_or_none() -> None:
    frames = grey_clock(steady(1, 10))
    assert load_video(clip(frames)).audio is None
    silent = load_video(clip(frames, samples=np.zeros(48_000, np.float32))).audio
    assert silent is not None
    assert np.abs(silent).max() < 1e-3
    empty = load_video(
        clip(frames, samples=np.zeros(0, np.float32), container="matroska", sound_codec="pcm_s16le")
    )
    assert empty.audio is None


def test_a_pause_in_a_variable_frame_rate_holds_the_frame_on_show() -> None:
    times = [0.0, 0.2, 0.4, 0.6, 3.0, 3.2, 3.4, 3.6, 3.8]
    video = load_video(clip(grey_clock(times), options={"movflags": "+faststart"}))
    assert_times(video.frames, [0.0, 0.6, 0.6, 0.6, 0.6, 0.6, 3.0, 3.6])


def test_one_frame_a_second_keeps_the_time() -> None:
    assert_times(load_video(clip(grey_clock([0.0, 1.0, 2.0, 3.0]))).frames, [0, 0, 1, 1, 2, 2, 3, 3])


@pytest.mark.parametrize("container", ["mp4", "matroska"])
def test_a_stream_that_starts_late(container: str) -> None:
    late = [(at + 4.0, colour) for at, colour in grey_clock(steady(2, 10))]
    alone = load_video(clip(late, container=container))
    assert_times(alone.frames, [0.0, 0.5, 1.0, 1.5])
    heard = load_video(clip(late, container=container, samples=tone(6, 48_000)))
    assert_times(heard.frames, [0.0] * 9 + [0.5, 1.0, 1.5])  # the first frame stands until it moves
    assert heard.audio is not None
    assert abs(heard.audio.size - 96_000) < 1_700


@pytest.mark.parametrize("container", ["mp4", "matroska"])
def test_sound_that_starts_late_gets_silence_before_it(container: str) -> None:
    data = clip(grey_clock(steady(3, 10)), container=container, samples=tone(1, 48_000), sound_start=2.0)
    video = load_video(data)
    assert_times(video.frames, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    assert video.audio is not None
    assert abs(video.audio.size - 48_000) < 1_700
    assert np.abs(video.audio[:31_000]).max() < 0.01
    assert np.abs(video.audio[33_000:46_000]).max() > 0.4


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((64, 48), (64, 48)),
        ((512, 512), (512, 512)),
        ((1920, 1080), (682, 384)),
        ((1080, 1920), (384, 682)),
        ((640, 480), (590, 444)),  # rounding alone would give 592 x 444, 704 pixels over
        ((4096, 16), (4096, 16)),
        ((101, 77), (100, 76)),
        ((1, 1), (2, 2)),
    ],
)
def test_frame_sizes(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert fitted(*size) == expected


def test_frame_sizes_stay_under_the_cap_and_in_shape() -> None:
    for width in range(2, 8_000, 97):
        for height in (2, 31, 240, 481, 1080, 2161, 4320):
            wide, high = fitted(width, height)
            assert wide * high <= 256 * 32 * 32
            assert wide % 2 == high % 2 == 0
            assert wide <= width + 1
            assert high <= max(2, height + 1)


def test_large_frames_are_scaled_down() -> None:
    frames = load_video(clip(grey_clock([0.0, 0.5]), size=(1280, 720))).frames
    assert frames[0].shape == (384, 682, 3)


@pytest.mark.parametrize(("degrees", "corner"), [(0, (0, 0)), (90, (0, 1)), (180, (1, 1)), (270, (1, 0))])
def test_rotation_metadata_turns_the_picture_upright(degrees: int, corner: tuple[int, int]) -> None:
    """A display matrix of 90 degrees has players turn the picture clockwise: top left becomes top right."""
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:24, :32] = (220, 40, 40)
    data = bytearray(clip([(0.0, picture), (0.5, picture)], codec="mpeg4", size=(64, 48)))
    cos, sin = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    at = data.index(b"tkhd") + 4 + 40
    data[at : at + 36] = struct.pack(">9i", cos << 16, sin << 16, 0, -sin << 16, cos << 16, 0, 0, 0, 1 << 30)
    frame = load_video(bytes(data)).frames[0]
    assert frame.shape == ((48, 64, 3) if degrees % 180 == 0 else (64, 48, 3))
    halves = [np.array_split(half, 2, axis=1) for half in np.array_split(frame[..., 0], 2, axis=0)]
    reds = {(y, x): halves[y][x].mean() for y in (0, 1) for x in (0, 1)}
    assert reds.pop(corner) > 180 > 40 > max(reds.values())


def test_no_pictures() -> None:
    with pytest.raises(MediaError, match=r"videos\[0\]: the M4A has no video stream; send it under audio"):
        load_video(sound(tone(0.5, 44_100), 44_100, "ipod", "aac"))
    with pytest.raises(MediaError, match="the Matroska or WebM has no video stream; send it under audio"):
        load_video(sound(tone(0.5, 48_000), 48_000, "webm", "libopus"))
    with pytest.raises(MediaError, match=r"the video stream is empty \(0 frames\)"):
        load_video(clip([], container="matroska", samples=tone(0.5, 48_000)))


def test_limits() -> None:
    data = clip(grey_clock(WHOLE), samples=tone(3, 48_000))
    assert len(load_video(data, budget=Budgets(video_seconds=3.0, video_frames=6)).frames) == 6
    with pytest.raises(
        MediaError, match=r"the header claims 3\.\d s, the limit is 2 s; send a shorter piece"
    ):
        load_video(data, budget=Budgets(video_seconds=2.0))
    with pytest.raises(MediaError, match=r"6 frames at 2 a second, the limit is 5; send a shorter video"):
        load_video(data, budget=Budgets(video_frames=5))
    with pytest.raises(MediaError, match=r"frames of 64 x 48 = 3,072 pixels, the limit is 3,071; scale"):
        load_video(data, budget=Budgets(video_frame_pixels=3_071))
    with pytest.raises(MediaError, match=r"1 channels, the limit is 0"):
        load_video(data, budget=Budgets(audio_channels=0))
    with pytest.raises(MediaError, match="decoding took longer than the limit of 0 s"):
        load_video(data, budget=Budgets(decode_seconds=0.0))
    with pytest.raises(MediaError, match=rf"{len(data):,} bytes, the limit is {len(data) - 1:,}"):
        load_video(data, budget=Budgets(video_bytes=len(data) - 1))


def test_a_live_recording_without_a_length_is_limited_as_it_is_decoded() -> None:
    data = clip(grey_clock(WHOLE), container="webm", codec="libvpx", options={"live": "1"})
    assert_times(load_video(data).frames, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    with pytest.raises(MediaError, match=r"shows a frame at 1\.1 s, the limit is 1 s"):
        load_video(data, budget=Budgets(video_seconds=1.0))


def test_an_mp4_that_claims_hours() -> None:
    """The length of each frame counts; the summary before them is not believed."""
    data = bytearray(clip(grey_clock(steady(1, 10)), options={"use_editlist": "0"}))
    at = data.index(b"mvhd") + 4 + 16
    data[at : at + 4] = struct.pack(">I", 0x7FFFFFFF)
    assert_times(load_video(bytes(data)).frames, [0.0, 0.5])
    at = data.index(b"stts") + 4 + 12
    data[at : at + 4] = struct.pack(">I", 0xFFFFFF)
    with pytest.raises(
        MediaError, match=r"shows a frame at [\d.]+ s, the limit is 300 s; send a shorter piece"
    ):
        load_video(bytes(data))


def test_a_matroska_that_claims_hours_or_more_than_it_has() -> None:
    data = bytearray(clip(grey_clock(steady(1, 10)), container="matroska"))
    at = data.index(b"\x44\x89\x88") + 3  # duration, a float of eight bytes, in milliseconds
    data[at : at + 8] = struct.pack(">d", 7_200_000)
    with pytest.raises(
        MediaError, match=r"the header claims 7200\.0 s, the limit is 300 s; send a shorter piece"
    ):
        load_video(bytes(data))
    data[at : at + 8] = struct.pack(">d", 20_000)
    with pytest.raises(MediaError, match=r"cut short: 0\.9 s of the 20\.0 s that its header claims"):
        load_video(bytes(data))


@pytest.mark.parametrize(
    ("container", "codec", "options"),
    [("mp4", "libx264", {"movflags": "+faststart"}), ("mp4", "libx264", {}), ("webm", "libvpx", {})],
)
def test_a_truncated_clip_is_never_answered_in_part(
    container: str, codec: str, options: dict[str, str]
) -> None:
    sounds = "aac" if container == "mp4" else "libopus"
    noisy = [(at, (round(at * 997) % 255, 90, 30)) for at in WHOLE]
    data = clip(
        noisy, container=container, codec=codec, samples=tone(3, 48_000), sound_codec=sounds, options=options
    )
    assert len(load_video(data).frames) == 6
    for cut in np.linspace(1, 0.95 * len(data), 30).astype(int):
        with pytest.raises(MediaError) as caught:
            load_video(data[:cut])
        assert "\n" not in str(caught.value)
