"""The demo's files are small, readable and what its README says they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from encoded_media import peak_hertz

import omniclef
from omniclef.media import load_audio, load_image, load_video
from omniclef.records import parse_questions

DEMO = Path(omniclef.__file__).parent / "demo"
ENTRIES = json.loads((DEMO / "questions.json").read_text("utf-8"))


def test_files_are_small() -> None:
    for file in DEMO.iterdir():
        assert file.stat().st_size < 150_000, file.name


@pytest.mark.parametrize("name", ENTRIES)
def test_questions_are_valid_and_media_are_there(name: str) -> None:
    entry = ENTRIES[name]
    assert parse_questions(entry["questions"])
    for kind in ("images", "audio", "videos"):
        for file in entry.get(kind, ()):
            assert (DEMO / file).is_file()


def test_the_picture_is_orange_on_both_sides_and_green_between() -> None:
    pixels = load_image(DEMO / "photo.jpg")
    assert pixels.shape == (480, 640, 3)
    red, green, blue = pixels[250, 180].astype(int)
    assert red > green > 2 * blue
    red, green, blue = pixels[380, 340].astype(int)
    assert green > red > blue


def test_the_order_is_heard() -> None:
    samples = load_audio(DEMO / "order.wav")
    assert 2 < samples.size / 16_000 < 5
    assert 0.75 < np.abs(samples).max() < 0.85


def test_the_clip_turns_green_and_starts_with_a_chime() -> None:
    video = load_video(DEMO / "clip.mp4")
    assert len(video.frames) == 16
    lamps = [
        (frame[47, 285].astype(int), frame[71, 285].astype(int))
        for frame in (video.frames[0], video.frames[-1])
    ]
    assert lamps[0][0][0] > 180 > lamps[1][0][0]
    assert lamps[0][1][1] < 120 < lamps[1][1][1]
    assert video.audio is not None
    assert abs(peak_hertz(video.audio[4_000:10_000]) - 659) < 5
