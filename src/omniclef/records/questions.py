"""The three question types of System One, their options, rules and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from omniclef.errors import InvalidRequest
from omniclef.records.values import Check, TextLike, Violation, render, settle, show

MAX_OPTIONS = 255
MAX_LEVELS = 10
NOUL_DEFAULTS = {
    "true": "The proposition is true or the answer is yes.",
    "false": "The proposition is false or the answer is no.",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One allowed answer of a question.

    Attributes:
        key: the answer's name on the wire: ``true``/``false``, the option's name, or the level's index.
        description: what the request says about it, noul defaults included; None where it says nothing.
        examples: examples given inside a structured description, as text or media data URLs.
        text: the description without its examples, rendered; None if there is none.
    """

    key: str
    description: TextLike | None = None
    examples: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class Noul:
    """A yes/no question, answered by the probability of yes.

    Args:
        instructions: the question; may be left out where ``criteria`` describes an outcome.
        criteria: what ``true`` and ``false`` mean. A side left out keeps its default of `NOUL_DEFAULTS`, one
            that is None has no description at all; other keys are ignored.

    Raises:
        InvalidRequest: nothing says what is asked, or a text is a number or a boolean.
    """

    instructions: TextLike | None = None
    criteria: Mapping[str, TextLike | None] | None = None

    type: ClassVar[Literal["noul"]] = "noul"

    def __post_init__(self) -> None:
        check = Check()
        instructions, sides = check.optional(self.instructions, ("instructions",)), self.criteria
        if sides is not None and not isinstance(sides, Mapping):
            remedy = "describe true, false or both in it"
            check.add(("criteria",), "type", f"must be an object, not {show(sides)}", remedy)
        elif sides is not None:
            sides = {k: check.optional(sides[k], ("criteria", k)) for k in NOUL_DEFAULTS if k in sides}
        if not check.issues and instructions in (None, "") and not any((sides or {}).values()):
            check.add((), "no_instructions", "has neither instructions nor criteria", "add instructions")
        check.close()
        settle(self, instructions=None if instructions == "" else instructions, criteria=sides)

    def options(self) -> tuple[Option, ...]:
        """``true``, then ``false``."""
        return self._options

    @cached_property
    def _options(self) -> tuple[Option, ...]:
        sides = {**NOUL_DEFAULTS, **(self.criteria or {})}
        return tuple(_option(key, sides[key], default) for key, default in NOUL_DEFAULTS.items())


@dataclass(frozen=True)
class Choice:
    """Exactly one of 1 to 255 named options.

    Args:
        criteria: option name to description; None where the name says it all.
        instructions: the question, if there is more to say than the options do.

    Raises:
        InvalidRequest: no option, more than 255, or a text that is a number or a boolean.
    """

    criteria: Mapping[str, TextLike | None]
    instructions: TextLike | None = None

    type: ClassVar[Literal["choice"]] = "choice"

    def __post_init__(self) -> None:
        check = Check()
        instructions = check.optional(self.instructions, ("instructions",))
        criteria = self.criteria
        if criteria is None:
            check.add(("criteria",), "missing", "is missing", "name an option")
        elif not isinstance(criteria, Mapping):
            remedy = "map each option's name to its description, or to null"
            check.add(("criteria",), "type", f"must be an object, not {show(criteria)}", remedy)
        elif not criteria:
            check.add(("criteria",), "too_short", "has 0 options, at least 1 is needed", "name an option")
        elif len(criteria) > MAX_OPTIONS:
            problem = f"has {len(criteria)} options, at most {MAX_OPTIONS} are allowed"
            check.add(("criteria",), "too_many", problem, "merge options, or ask in two steps")
        else:
            named = {k: v for k, v in criteria.items() if check.name(k, ("criteria", str(k)))}
            criteria = {k: check.optional(v, ("criteria", k)) for k, v in named.items()}
        check.close()
        settle(self, instructions=None if instructions == "" else instructions, criteria=criteria)

    def options(self) -> tuple[Option, ...]:
        """The options in the order of ``criteria``."""
        return self._options

    @cached_property
    def _options(self) -> tuple[Option, ...]:
        return tuple(_option(key, description) for key, description in self.criteria.items())


@dataclass(frozen=True)
class Score:
    """A place on a scale of 1 to 10 described levels, answered by the expected level index.

    Args:
        criteria: the levels, lowest first.
        instructions: the question, if there is more to say than the levels do.

    Raises:
        InvalidRequest: no level, more than 10, a level without a text, or levels given as a map.
    """

    criteria: Sequence[TextLike]
    instructions: TextLike | None = None

    type: ClassVar[Literal["score"]] = "score"

    def __post_init__(self) -> None:
        check = Check()
        instructions = check.optional(self.instructions, ("instructions",))
        levels: Any = self.criteria
        if levels is None:
            check.add(("criteria",), "missing", "is missing", "list the levels, lowest first")
        elif not isinstance(levels, list | tuple):
            problem = f"must be an array of levels, not {show(levels)}"
            check.add(("criteria",), "type", problem, "list the levels, lowest first")
        elif not levels:
            check.add(("criteria",), "too_short", "has 0 levels, at least 1 is needed", "describe a level")
        elif len(levels) > MAX_LEVELS:
            problem = f"has {len(levels)} levels, at most {MAX_LEVELS} are allowed"
            check.add(("criteria",), "too_many", problem, "merge neighbouring levels")
        else:
            levels = [check.text(level, ("criteria", index)) for index, level in enumerate(levels)]
        check.close()
        settle(self, instructions=None if instructions == "" else instructions, criteria=levels)

    def options(self) -> tuple[Option, ...]:
        """The levels, lowest first, keyed ``0`` to ``n-1``."""
        return self._options

    @cached_property
    def _options(self) -> tuple[Option, ...]:
        return tuple(_option(str(index), level) for index, level in enumerate(self.criteria))


Question: TypeAlias = Noul | Choice | Score


def parse_questions(mapping: object) -> dict[str, Question]:
    """Questions by id, from wire objects (``{"type": …}``) or question objects.

    Raises:
        InvalidRequest: every broken rule of every question.
    """
    check = Check()
    questions = collect_questions(mapping, check)
    check.close()
    return questions


def collect_questions(mapping: object, check: Check) -> dict[str, Question]:
    parsed: dict[str, Question] = {}
    if mapping is None:
        check.add(("questions",), "missing", "is missing", "ask a question")
    elif not isinstance(mapping, Mapping):
        check.add(("questions",), "type", f"must be an object, not {show(mapping)}", "map ids to questions")
    elif not mapping:
        check.add(("questions",), "too_short", "has 0 questions, at least 1 is needed", "ask a question")
    else:
        for key, question in mapping.items():
            loc = ("questions", str(key))
            if key == "":
                check.add(loc, "empty_id", "a question's id is empty", "give it a name")
            elif check.name(key, loc):
                try:
                    parsed[key] = _question(question)
                except InvalidRequest as error:
                    check.adopt(error, loc)
    return parsed


def _question(value: object) -> Question:
    if isinstance(value, Noul | Choice | Score):
        return value
    if not isinstance(value, Mapping):
        problem, remedy = f"must be an object, not {show(value)}", 'send {"type": "noul", "instructions": …}'
        raise InvalidRequest([Violation((), "type", problem, remedy)])
    instructions, criteria = value.get("instructions"), value.get("criteria")
    match value.get("type"):
        case "noul":
            return Noul(instructions, criteria)
        case "choice":
            return Choice(criteria, instructions)  # type: ignore[arg-type]  # None is refused there, as missing
        case "score":
            return Score(criteria, instructions)  # type: ignore[arg-type]
        case None:
            issue = Violation(("type",), "missing_type", "is missing", "use noul, choice or score")
        case other:
            issue = Violation(("type",), "unknown_type", f"is {show(other)}", "use noul, choice or score")
    raise InvalidRequest([issue])


def _option(key: str, description: TextLike | None, default: str | None = None) -> Option:
    """Splits ``{"description": …, "examples": […]}``; ``default`` is what an absent description means.

    Other field names are the caller's own and stay in the text, and so do ``examples`` that are no array.
    """
    rest: object = description
    examples: tuple[str, ...] = ()
    if isinstance(description, dict):
        fields = dict(description)
        if isinstance(fields.get("examples", []), list | None):
            given = fields.pop("examples", None) or []
            examples = tuple(render(example) for example in given if example not in (None, ""))
        rest = fields.get("description", default) if fields.keys() <= {"description"} else fields
    text = None if rest is None else render(rest)
    return Option(key, description, examples, text or None)
