"""Shared rare words, and options that stand for none of the others."""

import numpy as np
import pytest

from omniclef.backbones.nano.wording import COMMON, Overlap, Rarity, says_none, stems

RARITY = Rarity({"my": 1.0, "card": 6.0, "declin": 9.0, "get": 3.5}, 10.0)


def test_stems_join_forms_of_a_word():
    assert stems("My cards were DECLINED, declining!") == {"my", "card", "were", "declin"}


def test_common_words_say_nothing_and_unseen_ones_most():
    assert RARITY("my") == 0.0
    assert RARITY("get") == pytest.approx(3.5 - COMMON)
    assert RARITY("zyzzyva") == pytest.approx(10.0 - COMMON)


def test_rarity_counts_texts_and_not_words():
    known, values, unseen = Rarity.of(["a a a b", "a b", "a c", "a d"])
    rarity = dict(zip(known, values.tolist(), strict=True))
    assert set(known) == {"a", "b"}
    assert rarity["a"] < rarity["b"] < unseen


def test_an_option_gets_its_own_words_and_shared_words_count_less():
    overlap = Overlap(["card declined", "card arrival", "card lost"], RARITY)
    found = overlap([("why was my card declined", 1.0)])
    assert found.argmax() == 0
    assert found[1] == pytest.approx(found[2])
    assert found[1] < 0.2 * found[0]


def test_a_word_counts_once_with_its_heaviest_text():
    overlap = Overlap(["refund", "invoice"], RARITY)
    once, twice = overlap([("refund", 1.0)]), overlap([("refund refund", 1.0)])
    assert once.tolist() == twice.tolist()
    faint, strong = overlap([("refund", 0.1), ("x", 0.9)]), overlap([("refund", 0.9), ("x", 0.1)])
    assert strong[0] == pytest.approx(9 * faint[0])


def test_texts_without_a_shared_word_change_nothing():
    overlap = Overlap(["refund", "invoice"], RARITY)
    one = overlap([("refund", 1.0)])
    np.testing.assert_array_equal(overlap([("refund", 1.0), *[("x", 1.0)] * 50]), one)


def test_the_order_of_options_only_permutes():
    names = ["card declined", "lost card", "weather"]
    there = Overlap(names, RARITY)([("lost my card", 1.0)])
    back = Overlap(names[::-1], RARITY)([("lost my card", 1.0)])
    np.testing.assert_allclose(there, back[::-1])


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("oos", ""),
        ("Other", ""),
        ("out_of_scope", "the request is about something that is not listed"),
        ("x", "None of these: the utterance is about something else"),
        ("no_tool", "no tool in the list can do what is asked"),
        ("fallback", ""),
        ("misc", "use this when no other option applies"),
    ],
)
def test_options_that_mean_none_of_the_others(name, described):
    assert says_none(name, described)


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("billing", "payments, refunds"),
        ("other_payment", "a payment by another card"),
        ("no", "the customer says no"),
        ("not_spam", "an ordinary message"),
        ("nothing_works", "the app does not start"),
        ("neither_nor", ""),
    ],
)
def test_options_that_mean_something(name, described):
    assert not says_none(name, described)
