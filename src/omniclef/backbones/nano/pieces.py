"""What nano reads: a state cut into segments, a schema cut into pieces of text.

Every piece is encoded on its own, so that it can be cached: the state apart from the schema, each option apart from
its neighbours. Question ids never become text. Knows nothing of tensors or encoders.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omniclef.backbones.base import Leaf, below
from omniclef.records import NOUL_DEFAULTS, Option, Question, TextLike

__all__ = ["OptionPieces", "Segment", "domain", "instruction", "option_pieces", "segments", "speaker", "words"]

DECAY = 0.2
"""How much less an item of a list weighs than the one after it, as exp(-DECAY): the end of a talk matters most."""

ASIDE = 0.1
"""Weight of what a tool said in a talk, beside what people and assistants said: it is not what anybody asks for."""

GROUP = 160
"""Characters up to which neighbouring fields of an object share one segment."""

ECHO = 0.25
"""Weight of an option read together with its instruction, beside the option alone."""

# What people write in any instruction: such words do not say which field the question belongs to.
_COMMON = """
    a about action an and answer any api appropriate are as ask asked asking assistant at be best by
    called can category choose class classify command content customer customers describe described
    describes determine do does each express expressed expresses find fit fits following for from
    give given has have how i identify in input intent intention into is it its kind label level
    line made make matches me mention mentioned message messages might more most next of on one
    option or out over passage person piece please query question questions reads record reply
    request requested right say says select sentence should show shows speaker state statement suits
    tell text than that the their them there these they thing this those to tool topic type user
    users utterance want wants was we were what when where whether which who whose why will with
    word words would writer you your
"""
COMMON = frozenset(_COMMON.split())

INPUTS = ("inputs", "input_parameters", "parameters", "params", "arguments", "args")
OUTPUTS = ("outputs", "output_parameters", "returns", "responses")
"""Fields of a structured description that name what a tool takes, and what it gives."""

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPEAKER = ("role", "speaker", "from", "author")
TOOLS = frozenset(["api", "tool", "function", "observation", "tool_result"])
_SAYS = ("content", "text", "message", "utterance")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the state that is encoded on its own.

    weight: its share in the state's summary. place: how many segments of the same list come after it. leaves: the
    values in it, in order, where they were asked for.
    """

    text: str
    weight: float = 1.0
    place: int = 0
    leaves: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionPieces:
    """Texts of one option. ``views`` with their weights make its lexical row; ``context`` its hidden row.

    described: whether it says more than its name.
    """

    views: tuple[tuple[str, float], ...]
    context: str
    described: bool


def segments(state: TextLike, leaves: bool = False) -> list[Segment]:
    """Segments of a state. Keys stay beside their values, and their order means nothing; an empty state has none.

    ``leaves`` also tells where each value of the state is, which reading it does not need.
    """
    if isinstance(state, str):
        return [Segment(state, leaves=(Leaf(None, state, 0),) if leaves else ())] if state.strip() else []
    if isinstance(state, list):
        return list(_items("", _ordered(state), "", leaves))
    return list(_fields("", _ordered(state), "", leaves))


def _ordered(value: Any) -> Any:
    """The same JSON, with keys in one order: who speaks first, then by name."""
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (key not in _SPEAKER, key))
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def words(value: Any, leaves: list[Leaf] | None = None, path: str = "", at: int = 0) -> str:
    """A JSON value as words: ``{"room_size": 3}`` reads "room size: 3".

    ``leaves`` gets the values in it, where ``path`` points to it and its words begin at ``at``.
    """
    if isinstance(value, str) and leaves is None:
        return value
    if isinstance(value, Mapping):
        who = speaker(value)
        says = next((k for k in _SAYS if isinstance(value.get(k), str)), None)
        if who and says is not None and len(value) == 2:
            if leaves is not None:
                role = next(key for key in value if key != says)
                leaves += [Leaf(below(path, role), value[role], at)]
                leaves += [Leaf(below(path, says), value[says], at + len(who) + 2)]
            return f"{who}: {value[says]}"
        kept = ((f"{humanise(k)}: ", k, v) for k, v in value.items() if v not in (None, "", [], {}))
        return _listed("; ", kept, leaves, path, at)
    if isinstance(value, list):
        return _listed(", ", (("", index, v) for index, v in enumerate(value)), leaves, path, at)
    text = value if isinstance(value, str) else str(value).lower()
    if leaves is not None:
        leaves.append(Leaf(path, "null" if value is None else text, at))
    return text


def _listed(
    between: str, parts: Iterable[tuple[str, str | int, Any]], leaves: list[Leaf] | None, path: str, at: int
) -> str:
    """Values with their labels and keys, one after another."""
    if leaves is None:
        return between.join([label + words(value) for label, _, value in parts])
    said = []
    for label, key, value in parts:
        text = label + words(value, leaves, below(path, str(key)), at + len(label))
        at += len(text) + len(between)
        said.append(text)
    return between.join(said)


def humanise(name: str) -> str:
    """An identifier as words: ``card_arrival`` and ``cardArrival`` read "card arrival"."""
    if " " in name.strip():
        return name
    return _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").strip().lower() or name


def instruction(question: Question) -> str:
    """The question in words; empty if it has none."""
    return "" if question.instructions is None else words(question.instructions).strip()


def domain(text: str) -> str:
    """The words of an instruction that few instructions have: "Which banking intent…?" gives "banking"."""
    return " ".join(w for w in _WORD.findall(text) if w.lower() not in COMMON)


def option_pieces(question: Question, echo: bool = True) -> list[OptionPieces]:
    """The pieces of every option, in request order; ``echo`` adds each option read together with the instruction."""
    asked = instruction(question)
    if question.type == "noul":
        return [_side(option, asked) for option in question.options()]
    field = domain(asked) if len(asked) <= GROUP else ""
    return [_named(option, question.type, asked if echo else "", field) for option in question.options()]


def _named(option: Option, kind: str, asked: str, field: str) -> OptionPieces:
    described = _described(option)
    name = described if kind == "score" else humanise(option.key)
    if kind == "score" or humanise(described).lower() == name.lower():
        described = ""
    full = f"{name}: {described}" if described else name
    views = [(f"{field}: {name}" if field else name, 1.0)]
    if described:
        views.append((described, 1.0))
    # One way of telling an option which question it answers is enough.
    if asked:
        views.append((f"{asked} {full}", ECHO))
    return OptionPieces(tuple(views), full, bool(described))


def _side(option: Option, asked: str) -> OptionPieces:
    """True is what the question says; false is what its criterion says, or nothing in particular."""
    described = "" if option.text == NOUL_DEFAULTS[option.key] else _described(option)
    yes = option.key == "true"
    views = [(asked, 1.0)] if asked and yes else []
    if described:
        views.append((described, 1.0))
    full = " ".join(part for part in (asked, described) if part)
    return OptionPieces(tuple(views), f"{'yes' if yes else 'no'}: {full}", bool(described))


def _described(option: Option) -> str:
    """The description in words, without examples; fields beside ``description`` follow it with their names.

    What a tool gives is left out where it says what it takes: with it 0.975 instead of 0.985 of the requests of
    Seal-Tools' dev part found their tool among 769.
    """
    value: Any = option.description
    if not isinstance(value, dict):
        return words(value).strip() if value is not None else ""
    left_out = OUTPUTS if any(field in value for field in INPUTS) else ()
    rest = {k: v for k, v in value.items() if k not in left_out and (k != "examples" or not isinstance(v, list))}
    first = words(rest.pop("description", "") or "").strip()
    return "; ".join(part for part in (first, words(rest)) if part)


def _items(name: str, values: Sequence[Any], path: str, leaves: bool) -> Iterator[Segment]:
    label = f"{humanise(name)}: " if name else ""
    kept = [(text, value, number) for number, value in enumerate(values) if (text := words(value)).strip()]
    for index, (text, value, number) in enumerate(kept):
        place = len(kept) - 1 - index
        share = ASIDE if speaker(value) in TOOLS else 1.0
        found: list[Leaf] = []
        if leaves:
            words(value, found, f"{path}/{number}", len(label) - len(text) + len(text.lstrip()))
        yield Segment(label + text.strip(), share * math.exp(-DECAY * place), place, tuple(found))


def speaker(value: Any) -> str:
    """Who says an item of a list, in lower case; empty if nobody is named."""
    names = (value[k] for k in _SPEAKER if isinstance(value.get(k), str)) if isinstance(value, Mapping) else iter(())
    return next(names, "").lower()


def _fields(name: str, values: Mapping[str, Any], path: str, leaves: bool) -> Iterator[Segment]:
    """Short fields in groups, long ones alone, lists of more than plain values item by item."""
    group: list[str] = []
    found: list[Leaf] = []
    for key, value in values.items():
        label, here = f"{name} {humanise(key)}".strip(), below(path, key)
        nested = isinstance(value, list) and any(isinstance(v, str | dict) for v in value) and len(words(value)) > GROUP
        text = "" if nested else f"{label}: {words(value)}"
        if group and (nested or len(text) + sum(map(len, group)) > GROUP):
            yield Segment("; ".join(group), leaves=tuple(found))
            group, found = [], []
        if nested:
            yield from _items(label, value, here, leaves)
        elif isinstance(value, Mapping) and len(text) > GROUP:
            yield from _fields(label, value, here, leaves)
        elif value not in (None, "", [], {}):
            if leaves:
                words(value, found, here, sum(len(each) + 2 for each in group) + len(label) + 2)
            group.append(text)
    if group:
        yield Segment("; ".join(group), leaves=tuple(found))
