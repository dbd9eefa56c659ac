"""Released backbones that read a state once: in pieces or whole, remembered or not, the logits are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_release
import torch
from encoded_media import tone

import omniclef
from omniclef.backbones.qwen import backbone as reading
from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.records import Question, Record, Video

FAMILIES = ("omni", "dense")
STATE = "It is {here}, and {there} too. " * 25
QUESTIONS: dict[str, Question] = {
    "is": omniclef.Noul("Is it?"),
    "which": omniclef.Choice({"one": None, "other": "the other"}, "Which?"),
}
OTHERS: dict[str, Question] = {"how": omniclef.Score(["low", "middle", "high"], "How high?")}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch.set_num_threads(1)
    return {family: tiny_release.build(tmp_path_factory.mktemp(family), family) for family in FAMILIES}


def pixels(seed: int, count: int = 1) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(seed).integers(0, 256, (count, 120, 200, 3), dtype=np.uint8))


def asked(family: str, seed: int, questions: dict[str, Question]) -> dict[str, Record]:
    """Records of each kind; another seed gives other media."""
    sound = tone(1.3, 16_000, 300.0 + 100 * seed)
    silent, sounding = Video(pixels(seed, 4)), Video(pixels(seed, 4), audio=sound)
    made = {
        "text": Record(STATE + str(seed), questions),
        "pictures": Record("", questions, images=pixels(seed, 3)),
        "clip": Record(STATE, questions, videos=(silent,)),
    }
    if family == "omni":
        made["sound"] = Record(STATE, questions, audio=(sound,))
        made["clip with sound"] = Record(STATE, questions, images=pixels(seed), audio=(sound,), videos=(sounding,))
    return made


def logits(model: omniclef.DecisionModel, record: Record) -> np.ndarray:
    return model.head(model.backbone.prefill([record]))[0].logits


def used(model: omniclef.DecisionModel, record: Record) -> omniclef.Usage:
    return model.decide_records([record])[0].usage


@pytest.mark.parametrize("family", FAMILIES)
def test_in_pieces_as_a_whole(folders: dict[str, Path], family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = omniclef.load(folders[family], remember=0)
    for name, record in asked(family, 1, QUESTIONS).items():
        whole = logits(model, record)
        with monkeypatch.context() as patch:
            patch.setattr(reading, "TOKENS", 10)
            for piece in (97, 200):
                patch.setattr(reading, "PIECE", piece)
                worst = float(np.abs(logits(model, record) - whole).max())
                print(f"{family}, {name}, pieces of {piece}: {worst:.1e}")
                assert worst <= 1e-5
        assert used(model, record).cached_tokens == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_another_schema_pays_for_itself_alone(folders: dict[str, Path], family: str) -> None:
    plain, model = (omniclef.load(folders[family], remember=size) for size in (0, 64 << 20))
    for name, record in asked(family, 1, QUESTIONS).items():
        first, other = used(model, record), asked(family, 1, OTHERS)[name]
        expected = logits(plain, other)
        second = used(model, other)
        assert isinstance(model.backbone, QwenBackbone)
        prompt = model.backbone.writer.write(other, model.backbone.read(other).tokens)
        assert (first.cached_tokens, second.cached_tokens) == (0, prompt.state[1])
        assert second.to_dict()["x_cached_tokens"] == prompt.state[1]
        for again in range(2):  # what is remembered is not used up
            worst = float(np.abs(logits(model, other) - expected).max())
            print(f"{family}, {name}, time {again}: {worst:.1e}")
            assert worst <= 1e-5
        assert np.abs(logits(model, record) - logits(plain, record)).max() <= 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_other_states_and_media_are_not_taken_for_each_other(folders: dict[str, Path], family: str) -> None:
    plain, model = (omniclef.load(folders[family], remember=size) for size in (0, 64 << 20))
    for seed in (1, 2):
        for name, record in asked(family, seed, QUESTIONS).items():
            usage = used(model, record)
            assert usage.cached_tokens == 0, name
            assert np.abs(logits(model, record) - logits(plain, record)).max() <= 1e-5


def test_a_queue_reads_a_shared_state_once(folders: dict[str, Path]) -> None:
    plain, model = (omniclef.load(folders["omni"], remember=size) for size in (0, 64 << 20))
    queue = [Record(STATE, QUESTIONS), Record("short", QUESTIONS), Record(STATE, OTHERS), Record(STATE + "!", OTHERS)]
    found = model.decide_records(queue)
    assert [decision.usage.cached_tokens > 0 for decision in found] == [False, False, True, False]
    for record, scores in zip(queue, model.head(model.backbone.prefill(queue)), strict=True):
        assert np.abs(scores.logits - logits(plain, record)).max() <= 1e-5


def test_no_more_is_remembered_than_was_allowed(folders: dict[str, Path]) -> None:
    model = omniclef.load(folders["omni"], remember=1 << 20)
    records = [Record(STATE + str(number), QUESTIONS) for number in range(6)]
    for record in records:
        assert used(model, record).cached_tokens == 0
    assert used(model, records[-1]).cached_tokens > 0
    assert used(model, records[0]).cached_tokens == 0
    nothing = omniclef.load(folders["omni"], remember=0)
    assert [used(nothing, records[0]).cached_tokens for _ in range(2)] == [0, 0]
