"""A batch as a worker answers it, in this process: what fails, fails alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from omniclef import Choice, Decision, DecisionModel, InvalidInput, Noul, Record
from omniclef.backbones.base import Backbone, Prefill
from omniclef.engine.asks import Failed
from omniclef.engine.worker import Done, Item, Options, answer_all
from omniclef.errors import InvalidRequest, OmniclefError
from omniclef.records import Question

QUESTIONS: dict[str, Question] = {
    "team": Choice({"billing": "money and invoices", "support": "things that do not work"}),
    "urgent": Noul("Is it urgent?"),
}


PLAIN = Options()


def item(*states: str, options: Options = PLAIN, questions: dict[str, Question] = QUESTIONS) -> Item:
    return Item(states, questions, options)


def same(one: Decision, other: Decision) -> bool:
    flat = [decision.to_dict(None)["answers"] for decision in (one, other)]
    return bool(flat[0].keys() == flat[1].keys()) and all(
        flat[0][key] == pytest.approx(flat[1][key], abs=1e-4)
        if "probabilities" not in flat[0][key]
        else flat[0][key]["probabilities"] == pytest.approx(flat[1][key]["probabilities"], abs=1e-4)
        for key in flat[0]
    )


class Fragile:
    """nano, which breaks where a state says so."""

    name = "fragile"

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.calls: list[int] = []

    def prefill(self, records: Sequence[Record]) -> list[Prefill]:
        self.calls.append(len(records))
        if any(record.state == "break" for record in records):
            raise RuntimeError("a secret that was in the state")
        if any(record.state == "refuse" for record in records):
            raise InvalidInput("state", "is refused")
        return self.backbone.prefill(records)


@pytest.fixture
def fragile(nano: DecisionModel) -> DecisionModel:
    return DecisionModel(Fragile(nano.backbone), lambda: nano.head, lambda: nano.info, texts=nano._texts)


def test_a_batch_answers_as_each_alone_whatever_the_options(nano: DecisionModel) -> None:
    other: dict[str, Question] = {"q": Noul("Is it about money?")}
    items = [
        item("The invoice is wrong."),
        item("It crashes.", "It is slow.", "Refund me."),
        item("The invoice is wrong.", options=Options(evidence=True)),
        item("Hello", questions=other),
        item("Hello", options=Options(confidence="top")),
    ]
    outcomes = answer_all(nano, items)
    for each, outcome in zip(items, outcomes, strict=True):
        assert isinstance(outcome, Done)
        alone = [
            nano.decide(s, each.questions, confidence=each.options.confidence, evidence=each.options.evidence)
            for s in each.states
        ]
        assert all(same(*pair) for pair in zip(outcome.decisions, alone, strict=True))
        assert outcome.tokens.total == sum(decision.usage.input_tokens for decision in alone)
    evident = outcomes[2]
    assert isinstance(evident, Done)
    assert evident.decisions[0].evidence


def test_one_that_breaks_or_is_refused_fails_alone(fragile: DecisionModel) -> None:
    states = ["fine"] * 13 + ["break", "fine", "refuse"]
    outcomes = answer_all(fragile, [item(state) for state in states])
    for state, outcome in zip(states, outcomes, strict=True):
        kinds: dict[str, type] = {"fine": Done, "break": Failed, "refuse": InvalidInput}
        assert type(outcome) is kinds[state]
    assert isinstance(fragile.backbone, Fragile)
    assert len(fragile.backbone.calls) <= 12  # by halves, not one by one


def test_a_foreign_error_tells_its_kind_and_not_its_text(
    fragile: DecisionModel, caplog: pytest.LogCaptureFixture
) -> None:
    (outcome,) = answer_all(fragile, [item("break")])
    assert isinstance(outcome, OmniclefError)
    assert "RuntimeError" in str(outcome)
    assert "secret" not in str(outcome) + caplog.text
    assert "RuntimeError at " in caplog.text


def test_a_record_that_breaks_a_rule_is_refused_beside_others(nano: DecisionModel) -> None:
    bad = item(7)  # type: ignore[arg-type]
    outcomes = answer_all(nano, [item("fine"), bad, item("fine")])
    assert [type(outcome) for outcome in outcomes] == [Done, InvalidRequest, Done]


def test_counting_answers_nothing(nano: DecisionModel) -> None:
    counted, answered = answer_all(nano, [item("Hello there", options=Options(counted=True)), item("Hello there")])
    assert isinstance(counted, Done)
    assert isinstance(answered, Done)
    assert counted.decisions == ()
    assert counted.tokens == answered.tokens
