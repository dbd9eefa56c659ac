"""Released backbones on pictures, sounds and clips: the publisher's tokens, tensors and logits.

Where torchvision is installed beside a transformers of the time of the release, the publisher's code runs with
transformers' own processor. Elsewhere it is handed what our processor makes, and goes on from there by itself.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import tiny_release
import torch
import transformers
from encoded_media import clip, steady, tone, wav
from PIL import Image

import omniclef
from omniclef.backbones.qwen.backbone import QwenBackbone, passes
from omniclef.backbones.qwen.media import MediaReader
from omniclef.model import read_record
from omniclef.records import Record, Video
from omniclef.release import Release

VERSION = tuple(map(int, transformers.__version__.split(".")[:2]))
REAL = find_spec("torchvision") is not None and VERSION < (5, 22)
"""Whether the publisher's code can have the processor it was written with."""

QUESTIONS = omniclef.parse_request(
    {
        "state": "",
        "questions": {
            "is": {"type": "noul", "instructions": "Is it?"},
            "which": {"type": "choice", "criteria": {"one": None, "other": "the other"}, "instructions": "Which?"},
        },
    }
).questions
ASKED = {
    "is": {"type": "noul", "instructions": "Is it?"},
    "which": {"type": "choice", "criteria": {"one": None, "other": "the other"}, "instructions": "Which?"},
}


def picture(width: int, height: int, seed: int = 0) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def speech(seconds: float, seed: int = 0) -> bytes:
    noise = np.random.default_rng(seed).standard_normal(round(16_000 * seconds)).astype(np.float32)
    return wav(0.3 * tone(seconds, 16_000, 300 + 200 * seed) + 0.05 * noise, 16_000)


def film(seconds: float, sounding: bool, seed: int = 0, size: tuple[int, int] = (80, 64)) -> bytes:
    rng = np.random.default_rng(seed)
    frames = [(at, rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)) for at in steady(seconds, 4)]
    samples = tone(seconds, 16_000, 500.0 + 90 * seed) if sounding else None
    return clip(frames, size=size, samples=samples)


OMNI: dict[str, dict[str, list[bytes]]] = {
    "one picture": {"images": [picture(301, 203)]},
    "a tiny and a long picture": {"images": [picture(9, 7), picture(700, 20, 1)]},
    "four odd pictures": {"images": [picture(33 + 97 * k, 250 - 31 * k, k) for k in range(4)]},
    "a large picture": {"images": [picture(1500, 1100)]},
    "one sound": {"audio": [speech(0.7)]},
    "two sounds": {"audio": [speech(0.7), speech(31.3, 1)]},
    "a silent clip": {"videos": [film(2.0, False)]},
    "a clip with sound": {"videos": [film(2.6, True)]},
    "two clips with sound": {"videos": [film(1.0, True), film(3.1, True, 1, (96, 80))]},
    "two clips, one silent": {"videos": [film(1.5, True), film(1.0, False, 1)]},
    "sounds beside a clip with sound": {"audio": [speech(1.2), speech(0.4, 1)], "videos": [film(1.8, True)]},
    "everything": {
        "images": [picture(64, 300), picture(123, 77, 1)],
        "audio": [speech(2.3)],
        "videos": [film(1.0, True), film(2.2, True, 1)],
    },
    "everything, silently": {"images": [picture(90, 90)], "audio": [speech(0.9)], "videos": [film(1.0, False)]},
}
DENSE: dict[str, dict[str, list[bytes]]] = {
    name: {kind: found for kind, found in media.items() if kind != "audio"}
    for name, media in OMNI.items()
    if "sound" not in name
} | {"sounding clips are not heard": {"videos": [film(2.6, True)]}}
CASES = [("omni", name) for name in OMNI] + [("dense", name) for name in DENSE]


class Pair(NamedTuple):
    model: omniclef.DecisionModel
    oracle: ModuleType
    theirs: Any
    processor: Any

    @property
    def backbone(self) -> QwenBackbone:
        assert isinstance(self.model.backbone, QwenBackbone)
        return self.model.backbone


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    torch.set_num_threads(1)
    found = {}
    for family in ("omni", "dense"):
        folder = tiny_release.build(tmp_path_factory.mktemp(family), family)
        model, module = omniclef.load(folder, window=16_000), tiny_release.oracle(family)
        theirs, processor = tiny_release.open_oracle(module, folder)
        reader = model.backbone.media
        if REAL:
            processor = transformers.AutoProcessor.from_pretrained(folder)
        else:
            processor = Stand(processor.tokenizer, our_processor(reader))
        found[family] = Pair(model, module, theirs, processor)
    return found


class Stand:
    """A processor with another one's tokenizer and our tensors."""

    def __init__(self, tokenizer: Any, call: Callable[..., dict[str, Any]]) -> None:
        self.tokenizer = tokenizer
        self._call = call

    def __call__(self, **given: Any) -> dict[str, Any]:
        return self._call(**given)


def our_processor(reader: MediaReader) -> Callable[..., dict[str, Any]]:
    """What the publisher's code asks of a processor, answered by ours."""

    def call(*, images: Any = None, audio: Any = None, videos: Any = None, **options: Any) -> dict[str, Any]:
        clips, sounds = list(videos or ()), list(audio or ())
        heard = options.get("videos_kwargs", {}).get("use_audio_in_video", False)
        own, tracks = (sounds[: -len(clips)], sounds[-len(clips) :]) if heard else (sounds, [None] * len(clips))
        record = Record(
            "",
            QUESTIONS,
            images=tuple(np.asarray(image) for image in images or ()),
            audio=tuple(own),
            videos=tuple(Video(tuple(frames), 2.0, track) for frames, track in zip(clips, tracks, strict=True)),
        )
        media = reader.read(record)
        tokens = {"input_ids": torch.tensor([media.tokens])}
        return (
            tokens | dict(media.tensors) | ({"mm_token_type_ids": torch.tensor([media.types])} if media.types else {})
        )

    return call


def their_record(family: str, media: dict[str, list[bytes]], record: Record) -> dict[str, Any]:
    made: dict[str, Any] = {"state": record.state, "questions": ASKED}
    if family == "omni":
        return made | media
    # Clef's code hands media to the processor as they are, and cannot tell how fast frames follow each other.
    made["images"] = [Image.fromarray(image) for image in record.images]
    if record.videos:
        made["videos"] = [np.stack(video.frames) for video in record.videos]
        counts = [len(video.frames) for video in record.videos]
        told = [{"fps": 2.0, "total_num_frames": n, "frames_indices": list(range(n))} for n in counts]
        made["media_kwargs"] = {"videos_kwargs": {"do_sample_frames": False, "video_metadata": told}}
    return made


def logits(pair: Pair, family: str, media: dict[str, list[bytes]]) -> tuple[Any, Any, Record]:
    record = read_record("It is {here}.", QUESTIONS, *(media.get(k, ()) for k in ("images", "audio", "videos")), None)
    encoded = pair.oracle.encode_record(
        pair.processor.tokenizer, their_record(family, media, record), max_length=16_000, processor=pair.processor
    )
    with torch.inference_mode():
        batch = pair.oracle.collate_records([encoded], 0, torch.device("cpu"))
        expected = torch.cat(pair.theirs(batch)[0]).numpy()
    return encoded, expected, record


@pytest.mark.parametrize(("family", "name"), CASES)
def test_tokens_tensors_and_logits_are_the_publishers(pairs: dict[str, Pair], family: str, name: str) -> None:
    pair, media = pairs[family], (OMNI if family == "omni" else DENSE)[name]
    encoded, expected, record = logits(pair, family, media)
    ours = pair.backbone.media.read(record)
    prompt = pair.backbone.writer.write(record, ours.tokens)
    assert prompt.tokens == encoded.input_ids
    for key, tensor in ours.tensors.items():
        theirs = torch.as_tensor(encoded.media[key])
        assert theirs.shape == tensor.shape, key
        assert torch.allclose(theirs.float(), tensor.float(), atol=1e-6, rtol=0), key
    found = pair.model.head(pair.backbone.prefill([record]))[0].logits
    worst = float(np.abs(found - expected).max())
    print(f"{family}, {name}: {len(prompt.tokens)} tokens, worst logit difference {worst:.1e}")
    assert worst <= 1e-5
    counted = pair.backbone.count(record)
    assert counted.total == len(prompt.tokens)
    assert counted.image + counted.audio + counted.video + (family == "dense") == len(ours.tokens)


@pytest.mark.parametrize(
    ("family", "name", "kind"),
    [
        ("omni", "one picture", "images"),
        ("omni", "one sound", "audio"),
        ("omni", "a silent clip", "videos"),
        ("dense", "one picture", "images"),
        ("dense", "a silent clip", "videos"),
    ],
)
def test_other_media_give_other_logits(pairs: dict[str, Pair], family: str, name: str, kind: str) -> None:
    """Else nothing of what is compared above would show."""
    other = {"images": picture(301, 203, 5), "audio": speech(0.7, 5), "videos": film(2.0, False, 5)}[kind]
    one, two = (logits(pairs[family], family, media)[1] for media in (OMNI[name], {kind: [other]}))
    assert np.abs(one - two).max() > 1e-3


def test_a_track_that_is_heard_gives_other_logits(pairs: dict[str, Pair]) -> None:
    loud = {"videos": [film(2.6, True)]}
    _, expected, record = logits(pairs["omni"], "omni", loud)
    track = record.videos[0].audio
    assert track is not None
    noise = np.random.default_rng(0).standard_normal(len(track)).astype(np.float32)
    changed = Video(record.videos[0].frames, 2.0, 0.3 * noise)
    other = Record(record.state, record.questions, videos=(changed,))
    pair = pairs["omni"]
    assert np.abs(pair.model.head(pair.backbone.prefill([other]))[0].logits - expected).max() > 1e-3


@pytest.mark.parametrize("family", ["omni", "dense"])
def test_a_queue_of_all_kinds_equals_its_records_alone(pairs: dict[str, Pair], family: str) -> None:
    pair, worst = pairs[family], 0.0
    kinds = ("images", "audio", "videos")
    cases = [*(OMNI if family == "omni" else DENSE).values(), {}, {}]
    if family == "omni":  # sounds of less than a second, which the tower pads to the longest
        cases += [{"audio": [speech(seconds, 2)]} for seconds in (0.02, 0.3, 0.5, 0.5, 0.9, 1.3, 1.4)]
    queue = [
        read_record("It is {here}." * (1 + place % 3), QUESTIONS, *(media.get(kind, ()) for kind in kinds), None)
        for place, media in enumerate(cases)
    ]
    read = [pair.backbone.read(record) for record in queue]
    prompts = [pair.backbone.writer.write(record, media.tokens) for record, media in zip(queue, read, strict=True)]
    assert sum(len(group) > 1 for group in passes(prompts, read)) >= 3
    together = pair.model.head(pair.backbone.prefill(queue))
    for record, scores in zip(queue, together, strict=True):
        alone = pair.model.head(pair.backbone.prefill([record]))[0].logits
        worst = max(worst, float(np.abs(scores.logits - alone).max()))
    print(f"{family}: worst difference between a queue and its records alone: {worst:.1e}")
    assert worst <= 1e-4


def test_evidence_names_places_in_media(pairs: dict[str, Pair]) -> None:
    pair, kinds = pairs["omni"], ("images", "audio", "videos")
    record = read_record("", QUESTIONS, *(OMNI["everything"][kind] for kind in kinds), None)
    prefill = pair.backbone.prefill([record])[0]
    lengths = [len(sound) / 16_000 for sound in record.audio], [len(video.frames) / 2 for video in record.videos]
    assert [(s.modality, s.index) for s in prefill.sources] == [
        ("image", 0), ("image", 1), ("audio", 0), ("video", 0), ("video", 1)
    ]  # fmt: skip
    taken = pair.backbone.writer.write(record, pair.backbone.read(record).tokens).tokens
    for source in prefill.sources:
        assert len(source.spans) == source.stop - source.start
        marks = {pair.processor.tokenizer.convert_ids_to_tokens(taken[row]) for row in range(source.start, source.stop)}
        assert marks <= {f"<|{source.modality}_pad|>", "<|audio_pad|>"}
        if source.modality == "image":
            areas = [(right - left) * (bottom - top) for left, top, right, bottom in source.spans]
            assert sum(areas) == pytest.approx(1)
        else:
            last = lengths[0 if source.modality == "audio" else 1][source.index]
            assert max(stop for _, stop in source.spans) == pytest.approx(last, abs=0.2)
            assert [start for start, _ in source.spans] == sorted(start for start, _ in source.spans)
    found = pair.model.decide_records([record], evidence=True)[0].evidence
    assert found is not None
    assert {piece.modality for some in found.values() for pieces in some.values() for piece in pieces} - {"text"}


def test_settings_come_from_either_layout_of_processor_files(pairs: dict[str, Pair], tmp_path: Path) -> None:
    flat = tiny_release.build(tmp_path / "flat", "omni")
    one = Release.open(tiny_release.build(tmp_path / "one", "omni", processor=False))
    assert one.reads == ("text",)
    picture, video = (json.loads((flat / f"{name}.json").read_text()) for name in (
        "preprocessor_config", "video_preprocessor_config"
    ))  # fmt: skip
    whole = {"image_processor": picture, "video_processor": video, "feature_extractor": picture}
    (one.folder / "processor_config.json").write_text(json.dumps(whole))
    again = Release.open(one.folder)
    assert again.processor == Release.open(flat).processor
    assert again.reads == ("text", "image", "audio", "video")


def test_a_picture_too_long_for_the_tower_is_refused(pairs: dict[str, Pair]) -> None:
    with pytest.raises(omniclef.InvalidInput, match=r"images\[1\]: 1 x 500 pixels, one side may be at most 200 times"):
        pairs["omni"].model.decide("", ASKED, images=[picture(9, 9), picture(1, 500)])


def test_clef_does_not_hear(pairs: dict[str, Pair]) -> None:
    with pytest.raises(omniclef.InvalidInput, match="audio: 1 given, clef reads text, image, video; leave them out"):
        pairs["dense"].model.decide("", ASKED, audio=[speech(0.5)])
