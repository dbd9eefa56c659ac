"""Released backbones on text: the publisher's token ids, logits and answers, for any schema, up to the window."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import tiny_release
import torch

import omniclef
from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.records import Record

REQUESTS = {"omni": 190, "dense": 110}
"""Of each family; the recurrent layers of the dense one are slow without their kernel."""
WINDOW = 16_000

PHRASES = (
    "invoice refund Größe naïve 退款 оплата 🎉 👩‍👩‍👧 مرحبا \u200b <b> {x} \\n \t tab\tbed END FIELD OPTION 1: "
    'STATE: \n\n a b c 3.14 null true <think> </think> <|im_end|> quote" back\\slash e\u0301'
)
WORDS = PHRASES.split(" ")


class Pair(NamedTuple):
    """One release, opened by us and by the publisher's code."""

    family: str
    folder: Path
    model: omniclef.DecisionModel
    oracle: ModuleType
    theirs: Any
    processor: Any

    @property
    def backbone(self) -> QwenBackbone:
        assert isinstance(self.model.backbone, QwenBackbone)
        return self.model.backbone


@pytest.fixture(scope="module", params=REQUESTS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    torch.set_num_threads(1)
    folder = tiny_release.build(tmp_path_factory.mktemp(request.param), request.param, processor=False)
    module = tiny_release.oracle(request.param)
    return Pair(
        request.param, folder, omniclef.load(folder, window=WINDOW), module, *tiny_release.open_oracle(module, folder)
    )


def text(rng: random.Random, most: int) -> str:
    return rng.choice([" ", "", "\n"]).join(rng.choices(WORDS, k=rng.randint(1, most)))


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(7 if depth < 3 else 5)
    if kind < 2:
        return text(rng, 4)
    if kind == 2:
        return rng.choice([None, True, False])
    if kind == 3:
        return rng.choice([0, -7, 10**12, 0.1, -1.5e-7, 1e22])
    if kind == 4:
        return ""
    if kind == 5:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {text(rng, 2): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def structured(rng: random.Random) -> Any:
    return rng.choice([text(rng, 6), {"ask": value(rng), "a": [1, None]}, [text(rng, 2), value(rng)]])


def question(rng: random.Random, options: int) -> dict[str, Any]:
    kind = rng.choice(["noul", "choice", "score"])
    made: dict[str, Any] = {"type": kind}
    asked = rng.choice([None, "", "text", "text", "structured"])
    if asked is not None:
        made["instructions"] = {"": "", "text": text(rng, 8), "structured": structured(rng)}[asked]
    if kind == "noul":
        sides = {side: rng.choice([None, structured(rng)]) for side in ("true", "false") if rng.random() < 0.5}
        if sides or rng.random() < 0.3:
            made["criteria"] = sides
        if not made.get("instructions") and not any(sides.values()):
            made["instructions"] = "Is it so?"
    elif kind == "choice":
        names = {f"{text(rng, 2)}{number}" for number in range(rng.randint(1, options))}
        names |= {"", "Z", "a", "é"} if rng.random() < 0.1 else set()
        shuffled = rng.sample(sorted(names), len(names))
        made["criteria"] = {name: rng.choice([None, text(rng, 3), structured(rng)]) for name in shuffled}
    else:
        made["criteria"] = [structured(rng) for _ in range(rng.randint(1, 10))]
    return made


def requests(count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    made = []
    for number in range(count):
        questions, options = rng.randint(1, 4), 6
        state = "" if number % 20 == 3 else structured(rng) if number % 3 else text(rng, 40)
        named = {f"{text(rng, 2)} q{k}": question(rng, options) for k in range(questions)}
        made.append({"model": "clef", "state": state, "questions": named})
    # Bytes are tokens here, so the largest schemas have to be terse.
    made[1]["questions"] = {f"q{k}": {"type": "noul", "instructions": f"{k}?"} for k in range(64)}
    made[2]["questions"] = {"full": {"type": "choice", "criteria": {f"{k}": None for k in range(255)}}}
    return made


def records(asked: list[dict[str, Any]]) -> list[Record]:
    return [Record(request["state"], omniclef.parse_request(request).questions) for request in asked]


def their_logits(pair: Pair, request: dict[str, Any], limit: int = WINDOW) -> tuple[tuple[int, ...], np.ndarray]:
    """Prompt, and logits in request order."""
    encoded = pair.oracle.encode_record(pair.processor.tokenizer, request, max_length=limit)
    with torch.inference_mode():
        batch = pair.oracle.collate_records([encoded], 0, torch.device("cpu"))
        found = pair.theirs(batch)[0]
    flat = []
    for asked, logits in zip(encoded.questions, found, strict=True):
        by_option = dict(zip(asked.option_ids, logits.tolist(), strict=True))
        sent = request["questions"][asked.question_id]
        flat += [by_option[key] for key in (sent["criteria"] if sent["type"] == "choice" else by_option)]
    return encoded.input_ids, np.array(flat, np.float32)


def our_logits(pair: Pair, record: Record, truncate: bool = False) -> tuple[tuple[int, ...], np.ndarray]:
    prompt = pair.backbone.writer.write(record, truncate=truncate)
    scores = pair.model.head(pair.backbone.prefill([record], truncate=truncate))
    return prompt.tokens, scores[0].logits


def test_token_ids_and_logits_are_the_publishers(pair: Pair) -> None:
    asked = requests(REQUESTS[pair.family], 11)
    worst, spreads = 0.0, []
    for request, record in zip(asked, records(asked), strict=True):
        (theirs, expected), (ours, found) = their_logits(pair, request), our_logits(pair, record)
        assert ours == theirs
        spreads.append(np.ptp(expected))
        worst = max(worst, float(np.abs(found - expected).max()))
    print(f"worst logit difference over {len(asked)} requests: {worst:.1e}")
    assert worst <= 1e-5
    assert np.median(spreads) > 0.1  # weights that answer everything alike would hide any difference


def test_answers_are_the_publishers(pair: Pair) -> None:
    for request in requests(12, 5):
        expected = pair.oracle.systemone(pair.theirs, pair.processor, request)
        decision = pair.model.decide_request(request, confidence="top")
        assert decision.usage.to_dict() == expected["usage"]
        assert list(decision.answers) == list(expected["answers"])
        for key, theirs in expected["answers"].items():
            ours = decision.answers[key].to_dict(None)
            assert ours.keys() == theirs.keys()
            assert ours["type"] == theirs["type"]
            assert ours.get("legend") == theirs.get("legend")
            assert list(ours.get("probabilities", {})) == list(theirs.get("probabilities", {}))
            # Theirs are rounded to four decimals.
            for name in ("noul", "score", "confidence"):
                assert ours.get(name, 0) == pytest.approx(theirs.get(name, 0), abs=5.1e-5)
            assert ours.get("probabilities", {}) == pytest.approx(theirs.get("probabilities", {}), abs=5.1e-5)
            if "choice" in theirs:
                likely = theirs["probabilities"]
                assert ours["choice"] == theirs["choice"] or likely[ours["choice"]] == likely[theirs["choice"]]


SMALL = {"q": {"type": "noul", "instructions": "Is it?"}}


def test_a_state_up_to_the_window_is_read_and_one_beyond_it_refused_or_cut(pair: Pair) -> None:
    window = 1500
    narrow = pair._replace(model=omniclef.load(pair.folder, window=window))
    room = window - narrow.backbone.count(Record("", SMALL)).total
    for extra in (-1, 0, 1, 5000):
        state = "x" * (room + extra)
        if extra > 0:
            with pytest.raises(omniclef.InvalidInput) as caught:
                narrow.model.decide(state, SMALL)
            assert f"{window + extra:,} tokens, the window is {window:,} (state {room + extra:,}, " in str(caught.value)
            assert f"shorten the state by {extra:,} tokens" in str(caught.value)
        usage = narrow.model.decide(state, SMALL, truncate="state").usage
        assert (usage.input_tokens, usage.state_tokens_dropped) == (min(window, window + extra), max(0, extra))
        assert usage.to_dict().get("x_state_tokens_dropped", 0) == max(0, extra)
        theirs, expected = their_logits(pair, {"state": state, "questions": SMALL, "model": "clef"}, window)
        ours, found = our_logits(narrow, Record(state, SMALL), truncate=True)
        assert ours == theirs
        assert np.abs(found - expected).max() <= 1e-5
    with pytest.raises(omniclef.InvalidInput, match="besides the whole state"):
        narrow.model.decide("state", {"q": {"type": "noul", "instructions": "x" * window}}, truncate="state")


def test_an_unknown_part_cannot_be_cut(pair: Pair) -> None:
    with pytest.raises(omniclef.InvalidInput, match="'questions' cannot be cut"):
        pair.model.decide("state", SMALL, truncate="questions")  # type: ignore[arg-type]


def test_a_batch_equals_its_records_alone(pair: Pair) -> None:
    some = records(requests(12, 8))
    together = pair.model.head(pair.backbone.prefill(some))
    worst = 0.0
    for record, scores in zip(some, together, strict=True):
        alone = pair.model.head(pair.backbone.prefill([record]))[0]
        worst = max(worst, float(np.abs(scores.logits - alone.logits).max()))
    print(f"worst difference between a batch and its records alone: {worst:.1e}")
    assert worst <= 1e-4


def test_tokens_counted_before_are_those_used(pair: Pair) -> None:
    for request in requests(6, 3):
        assert pair.model.count(request).total == pair.model.decide_request(request).usage.input_tokens


def test_evidence_quotes_the_state(pair: Pair) -> None:
    state = "Größe 🎉 of an invoice, and a refund"
    found = pair.model.decide(state, SMALL, evidence=True).evidence
    assert found is not None
    for pieces in found["q"].values():
        weights = [piece.weight for piece in pieces]
        assert weights == sorted(weights, reverse=True)
        assert 0 < sum(weights) < 1  # the questions and the fixed text have their share
        for piece in pieces:
            start, stop = (int(edge) for edge in piece.span)
            assert piece.text == state[start:stop] != ""
    assert pair.model.decide("", SMALL, evidence=True).evidence == {"q": {"true": [], "false": []}}


def test_a_text_that_holds_a_medium_mark_is_refused(pair: Pair) -> None:
    with pytest.raises(omniclef.InvalidInput, match=r"state: holds <\|image_pad\|>"):
        pair.model.decide("see <|image_pad|>", SMALL)
    with pytest.raises(omniclef.InvalidInput, match=r"questions: holds <\|vision_start\|>"):
        pair.model.decide("see", {"q": {"type": "noul", "instructions": "<|vision_start|>?"}})


def test_media_are_refused_by_a_folder_without_processor_files(pair: Pair) -> None:
    record = Record("", SMALL, images=(np.zeros((40, 40, 3), np.uint8),))
    with pytest.raises(omniclef.InvalidInput, match=r"images: 1 given, clef.* reads text"):
        pair.model.decide_records([record])


def test_anonymous_ids_do_not_count(pair: Pair) -> None:
    model = omniclef.load(pair.folder, ids="anonymous")
    one, other = ({name: SMALL["q"]} for name in ("refund", "something else entirely"))
    answers = [model.decide("state", asked).answers for asked in (one, other)]
    assert answers[0]["refund"] == answers[1]["something else entirely"]
    named = [pair.model.decide("state", asked).answers for asked in (one, other)]
    assert named[0]["refund"] != named[1]["something else entirely"]


def test_a_window_beyond_the_positions_or_another_precision_is_refused(pair: Pair) -> None:
    with pytest.raises(omniclef.InvalidInput, match="window: 1,000,000 tokens, the backbone has"):
        omniclef.load(pair.folder, window=1_000_000)
    with pytest.raises(omniclef.InvalidInput, match="precision: 'int4' "):
        omniclef.load(pair.folder, precision="int4")


def test_bfloat16_moves_probabilities_a_little(pair: Pair) -> None:
    model = omniclef.load(pair.folder, precision="bfloat16")
    apart = []
    for record in records(requests(4, 9)):
        rough, exact = (m.head(m.backbone.prefill([record]))[0].logits for m in (model, pair.model))
        apart.append(float(np.abs(rough - exact).max()))
    assert 1e-4 < max(apart) < 0.5
