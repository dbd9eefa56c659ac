"""nano as a backbone: what one record's rows are, and that company changes none of them."""

from dataclasses import fields

import numpy as np
import pytest
from encoded_media import tone

from omniclef.backbones.base import Prefill
from omniclef.backbones.nano import Assets, NanoBackbone
from omniclef.errors import InvalidInput
from omniclef.model import embedded
from omniclef.records import Choice, Noul, Record, Score, Video

TEAM = Choice({"billing": "payments, refunds", "technical": "bugs", "sales": None}, "Which team should handle this?")
REFUND = Noul("Does the customer ask for money back?")
URGENCY = Score(["can wait", "this week", "today"], "How urgent is it?")
ASKED = {"team": TEAM, "refund": REFUND, "urgency": URGENCY}
LONG = " ".join(f"On day {n} the lift between floors {n % 7} and {n % 11} stopped again." for n in range(290))
TALK = {
    "customer": {"name": "Ada", "plan": "pro"},
    "talk": [{"role": "user", "content": f"Question {n} about my invoice"} for n in range(40)],
}


@pytest.fixture(scope="module")
def backbone() -> NanoBackbone:
    return NanoBackbone(Assets(embedded()["nano"], threads=1))


def plain(*colour: int) -> np.ndarray:
    return np.full((48, 64, 3), colour, np.uint8)


def one(backbone: NanoBackbone, *arguments, **media) -> Prefill:
    return backbone.prefill([Record(*arguments, **media)])[0]


def assert_same(left: Prefill, right: Prefill) -> None:
    for field in fields(Prefill):
        a, b = getattr(left, field.name), getattr(right, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(a, b, atol=1e-4, err_msg=field.name)
        else:
            assert a == b, field.name


def assert_placed(found: Prefill) -> None:
    """Sources name every memory row once, in order."""
    at = 0
    for source in found.sources:
        assert source.start == at
        assert len(source.spans) == source.stop - source.start
        at = source.stop
    assert at == len(found.memory)


def test_shapes(backbone):
    found = one(backbone, "I want my money back.", ASKED)
    assert found.memory.shape == (6, 384)
    assert found.anchor.shape == (384,)
    assert found.questions.shape == (3, 384)
    assert found.options.shape == found.lexical.shape == (8, 384)
    assert found.owners.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert found.types.tolist() == [1, 0, 2]
    assert_placed(found)


@pytest.mark.parametrize("state", ["", " \n", {}, [], {"a": None}])
def test_an_empty_state_has_no_rows_and_still_an_anchor(backbone, state):
    found = one(backbone, state, ASKED)
    assert found.memory.shape == (0, 384)
    assert np.isfinite(found.anchor).all()


def test_tokens_grow_with_the_state_alone(backbone):
    empty = one(backbone, "", ASKED).tokens.total
    for count in (1, 253, 254, 255, 700):
        assert one(backbone, " ".join(["word"] * count), ASKED).tokens.total == empty + count
    assert one(backbone, LONG, ASKED).tokens.total == empty + backbone.assets.text.count(LONG)


def test_a_long_state_keeps_every_token_and_says_where_it_was(backbone):
    found = one(backbone, LONG, {"refund": REFUND})
    assert len(found.memory) == backbone.assets.text.count(LONG) > 3_000
    assert_placed(found)
    covered = np.zeros(len(LONG), bool)
    for start, stop in found.sources[0].spans:
        covered[int(start) : int(stop)] = True
    assert all(covered[i] for i, letter in enumerate(LONG) if letter != " ")


def test_the_same_record_alone_and_in_company(backbone):
    records = [
        Record("I want my money back.", ASKED),
        Record(LONG, {"u": URGENCY}),
        Record("", {"t": TEAM}),
        Record(TALK, ASKED),
        Record([{"role": "user", "content": "hi"}, "and more"], {"r": REFUND}),
        Record("我要求退款", {"r": REFUND}),
    ]
    for record, together in zip(records, backbone.prefill(records), strict=True):
        fresh = NanoBackbone(backbone.assets)
        assert_same(fresh.prefill([record])[0], together)


def test_the_same_media_alone_and_in_company(backbone):
    rng = np.random.default_rng(0)
    noise = (0.2 * rng.standard_normal(30_000)).astype(np.float32)
    clip = Video((plain(200, 0, 0), plain(0, 0, 200)), 2.0, tone(1, 16_000))
    records = [
        Record("a red thing", ASKED, images=(plain(200, 0, 0), plain(0, 200, 0))),
        Record("", ASKED, audio=(tone(2, 16_000), noise)),
        Record(LONG, ASKED),
        Record({"note": "see clip"}, ASKED, videos=(clip, Video((plain(9, 9, 9),)))),
        Record("all", ASKED, images=(plain(0, 0, 200),), audio=(noise,), videos=(clip,)),
    ]
    for record, together in zip(records, backbone.prefill(records), strict=True):
        assert_placed(together)
        assert_same(backbone.prefill([record])[0], together)


def test_media_rows_say_where_they_are(backbone):
    sound = tone(3, 16_000)
    clip = Video(tuple(plain(n, n, n) for n in (0, 80, 160, 240)), 2.0, tone(2, 16_000))
    found = one(backbone, "words", ASKED, images=(plain(1, 2, 3),), audio=(sound,), videos=(clip,))
    by = {source.modality: source for source in found.sources}
    assert list(by) == ["text", "image", "audio", "video"]
    assert len(by["image"].spans) == found.tokens.image == 49
    assert all(0 <= a < c <= 1 + 1e-9 and 0 <= b < d <= 1 + 1e-9 for a, b, c, d in by["image"].spans)
    assert all(0 <= start < stop <= 3.1 for start, stop in by["audio"].spans)
    times = [start for start, _ in by["video"].spans]
    assert times == sorted(times)
    assert all(0 <= start < stop <= 2.1 for start, stop in by["video"].spans)
    assert found.tokens.video == len(by["video"].spans) > 4 * 9


def test_a_soundtrack_adds_rows_and_changes_the_anchor(backbone):
    frames = (plain(200, 0, 0), plain(0, 0, 200))
    silent = one(backbone, "", ASKED, videos=(Video(frames),))
    heard = one(backbone, "", ASKED, videos=(Video(frames, 2.0, tone(1, 16_000)),))
    assert len(heard.memory) > len(silent.memory)
    assert np.abs(heard.anchor - silent.anchor).max() > 1e-3


def test_equal_questions_are_read_once_whoever_made_them(backbone):
    def ask() -> dict:
        examples = ["first thing", "second thing"]
        return {"x": Choice({"a": {"examples": examples}, "b": "the other"}, "Which of the two?")}

    first = one(backbone, "one", ask())
    used = backbone._asked.used
    assert_same(one(backbone, "one", ask()), first)
    assert backbone._asked.used == used


def test_questions_that_differ_only_in_order_are_not_confused(backbone):
    straight = one(backbone, "bug", {"x": Choice({"billing": None, "technical": None})})
    turned = one(backbone, "bug", {"x": Choice({"technical": None, "billing": None})})
    np.testing.assert_allclose(straight.lexical[::-1], turned.lexical, atol=1e-5)
    assert np.abs(straight.lexical - turned.lexical).max() > 0.01


def test_an_example_that_only_looks_like_a_data_url_is_text(backbone):
    question = Choice({"a": {"examples": ["data: my plan shows no data", "data:text/plain,hello"]}, "b": None})
    assert one(backbone, "no data left", {"x": question}).bias is not None


def test_a_clip_cannot_be_an_example(backbone):
    question = Choice({"a": {"examples": ["data:video/mp4;base64,AAAA"]}, "b": None})
    with pytest.raises(InvalidInput, match="clip"):
        one(backbone, "x", {"x": question})


def test_what_cannot_be_read_scales_logits_down_for_its_own_record_only(backbone):
    english, foreign = backbone.prefill([Record("money back", ASKED), Record("Верните мне мои деньги", ASKED)])
    assert english.scale is not None  # the choice is unlike any in training: its prior has a sharpness of its own
    assert english.scale[3:].min() > 0.9
    trust = english.trust[:3]
    sharp = trust + (1 - trust) * backbone.assets.sharp["choice"]
    assert english.scale[:3] == pytest.approx(sharp, rel=0.1)
    assert foreign.scale is not None
    assert (foreign.scale / english.scale).max() < 0.1


def test_a_question_that_cannot_be_read_leaves_its_neighbours_alone(backbone):
    asked = {"refund": REFUND, "other": Noul("Просит ли клиент вернуть деньги за заказ?")}
    scale = one(backbone, "I want my money back.", asked).scale
    assert scale is not None
    assert scale[:2].min() > 0.9
    assert scale[2:].max() < 0.1
