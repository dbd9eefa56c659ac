"""Schema variation: the same decision asked in other words, with other options, names, order and company.

A head that sees each record in one dress learns the dress. Everything here is a pure function of a record and
a seeded generator, and the labels always follow. Texts come from bounded pools, so that their encodings stay
cacheable; instructions that carry facts of their record (any that `wordings` does not list) are never
touched. Knows nothing of encoders, losses or where records came from.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from omniclef.training.corpus.companions import companions
from omniclef.training.corpus.reading import Label, Rng, Wire, normal, one, shuffled
from omniclef.training.corpus.wordings import NONE_KEYS, NONE_OPTIONS, OPEN_QUESTIONS, SIDES, YES_NO, variants
from omniclef.training.records import LabelledRecord

__all__ = ["Examples", "Rates", "collect_examples", "vary"]

Examples: TypeAlias = Mapping[tuple[str, str], Mapping[str, Sequence[str]]]
"""Texts by (family, question id) and by option: what may stand in an option's ``examples``."""
Task: TypeAlias = tuple[Wire, Label]

MAX_EXAMPLE_WORDS = 30
_OPAQUE = re.compile(r"\W*\w{1,2}\W*|\d.*|(first|second|third|option|level|sent)\W*\d*", re.IGNORECASE)


@dataclass(frozen=True)
class Rates:
    """How often each change happens, as probabilities for one question (for one record in the last five).

    right_removed, none_added: of open questions only; the first makes a "none of these" the right answer.
    """

    reworded: float = 0.5
    instructions_dropped: float = 0.12
    subset: float = 0.65
    right_removed: float = 0.12
    none_added: float = 0.2
    descriptions_dropped: float = 0.3
    descriptions_wrapped: float = 0.12
    renamed: float = 0.4
    examples: float = 0.12
    retyped: float = 0.12
    sides_changed: float = 0.3
    fewer_questions: float = 0.5
    companion: float = 0.12
    ids_renamed: float = 0.5
    keys_reversed: float = 0.2


def vary(
    record: LabelledRecord, rng: Rng, examples: Examples | None = None, rates: Rates | None = None
) -> LabelledRecord:
    """The record in another schema; state and media keep what they say.

    Args:
        examples: pools of `collect_examples`; a record's own state never becomes its example.
    """
    rate = rates or Rates()
    names = shuffled(rng, list(record.questions))
    if len(names) > 1 and rng.random() < rate.fewer_questions:
        names = names[: int(rng.integers(1, len(names)))]
    tasks: dict[str, Task] = {}
    for name in names:
        pool = (examples or {}).get((record.family, name), {})
        task = (dict(record.questions[name]), record.labels[name])
        tasks[name] = _varied(name, task, record.state, pool, rng, rate)
    if rng.random() < rate.companion:
        name, task = one(rng, sorted(companions(record.state).items()))
        tasks.setdefault(name, task)
    if rng.random() < rate.ids_renamed:
        stem = one(rng, ("q", "question_", "field", "decision-", "a"))
        tasks = {f"{stem}{index}": task for index, task in enumerate(tasks.values(), 1)}
    state = record.state
    if isinstance(state, dict) and rng.random() < rate.keys_reversed:
        # One other order, not any: each order of the keys is a text of its own for the encoder.
        state = dict(reversed(state.items()))
    order = shuffled(rng, list(tasks))
    return replace(
        record,
        state=state,
        questions={name: tasks[name][0] for name in order},
        labels={name: tasks[name][1] for name in order},
    )


def collect_examples(records: Iterable[LabelledRecord], per_option: int = 20) -> Examples:
    """Short texts of each option of each choice question, from training records whose state is plain text."""
    pools: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.split != "train" or not isinstance(record.state, str):
            continue
        if not record.state or len(record.state.split()) > MAX_EXAMPLE_WORDS:
            continue
        for name, question in record.questions.items():
            label = record.labels[name]
            if question["type"] == "choice" and isinstance(label, str) and label not in NONE_KEYS:
                texts = pools[record.family, name][label]
                if len(texts) < per_option and record.state not in texts:
                    texts.append(record.state)
    return {key: dict(pool) for key, pool in pools.items()}


def _varied(name: str, task: Task, state: Any, pool: Mapping[str, Sequence[str]], rng: Rng, rate: Rates) -> Task:
    question, label = task
    question = _reworded(question, rng, rate)
    if question["type"] == "choice":
        question, label = _choice(name, question, str(label), state, pool, rng, rate)
        return _as_noul(question, label) if rng.random() < rate.retyped else (question, label)
    if question["type"] == "noul":
        question = _sides(question, rng, rate)
        return _as_choice(question, bool(label), rng) if rng.random() < rate.retyped else (question, label)
    levels = question["criteria"]
    if rng.random() < rate.retyped and all(isinstance(v, str) for v in levels) and len(set(levels)) == len(levels):
        options = dict.fromkeys(shuffled(rng, levels))
        return question | {"type": "choice", "criteria": options}, str(levels[int(label)])
    return question, label


def _reworded(question: Wire, rng: Rng, rate: Rates) -> Wire:
    asked = question.get("instructions")
    ways = variants(asked) if isinstance(asked, str) else ()
    if not ways:
        return question
    if rng.random() < rate.instructions_dropped and _speaks(question):
        return {k: v for k, v in question.items() if k != "instructions"}
    if rng.random() < rate.reworded:
        text = one(rng, ways)
        if question["type"] == "noul" and not text.endswith("?"):
            return question
        return question | {"instructions": text}
    return question


def _speaks(question: Wire) -> bool:
    """Whether the options tell what is asked when nothing else does."""
    if question["type"] == "choice":
        return not any(_OPAQUE.fullmatch(key) for key in question["criteria"])
    return bool(question["type"] == "score")


def _choice(
    name: str,
    question: Wire,
    label: str,
    state: Any,
    pool: Mapping[str, Sequence[str]],
    rng: Rng,
    rate: Rates,
) -> tuple[Wire, str]:
    options: dict[str, Any] = dict(question["criteria"])
    options, label = _with_none(name, options, label, rng, rate)
    options = _fewer(options, label, rng) if rng.random() < rate.subset else options
    options = _described(options, rng, rate)
    if pool and rng.random() < rate.examples:
        options = _with_examples(options, state, pool, rng)
    options, label = _renamed(options, label, rng) if rng.random() < rate.renamed else (options, label)
    return question | {"criteria": {key: options[key] for key in shuffled(rng, list(options))}}, label


def _with_none(name: str, options: dict[str, Any], label: str, rng: Rng, rate: Rates) -> tuple[dict[str, Any], str]:
    """Renames a "none of these", or adds one to an open question, as the right answer or as a distractor."""
    ours = [key for key in options if key in NONE_KEYS]
    key, text = one(rng, NONE_OPTIONS)
    if ours:
        if len(ours) > 1 or key in options:
            return options, label
        kept = {k: v for k, v in options.items() if k != ours[0]}
        return kept | {key: text}, key if label == ours[0] else label
    if name not in OPEN_QUESTIONS or key in options:
        return options, label
    chance = rng.random()
    if chance < rate.right_removed and len(options) > 3:
        return {k: v for k, v in options.items() if k != label} | {key: text}, key
    return (options | {key: text} if chance < rate.right_removed + rate.none_added else options), label


def _fewer(options: dict[str, Any], label: str, rng: Rng) -> dict[str, Any]:
    """A subset of at least two, of any order of magnitude, that keeps the right option."""
    if len(options) < 3:
        return options
    count = round(2 ** rng.uniform(1, math.log2(len(options))))
    others = shuffled(rng, [key for key in options if key != label])[: max(1, count - 1)]
    return {key: value for key, value in options.items() if key == label or key in others}


def _described(options: dict[str, Any], rng: Rng, rate: Rates) -> dict[str, Any]:
    """Drops all descriptions where names suffice, strips structured ones, or wraps plain ones in an
    object.
    """
    chance = rng.random()
    if chance < rate.descriptions_dropped:
        clear = not any(_OPAQUE.fullmatch(key) for key in options)
        return dict.fromkeys(options) if clear else options
    if chance < rate.descriptions_dropped + rate.descriptions_wrapped:
        return {k: {"description": v} if isinstance(v, str) else v for k, v in options.items()}
    if chance > 0.8:
        return {k: v.get("description", v) if isinstance(v, dict) else v for k, v in options.items()}
    return options


def _with_examples(options: dict[str, Any], state: Any, pool: Mapping[str, Sequence[str]], rng: Rng) -> dict[str, Any]:
    count = int(rng.integers(2, 6))
    drawn: dict[str, list[str]] = {}
    for key in options:
        texts = shuffled(rng, [text for text in pool.get(key, ()) if text != state])[:count]
        if key not in NONE_KEYS and len(texts) < 2:
            return options  # examples of some options only would tell which of them matter
        drawn[key] = texts
    result = {}
    for key, value in options.items():
        fields = dict(value) if isinstance(value, dict) else {} if value is None else {"description": value}
        result[key] = fields | {"examples": drawn[key]} if drawn[key] else value
    return result


def _renamed(options: dict[str, Any], label: str, rng: Rng) -> tuple[dict[str, Any], str]:
    """One writing for all names: with underscores, as words, in capitals or as they are."""
    style = int(rng.integers(4))
    names = {key: key if key in NONE_KEYS else _written(key, style) for key in options}
    if len(set(names.values())) < len(names):
        return options, label
    return {names[key]: value for key, value in options.items()}, names[label]


def _written(name: str, style: int) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").split()
    if _OPAQUE.fullmatch(name) or len(words) > 6:
        return name
    if style == 0:
        return "_".join(words).lower()
    if style == 1:
        return " ".join(words).lower()
    return " ".join(words).title() if style == 2 else "".join(w[:1].upper() + w[1:] for w in words)


def _as_noul(question: Wire, label: str) -> Task:
    """A choice between yes and no as a noul; any other choice stays."""
    options = question["criteria"]
    pair = next((p for p in YES_NO[:3] if {normal(k) for k in options} == {normal(p[0]), normal(p[1])}), None)
    if pair is None or not question.get("instructions"):
        return question, label
    yes = next(key for key in options if normal(key) == normal(pair[0]))
    sides = {"true": options[yes], "false": next(v for k, v in options.items() if k != yes)}
    given = {side: text for side, text in sides.items() if text is not None}
    changed = {k: v for k, v in question.items() if k != "criteria"} | {"type": "noul"}
    return changed | ({"criteria": given} if given else {}), label == yes


def _as_choice(question: Wire, label: bool, rng: Rng) -> Task:
    sides = question.get("criteria") or {}
    yes, no = one(rng, YES_NO)
    options = {yes: sides.get("true"), no: sides.get("false")}
    return question | {"type": "choice", "criteria": {k: options[k] for k in shuffled(rng, [yes, no])}}, (
        yes if label else no
    )


def _sides(question: Wire, rng: Rng, rate: Rates) -> Wire:
    """Adds plain criteria to a noul without any, or drops those it has."""
    if not question.get("instructions") or rng.random() >= rate.sides_changed:
        return question
    if question.get("criteria"):
        return {k: v for k, v in question.items() if k != "criteria"}
    true, false = one(rng, SIDES)
    sides = {"true": true} if rng.random() < 0.3 else {"true": true, "false": false}
    return question | {"criteria": sides}
