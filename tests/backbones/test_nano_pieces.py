"""States and schemas in pieces: nothing lost, nothing of ids, structure kept."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef.backbones.nano.pieces import domain, humanise, instruction, option_pieces, segments, words
from omniclef.records import Choice, Noul, Score

scalars = st.text(min_size=1, max_size=30) | st.integers(-99, 99)
values = st.recursive(
    scalars,
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=8), v, max_size=4),
)


def leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [str(value)]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(values, min_size=1, max_size=6)
    | st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=6)
)
def test_every_leaf_of_a_state_is_read(state):
    read = "\n".join(segment.text for segment in segments(state))
    for leaf in leaves(state):
        if leaf.strip():
            assert leaf.strip() in read or leaf in read


def test_a_text_is_one_segment_and_an_empty_one_none():
    assert [s.text for s in segments("two words")] == ["two words"]
    assert segments("") == segments("  \n") == segments([]) == segments({}) == []


def test_the_end_of_a_list_weighs_most():
    state = [{"role": "user", "content": f"turn {n}"} for n in range(5)]
    found = segments(state)
    assert [s.text for s in found] == [f"user: turn {n}" for n in range(5)]
    assert [s.place for s in found] == [4, 3, 2, 1, 0]
    assert [s.weight for s in found] == sorted(s.weight for s in found)
    assert found[-1].weight == 1.0


def test_keys_stay_beside_their_values():
    found = segments({"order_id": 44, "shipTo": {"city": "Paris"}, "note": "x" * 400})
    assert found[0].text.startswith("note: xxx")
    assert found[1].text == "order id: 44; ship to: city: Paris"


def test_the_order_of_keys_means_nothing():
    state = {"b": 1, "a": {"d": "x" * 200, "c": 2}, "talk": [{"content": "hi", "role": "user", "at": 3}]}
    turned = {"talk": [{"at": 3, "role": "user", "content": "hi"}], "a": {"c": 2, "d": "x" * 200}, "b": 1}
    assert segments(state) == segments(turned)
    assert segments([state]) == segments([turned])


def test_long_nested_objects_are_cut_by_field():
    state = {"log": {f"part_{n}": "word " * 20 for n in range(6)}}
    assert len(segments(state)) == 6
    assert all(s.text.startswith("log part ") for s in segments(state))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("card_arrival", "card arrival"),
        ("AddAgenda", "add agenda"),
        ("reverted_card_payment?", "reverted card payment?"),
        ("Already a name", "Already a name"),
        ("_", "_"),
    ],
)
def test_identifiers_read_as_words(name, read):
    assert humanise(name) == read


def test_values_read_as_words():
    assert words({"a_b": True, "c": None, "d": [1, "x"]}) == "a b: true; d: 1, x"
    assert words({"role": "User", "content": "hi"}) == "user: hi"


def test_domain_words_are_those_that_few_instructions_have():
    assert domain("Which banking intent does the customer message express?") == "banking"
    assert domain("Which intent does the user utterance express?") == ""


def test_option_pieces_of_a_choice():
    question = Choice({"card_arrival": None, "lost": "the card is lost"}, "Which banking intent is it?")
    bare, described = option_pieces(question)
    assert bare.views[0] == ("banking: card arrival", 1.0)
    assert described.context == "lost: the card is lost"
    assert ("the card is lost", 1.0) in described.views


def test_examples_are_no_part_of_an_options_words():
    question = Choice({"a": {"description": "first", "examples": ["SECRET"]}, "b": {"examples": ["SECRET"]}})
    assert "SECRET" not in json.dumps([(p.views, p.context) for p in option_pieces(question)])


def test_a_noul_says_its_question_once_and_drops_the_default_descriptions():
    true, false = option_pieces(Noul("Is it spam?"))
    assert true.views == (("Is it spam?", 1.0),)
    assert false.views == ()
    assert true.context != false.context


def test_levels_are_read_by_their_text():
    pieces = option_pieces(
        Score(["can wait", {"description": "today", "examples": ["now!"]}], "How urgent is it?")
    )
    assert pieces[0].context == "can wait"
    assert pieces[1].context == "today"


def test_a_question_without_instructions_has_no_words():
    assert instruction(Choice({"a": None})) == ""
    assert option_pieces(Choice({"a": None}))[0].views == (("a", 1.0),)


def test_only_a_tool_has_outputs_that_are_no_words():
    tool = {"description": "finds a flight", "inputs": ["city"], "outputs": ["flight_id"]}
    desk = {"description": "returns desk", "returns": "goods sent back"}
    found = [piece.context for piece in option_pieces(Choice({"find": tool, "desk": desk}))]
    assert found == ["find: finds a flight; inputs: city", "desk: returns desk; returns: goods sent back"]
