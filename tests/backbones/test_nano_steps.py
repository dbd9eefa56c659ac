"""What tools need and give, and how that moves probabilities."""

import numpy as np
import pytest

from omniclef import Choice
from omniclef.backbones.base import Prefill
from omniclef.backbones.nano.steps import Needs, known_names
from omniclef.backbones.padding import unpad

TOOLS = {
    "add_alarm": {"description": "sets an alarm", "inputs": ["token", "time"], "outputs": ["status"]},
    "sign_in": {"description": "signs a user in", "inputs": {"username": {}, "password": {}}, "outputs": {"token": {}}},
    "check_token": {"description": "checks a token", "inputs": ["token"], "outputs": ["token", "username"]},
    "chat": None,
}
ASKED = {"role": "user", "text": "Wake me at six."}
SIGNED_IN = {"role": "tool", "api_name": "sign_in", "result": {"output": {"token": "t1"}}}


def needs(tools=TOOLS):
    return Needs(Choice(tools, "Which tool?").options())


def waits(state, tools=TOOLS):
    wanted = needs(tools)
    first = wanted(known_names(state, wanted.names))
    names = list(tools)
    return [] if first is None else [(names[i], names[j]) for i, j in zip(*np.nonzero(first), strict=True)]


def test_what_needs_a_token_waits_for_what_gives_one():
    assert waits([ASKED]) == [("add_alarm", "sign_in"), ("check_token", "sign_in")]


def test_with_the_token_given_the_turn_is_with_those_that_use_it():
    assert waits([ASKED, SIGNED_IN]) == [("sign_in", "add_alarm"), ("sign_in", "check_token")]


def test_what_a_person_says_is_known_but_asks_no_giver_to_stop():
    assert waits("my token is 1234") == []
    assert waits([{"role": "user", "text": "my token is 1234"}]) == []
    assert waits([{"role": "assistant", "text": "First I need your token."}]) != []
    assert waits([{"role": "tool", "result": {"token": None}}]) != []
    assert waits([{"role": "tool", "result": {"text": "a token is missing"}}]) != []


def test_only_references_are_waited_for_and_only_by_name():
    tools = {"forecast": {"inputs": ["city"]}, "geocode": {"inputs": ["address"], "outputs": ["city"]}}
    assert not needs(tools)
    assert not needs({"a": "needs a token", "b": {"description": "x", "examples": ["token"]}})


@pytest.mark.parametrize("spelt", ["orderId", "order_id", "order id", "Order-ID"])
def test_names_are_read_however_they_are_spelt(spelt):
    tools = {"cancel": {"parameters": {"type": "object", "properties": {spelt: {"type": "string"}}}},
             "find": {"parameters": {"properties": {"query": {}}}, "returns": {"order_id": {}}}}  # fmt: skip
    assert waits("Cancel my order.", tools) == [("cancel", "find")]
    assert waits("Cancel my order, order id 77.", tools) == []


def prefill(first, owners):
    count = len(owners)
    rows = np.zeros((count, 2), np.float32)
    asked = np.zeros((max(owners) + 1, 2), np.float32)
    return Prefill(rows, rows[0], asked, rows, rows, np.array(owners), np.ones(len(asked), np.int64), first=first)


def p(logits):
    found = np.exp(logits)
    return found / found.sum()


def test_waiting_moves_probability_within_a_question_and_leaves_the_rest():
    first = np.zeros((5, 5), np.bool_)
    first[2, 3] = True
    logits = np.array([[1.0, 2.0, 3.0, 0.0, 1.0]], np.float32)
    (scores,) = unpad([prefill(first, [0, 0, 1, 1, 1])], logits)
    before, after = p(logits[0, 2:]), p(scores.logits[2:])
    assert scores.logits[:2].tolist() == [1.0, 2.0]
    assert after[0] == pytest.approx(0.1 * before[0], rel=1e-4)
    assert after[1] == pytest.approx(before[1] + before[0] * 0.9, rel=1e-4)
    assert after[2] == pytest.approx(before[2], rel=1e-4)


def test_givers_share_as_they_stand():
    first = np.zeros((3, 3), np.bool_)
    first[0, 1:] = True
    logits = np.log(np.array([[0.7, 0.2, 0.1]], np.float32))
    (scores,) = unpad([prefill(first, [0, 0, 0])], logits)
    after = p(scores.logits)
    assert after[1] / after[2] == pytest.approx(2.0, rel=1e-3)
