"""A small data folder in the real formats, written file by file for the tests that read it."""

from __future__ import annotations

import csv
import io
import json
import wave
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from omniclef.evaluation.suite import get_suite

COLOURS = {"airplane": (90, 160, 250), "automobile": (200, 30, 30), "frog": (40, 180, 60)}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_banking(root: Path) -> None:
    """Every intent has 25 training messages and one test message, which names it in words."""
    folder = root / "bench/banking77"
    folder.mkdir(parents=True, exist_ok=True)
    intents = list(banking_intents())
    for name, count in (("train", 25), ("test", 1)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["text", "category"])
            for intent in intents:
                words = intent.replace("_", " ")
                writer.writerows([f'{name} {i}, "{words}", please\nthanks', intent] for i in range(count))


def banking_intents() -> tuple[str, ...]:
    return tuple(get_suite("banking77").shared["intent"]["criteria"])


def write_clinc(root: Path) -> None:
    parts = {
        "train": [["train text", "translate"]],
        "test": [["please translate this word", "translate"], ["set an alarm", "alarm"]],
        "oos_test": [["why is the sea salt", "oos"]],
    }
    path = root / "bench/clinc150/data_full.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(parts), encoding="utf-8")


def write_api_bank(root: Path) -> None:
    catalogue = [
        {"name": "AddAlarm", "group": "apis", "description": "sets an alarm",
         "input_parameters": {"token": {}, "time": {}}, "output_parameters": {"status": {}}},
        {"name": "PlayMusic", "group": "apis", "description": "plays music",
         "input_parameters": None, "output_parameters": {"status": {}}},
        {"name": "AddAlarm", "group": "lv3_apis", "description": "another alarm",
         "input_parameters": {}, "output_parameters": {}},
    ]
    alarm = {
        "role": "API",
        "api_name": "AddAlarm",
        "param_dict": {"time": "07:00"},
        "result": {"output": "success"},
    }
    turns = [
        {"role": "User", "text": "wake me at seven with music"},
        alarm,
        {"role": "AI", "text": "done"},
        {"role": "API", "api_name": "PlayMusic", "param_dict": {}, "result": {"output": "success"}},
    ]
    write_lines(root / "bench/api_bank/api_catalogue.jsonl", catalogue)
    write_lines(root / "bench/api_bank/dialogues.jsonl", [{"id": "1", "setting": "level-1", "turns": turns}])


def write_texts(root: Path) -> None:
    write_lines(
        root / "bench/when2call/when2call_test_llm_judge.jsonl",
        [{"question": "rain?", "tools": ['{"name": "weather"}'], "correct_answer": "request_for_info"}],
    )
    write_lines(
        root / "text/sst5_sentences.test.jsonl",
        [{"text": "dull", "label": "very negative"}, {"text": "superb", "label": "very positive"}],
    )
    write_lines(
        root / "text/sms_spam.test.jsonl",
        [{"text": "win spam prize", "label": "spam"}, {"text": "see you at six", "label": "ham"}],
    )
    write_lines(
        root / "text/presidio_pii.test.jsonl",
        [{"text": "I am Ann", "spans": [[5, 8, "PERSON"]]}, {"text": "hello there", "spans": []}],
    )
    write_lines(
        root / "text/github_issues_nlbse24.test.jsonl",
        [{"repo": "a/b", "title": "bug: crash", "body": "it crashes", "label": "bug"}],
    )


def write_pictures(root: Path) -> None:
    """Three classes of plain colour, four training pictures and two test pictures each."""
    for part, count in (("train", 4), ("test", 2)):
        rows = []
        for label, colour in COLOURS.items():
            for i in range(count):
                name = f"image/cifar10/{part}__{label}__{i}.jpg"
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                Image.new("RGB", (32, 32), tuple(c - 3 * i for c in colour)).save(root / name)
                rows.append({"file": name, "label": label})
        write_lines(root / f"image/cifar10.{part}.jsonl", rows)


def write_sounds(root: Path) -> None:
    (root / "audio/coffee_orders").mkdir(parents=True, exist_ok=True)
    (root / "audio/coffee_orders/1.ogg").write_bytes(tone(440))
    slots = {"coffeeDrink": "mocha", "milkAmount": " milk"}
    write_lines(
        root / "audio/coffee_orders.test.jsonl",
        [{"file": "audio/coffee_orders/1.ogg", "intent": "orderDrink", "slots": slots}],
    )


def write_clips(root: Path) -> None:
    rows = []
    for kind, label, sound in (
        ("vas", "dog", True), ("vas", "drum", True), ("misc", "yoga", False), ("misc", "dancing", True),
        ("misc", "", True), ("asl gesture", "eat", False),
    ):  # fmt: skip
        name = f"video/{kind.split()[0]}/{label or 'unnamed'}.mp4"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(clip(sound=sound))
        rows.append({"file": name, "set": kind, "label": label, "sound": sound})
    write_lines(root / "video/video.jsonl", rows)


def tone(hertz: float, seconds: float = 0.3) -> bytes:
    """A sine as 16 kHz mono WAV."""
    samples = np.sin(2 * np.pi * hertz * np.arange(int(16_000 * seconds)) / 16_000) * 0.3
    out = io.BytesIO()
    with wave.open(out, "wb") as sheet:
        sheet.setnchannels(1)
        sheet.setsampwidth(2)
        sheet.setframerate(16_000)
        sheet.writeframes((samples * 32_767).astype("<i2").tobytes())
    return out.getvalue()


def clip(*, sound: bool) -> bytes:
    """Half a second of moving grey as H.264 at 10 frames a second, with an AAC tone where ``sound``."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as target:
        pictures = target.add_stream("libx264", rate=10)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        tones = target.add_stream("aac", rate=16_000, layout="mono") if sound else None
        for i in range(5):
            pixels = np.full((48, 64, 3), 40 * i, np.uint8)
            target.mux(pictures.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        target.mux(pictures.encode())
        if tones is not None:
            samples = np.sin(np.arange(8_000) / 6).astype(np.float32)[None] * 0.3
            frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
            frame.sample_rate = 16_000
            target.mux(tones.encode(frame))
            target.mux(tones.encode())
    return out.getvalue()
