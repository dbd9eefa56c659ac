"""The prompt of the Clef family: its pieces, each made into tokens on its own, and where questions and options lie.

Knows records and the format the released weights were trained on, which is exact to the byte. Must not know tensors,
networks, files or media beyond the number of their tokens. A piece must not be joined with another before it becomes
tokens: the joint string gives other tokens at the seams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from omniclef.errors import InvalidInput, TooLong
from omniclef.records import Question, Record, TextLike, render

__all__ = ["Ids", "Prompt", "PromptWriter", "Schema", "Shares"]

Ids: TypeAlias = Literal["faithful", "anonymous"]
"""How a prompt names questions: as the caller does, which is how the weights were trained, or ``Q1``, ``Q2``, ..."""

Encode: TypeAlias = Callable[[str], Sequence[int]]
Span: TypeAlias = tuple[int, int]

SYSTEM = (
    "Read the complete state and schema. Decide every field jointly. "
    "Each answer must be exactly one of that field's allowed options."
)
OPENING = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\nSTATE:\n"
SCHEMA = "\n\nSCHEMA FIELDS:\n"
OPTIONS = "\nALLOWED OPTIONS:\n"
END = "END FIELD\n"
CLOSING = "\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nJOINT SCHEMA DECISIONS:"

TYPES = {"noul": 0, "choice": 1, "score": 2}

PIECES = 4096
"""Short pieces whose tokens are kept: numbers, types and ends are the same in every prompt."""


@dataclass(frozen=True, slots=True)
class Schema:
    """All fields of a request as tokens; spans are (start, stop) counted from the schema's own start.

    questions: of the instructions, in request order. options: of all options, question by question, in REQUEST order,
    although choices lie in the prompt sorted by name. owners: the question of each option.
    """

    tokens: tuple[int, ...]
    questions: tuple[Span, ...]
    options: tuple[Span, ...]
    owners: tuple[int, ...]
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Tokens of each part of a prompt."""

    frame: int
    media: int
    state: int
    schema: int

    @property
    def total(self) -> int:
        return self.frame + self.media + self.state + self.schema

    @property
    def parts(self) -> dict[str, int]:
        return {"state": self.state, "media": self.media, "questions": self.schema, "fixed text": self.frame}

    def __str__(self) -> str:
        return ", ".join(f"{name} {count:,}" for name, count in self.parts.items())


@dataclass(frozen=True, slots=True)
class Prompt:
    """One record as the backbone reads it; spans are (start, stop) positions in ``tokens``.

    state: where the state's tokens lie. dropped: state tokens that were cut off its end.
    """

    tokens: tuple[int, ...]
    state: Span
    questions: tuple[Span, ...]
    options: tuple[Span, ...]
    owners: tuple[int, ...]
    types: tuple[int, ...]
    shares: Shares
    dropped: int = 0


class PromptWriter:
    """Writes prompts of one tokenizer.

    Args:
        encode: text to token ids, without adding special tokens of its own.
        window: most tokens of a prompt.
        media_tokens: ids that stand for media; a text that holds one would be taken for a medium.
        ids: how questions are named.
    """

    def __init__(
        self, encode: Encode, window: int, media_tokens: Mapping[int, str] | None = None, ids: Ids = "faithful"
    ) -> None:
        self.window = window
        self.ids = ids
        self._encode = encode
        self._media_tokens = dict(media_tokens or {})
        self._piece = lru_cache(PIECES)(lambda text: tuple(encode(text)))

    def write(self, record: Record, media: Sequence[int] = (), *, truncate: bool = False) -> Prompt:
        """The prompt of ``record``; ``media`` are its media's tokens, which go before the state.

        Args:
            truncate: cut the end off a state that does not fit, instead of refusing it.

        Raises:
            TooLong: more tokens than the window, or than it leaves for a state when only that may be cut.
            InvalidInput: a text holds the mark of a medium.
        """
        opening, closing = self._piece(OPENING), self._piece(CLOSING)
        schema = self.schema(record.questions)
        state = self._text(record.state, "state")
        whole = Shares(len(opening) + len(closing), len(media), len(state), len(schema.tokens))
        room = self.window - (whole.total - whole.state)
        if room < 0 or (room < len(state) and not truncate):
            problem, remedy = _too_long(whole, self.window)
            raise TooLong("request", problem, remedy, limit=self.window, tokens=whole.total, parts=whole.parts)
        kept = state[:room]
        start = len(opening) + len(media)
        stop = start + len(kept)
        return Prompt(
            tokens=(*opening, *media, *kept, *schema.tokens, *closing),
            state=(start, stop),
            questions=_shifted(schema.questions, stop),
            options=_shifted(schema.options, stop),
            owners=schema.owners,
            types=schema.types,
            shares=Shares(whole.frame, whole.media, len(kept), whole.schema),
            dropped=len(state) - len(kept),
        )

    def schema(self, questions: Mapping[str, Question]) -> Schema:
        """The fields, numbered in request order."""
        tokens: list[int] = [*self._piece(SCHEMA)]
        asked: list[Span] = []
        offered: list[Span] = []
        for number, (key, question) in enumerate(questions.items(), start=1):
            name = key if self.ids == "faithful" else f"Q{number}"
            tokens += self._text(f"\nFIELD {number}\nID: {name}\nTYPE: {question.type}\nINSTRUCTION: ", "questions")
            asked.append(self._add(tokens, self._instructions(name, question)))
            tokens += self._piece(OPTIONS)
            places = {}
            for place, (option, description) in enumerate(_in_prompt_order(question), start=1):
                tokens += self._piece(f"OPTION {place}: ")
                meaning: dict[str, object] = {"option_id": option}
                if description is not None:
                    meaning["description"] = description
                places[option] = self._add(tokens, render(meaning))
                tokens += self._piece("\n")
            offered += [places[option.key] for option in question.options()]
            tokens += self._piece(END)
        counts = [len(question.options()) for question in questions.values()]
        owners = tuple(owner for owner, count in enumerate(counts) for _ in range(count))
        types = tuple(TYPES[question.type] for question in questions.values())
        return Schema(tuple(tokens), tuple(asked), tuple(offered), owners, types)

    def _instructions(self, name: str, question: Question) -> str:
        if question.instructions not in (None, ""):
            return render(question.instructions)
        if self.ids == "faithful":
            return name
        # A neutral name asks nothing; what can be answered does.
        texts = [option.text or option.key for option in question.options()]
        return " / ".join(texts)

    def _add(self, tokens: list[int], text: str) -> Span:
        start = len(tokens)
        tokens += self._text(text, "questions")
        return start, len(tokens)

    def _text(self, value: TextLike, field: str) -> Sequence[int]:
        """Tokens of what a caller wrote."""
        tokens = self._encode(render(value))
        marks = self._media_tokens.keys() & set(tokens) if self._media_tokens else ()
        if marks:
            mark = self._media_tokens[min(marks)]
            raise InvalidInput(field, f"holds {mark}, which stands for a medium in the prompt", "remove or rewrite it")
        return tokens


def _in_prompt_order(question: Question) -> list[tuple[str, TextLike | None]]:
    pairs = [(option.key, option.description) for option in question.options()]
    return sorted(pairs, key=lambda pair: pair[0]) if question.type == "choice" else pairs


def _shifted(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple((start + by, stop + by) for start, stop in spans)


def _too_long(shares: Shares, window: int) -> tuple[str, str]:
    """Problem and remedy of a prompt beyond the window."""
    over = shares.total - window
    problem = f"{shares.total:,} tokens, the window is {window:,} ({shares})"
    if over > shares.state:
        return problem, f"leave out {over - shares.state:,} tokens of media or questions, besides the whole state"
    return problem, f'shorten the state by {over:,} tokens, or pass truncate="state" to have its end cut off'
