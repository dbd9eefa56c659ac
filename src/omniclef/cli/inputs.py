"""Arguments and files to states and questions.

Knows files, standard input and the short forms of questions; the rules of questions are in ``records``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from omniclef.errors import InvalidInput
from omniclef.records import TextLike, parse_state, read_json

__all__ = ["MAX_BYTES", "STDIN", "collect_questions", "read_object", "read_state", "read_text"]

STDIN = "-"

MAX_BYTES = 256 << 20
"""Of one text or JSON file: beyond any request within the media budgets, and below what fills a memory."""

NOT_TEXT = "give a text file; media go to --image, --audio and --video"

Named = tuple[str, dict[str, Any]]

# A bar ends a part and a colon before a blank ends a name, unless a backslash stands before them.
_BAR = re.compile(r"(?<!\\)\|")
_COLON = re.compile(r"(?<!\\):(?:\s+|$)")
_ESCAPE = re.compile(r"\\([|:])")


def read_text(path: str, field: str) -> str:
    """A UTF-8 text from a file, or from standard input for ``-``.

    Raises:
        InvalidInput: it cannot be read, is larger than `MAX_BYTES`, or is no text.
    """
    try:
        if path == STDIN:
            data = _read(sys.stdin.buffer)
        else:
            with Path(path).open("rb") as file:
                data = _read(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(field, f"{path!r} cannot be read ({reason})", "check the path") from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(field, f"{path!r} has more than {MAX_BYTES:,} bytes", "give a smaller file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{path!r} is not UTF-8 text (byte {error.start})"
        raise InvalidInput(
            field, problem, "give a text file; media go to --image, --audio, --video"
        ) from None
    if "\0" in text:
        problem = f"{path!r} is not text (a zero byte at character {text.index(chr(0))})"
        raise InvalidInput(field, problem, NOT_TEXT)
    return text


def read_object(path: str, field: str) -> Any:
    """The JSON value of a file, or of standard input.

    Raises:
        InvalidInput: as `read_text`; not JSON (with line and column); a key that occurs twice in one object,
            because one of the two would be lost.
    """
    return _parse(read_text(path, field), field)


def read_state(text: str | None, path: str | None, as_json: bool) -> TextLike | None:
    """The state as given, None if it is not given at all.

    Text, unless ``as_json`` is set or the file's name ends in ``.json``.
    """
    if text is not None and path is not None:
        raise InvalidInput("--state", "is given together with --state-file", "give one of them")
    if path is not None:
        text, field = read_text(path, "--state-file"), "--state-file"
        as_json = as_json or path.lower().endswith(".json")
    else:
        field = "--state"
    if text is None:
        if as_json:
            raise InvalidInput("--state-json", "there is no state", "add --state or --state-file")
        return None
    return parse_state(_parse(text, field) if as_json else text)


def collect_questions(
    path: str | None, choices: Sequence[str], nouls: Sequence[str], scores: Sequence[str]
) -> dict[str, Any]:
    """Wire questions by id: those of the file, then choices, nouls and scores, each in the order given.

    Raises:
        InvalidInput: none at all, an id that occurs twice, or a short form that cannot be read.
    """
    questions: dict[str, Any] = {}
    if path is not None:
        value = read_object(path, "--questions")
        if not isinstance(value, dict):
            raise InvalidInput("--questions", f"{path!r} holds no JSON object", "map ids to questions")
        questions.update(value)
    for key, question in _short_forms(choices, nouls, scores):
        if key in questions:
            raise InvalidInput(f"questions.{key}", "the id is used twice", "give each question its own id")
        questions[key] = question
    if not questions and path is None:
        raise InvalidInput("questions", "none is asked", "add --choice, --noul, --score or --questions")
    return questions


def _short_forms(choices: Iterable[str], nouls: Iterable[str], scores: Iterable[str]) -> Iterable[Named]:
    given: tuple[tuple[Iterable[str], Callable[[str], Named]], ...] = (
        (choices, _choice),
        (nouls, _noul),
        (scores, _score),
    )
    return (read(text) for texts, read in given for text in texts)


def _choice(text: str) -> Named:
    """``id=Instruction|name: description|name|…``"""
    key, (instructions, *options) = _split("--choice", text)
    criteria: dict[str, str | None] = {}
    for option in options:
        name, *description = _COLON.split(option, maxsplit=1)
        name = _unescape(name)
        if not name:
            raise InvalidInput(f"--choice {key}", "an option has no name", "write name or name: description")
        if name in criteria:
            raise InvalidInput(
                f"--choice {key}", f"the option {name!r} occurs twice", "name each option once"
            )
        criteria[name] = (_unescape(description[0]) or None) if description else None
    return key, {"type": "choice", "instructions": _unescape(instructions) or None, "criteria": criteria}


def _noul(text: str) -> Named:
    """``id=Question?``; a bar means nothing here."""
    key, (instructions,) = _split("--noul", text, bars=False)
    return key, {"type": "noul", "instructions": instructions}


def _score(text: str) -> Named:
    """``id=Instruction|lowest|…|highest``"""
    key, (instructions, *levels) = _split("--score", text)
    if "" in levels:
        raise InvalidInput(f"--score {key}", "a level is empty", "describe each level")
    criteria = [_unescape(level) for level in levels]
    return key, {"type": "score", "instructions": _unescape(instructions) or None, "criteria": criteria}


def _split(option: str, text: str, bars: bool = True) -> tuple[str, list[str]]:
    key, equals, rest = text.partition("=")
    if not equals:
        raise InvalidInput(option, f"{text!r} has no id", "write id=Question")
    parts = _BAR.split(rest) if bars else [rest]
    return key.strip(), [part.strip() for part in parts]


def _unescape(text: str) -> str:
    return _ESCAPE.sub(r"\1", text).strip()


def _read(file: BinaryIO) -> bytes:
    return file.read(MAX_BYTES + 1)


def _parse(text: str, field: str) -> Any:
    value = read_json(text, field)

    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidInput(field, f"the key {key!r} occurs twice in one object", "keep one of them")
            seen.add(key)

    json.loads(text, object_pairs_hook=unique)
    return value
