"""What is answered: logits to probabilities, scores, confidence, rounding, and the answer and evidence types.

Knows nothing of where logits come from. Values are kept unrounded; `to_dict` rounds them for the wire.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from omniclef.records import Choice, Noul, Question, Score, TextLike

__all__ = [
    "CONFIDENCES",
    "Answer",
    "ChoiceAnswer",
    "Confidence",
    "Decision",
    "Evidence",
    "NoulAnswer",
    "ScoreAnswer",
    "Usage",
    "answer",
    "round_to_one",
    "softmax",
]

Confidence: TypeAlias = Literal["typesafe", "simpson", "top", "entropy"]
CONFIDENCES: tuple[Confidence, ...] = ("typesafe", "simpson", "top", "entropy")

# Beyond this the units of a 255-option distribution no longer add up exactly in double precision.
MAX_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """noul: probability of yes."""

    noul: float

    type: ClassVar[Literal["noul"]] = "noul"

    def to_dict(self, decimals: int | None = 4) -> dict[str, Any]:
        """The wire object; ``decimals=None`` leaves the values unrounded."""
        return {"type": self.type, "noul": _rounded(self.noul, decimals)}


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """choice: the first most probable option in request order; probabilities: by option, in request order."""

    choice: str
    probabilities: dict[str, float]
    confidence: float

    type: ClassVar[Literal["choice"]] = "choice"

    def to_dict(self, decimals: int | None = 4) -> dict[str, Any]:
        """The wire object; its probabilities sum to exactly 1 in decimal."""
        return {
            "type": self.type,
            "choice": self.choice,
            "confidence": _rounded(self.confidence, decimals),
            "probabilities": _rounded_all(self.probabilities, decimals),
        }


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """score: expected level index, 0 to n-1; legend: the levels as sent; both maps are keyed "0" to "n-1"."""

    score: float
    legend: dict[str, TextLike]
    probabilities: dict[str, float]
    confidence: float

    type: ClassVar[Literal["score"]] = "score"

    def to_dict(self, decimals: int | None = 4) -> dict[str, Any]:
        """The wire object; probabilities sum to exactly 1 in decimal, the score comes from unrounded ones."""
        return {
            "type": self.type,
            "score": _rounded(self.score, decimals),
            "confidence": _rounded(self.confidence, decimals),
            "legend": dict(self.legend),
            "probabilities": _rounded_all(self.probabilities, decimals),
        }


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of input that an option drew on.

    Attributes:
        modality: ``text``, ``image``, ``audio`` or ``video``.
        index: position of the medium in the request; 0 for the state.
        span: (from, to) characters of text, (left, top, right, bottom) as fractions of an image, or
            (from, to) seconds of sound or video. Characters are Unicode code points, as Python counts them, of the
            state where that is a text, else of the value that ``path`` points to: of a string as it is, of anything
            else as JSON writes it.
        weight: its share of the option's evidence, 0 to 1; ``evidence.py`` says how it comes about.
        text: the words themselves, where the span is text.
        path: JSON Pointer (RFC 6901) of the value, as ``/ticket/body``, where the state is an object or an array.
    """

    modality: Literal["text", "image", "audio", "video"]
    index: int
    span: tuple[float, ...]
    weight: float
    text: str | None = None
    path: str | None = None

    def to_dict(self, decimals: int | None = 4) -> dict[str, Any]:
        """The wire object; ``text`` and ``path`` are left out where there is none."""
        span = [_rounded(edge, decimals) for edge in self.span]
        piece: dict[str, Any] = {"modality": self.modality, "index": self.index, "span": span}
        piece["weight"] = _rounded(self.weight, decimals)
        more = {"text": self.text, "path": self.path}
        return piece | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written; a decision writes none.

    state_tokens_dropped: tokens of the state that were cut off because the caller allowed it.
    cached_tokens: those of ``input_tokens`` that were read before, for another record.
    modalities: ``input_tokens`` by modality; empty where nobody told.
    """

    input_tokens: int
    output_tokens: int = 0
    state_tokens_dropped: int = 0
    cached_tokens: int = 0
    modalities: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, int]:
        """The wire object. What is no part of System One has a name in ``x_`` and is left out where it is 0."""
        body = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        more = {"x_state_tokens_dropped": self.state_tokens_dropped, "x_cached_tokens": self.cached_tokens}
        return body | {name: count for name, count in more.items() if count}


@dataclass(frozen=True, slots=True)
class Decision:
    """All answers to one record, by question id in request order.

    ``evidence``, where asked for: by question id, then by option key, heaviest first.
    """

    model: str
    answers: dict[str, Answer]
    usage: Usage
    evidence: Mapping[str, Mapping[str, Sequence[Evidence]]] | None = None

    def to_dict(self, decimals: int | None = 4) -> dict[str, Any]:
        """The wire response. Evidence is no part of System One, so it goes by the name ``x_evidence``."""
        body: dict[str, Any] = {
            "model": self.model,
            "answers": {key: answer.to_dict(decimals) for key, answer in self.answers.items()},
            "usage": self.usage.to_dict(),
        }
        if self.evidence is not None:
            body["x_evidence"] = {
                key: {option: [piece.to_dict(decimals) for piece in pieces] for option, pieces in used.items()}
                for key, used in self.evidence.items()
            }
        return body


def softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Probabilities of ``logits / temperature``, in double precision.

    Raises:
        ValueError: no logits, one that is not finite, or a temperature that is not positive.
    """
    values = [float(logit) for logit in logits]
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"logits must be finite and at least one, got {values}")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be positive and finite, got {temperature}")
    peak = max(values)
    weights = [math.exp((value - peak) / temperature) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def answer(question: Question, probabilities: Sequence[float], confidence: Confidence = "typesafe") -> Answer:
    """The typed answer to ``question`` whose options, in request order, have these probabilities.

    The confidence formulas differ by up to 0.2 on one distribution; n options, p of the most probable one:

    - ``typesafe``: choice (n p - 1) / (n - 1); score 1 - E|i - mode| / D, D the spread of a uniform scale
    - ``simpson`` (hosted Cloudflare): (sum of squares - 1/n) / (1 - 1/n)
    - ``top`` (released Clef code): p
    - ``entropy`` (Ollama): 1 - H / ln n

    Raises:
        ValueError: not one probability for each option, or they are no distribution (1e-3 are forgiven).
    """
    keys = [option.key for option in question.options()]
    p = _distribution(probabilities, len(keys))
    named = dict(zip(keys, p, strict=True))
    match question:
        case Noul():
            return NoulAnswer(p[0])
        case Choice():
            formula = _typesafe_choice if confidence == "typesafe" else _FORMULAS[confidence]
            return ChoiceAnswer(keys[_first_maximum(p)], named, _confidence(formula, p))
        case Score():
            formula = _typesafe_score if confidence == "typesafe" else _FORMULAS[confidence]
            score = min(math.fsum(index * share for index, share in enumerate(p)), len(p) - 1.0)
            legend = dict(zip(keys, question.criteria, strict=True))
            return ScoreAnswer(score, legend, named, _confidence(formula, p))


def round_to_one(probabilities: Sequence[float], decimals: int) -> list[float]:
    """Rounds a distribution so that its decimals sum to exactly 1 (largest remainder, earlier options first).

    No value moves by a whole unit, and no two change their order, so the most probable option stays it.

    Raises:
        ValueError: decimals outside 0 to 12.
    """
    if not 0 <= decimals <= MAX_DECIMALS:
        raise ValueError(f"decimals must be 0 to {MAX_DECIMALS}, got {decimals}")
    scale = 10**decimals
    exact = [share * scale for share in probabilities]
    units = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(units)), key=lambda index: units[index] - exact[index])
    for index in by_remainder[: scale - sum(units)]:
        units[index] += 1
    return [unit / scale for unit in units]


def _distribution(probabilities: Sequence[float], count: int) -> list[float]:
    p = [float(share) for share in probabilities]
    total = math.fsum(p)
    if len(p) != count:
        raise ValueError(f"{count} options need {count} probabilities, got {len(p)}")
    if not (min(p) >= 0 and abs(total - 1) <= 1e-3):
        raise ValueError(f"probabilities must be non-negative and sum to 1, got {p} with sum {total}")
    return [share / total for share in p]


def _first_maximum(p: Sequence[float]) -> int:
    return max(range(len(p)), key=p.__getitem__)


def _confidence(formula: Callable[[Sequence[float]], float], p: Sequence[float]) -> float:
    """One option leaves no doubt, whatever the formula; rounding errors may not leave [0, 1]."""
    return 1.0 if len(p) == 1 else min(max(formula(p), 0.0), 1.0)


def _typesafe_choice(p: Sequence[float]) -> float:
    return (len(p) * max(p) - 1) / (len(p) - 1)


def _typesafe_score(p: Sequence[float]) -> float:
    mode = _first_maximum(p)
    deviation = math.fsum(share * abs(index - mode) for index, share in enumerate(p))
    return 1 - deviation / (len(p) ** 2 // 4 / len(p))


def _simpson(p: Sequence[float]) -> float:
    even = 1 / len(p)
    return (math.fsum(share * share for share in p) - even) / (1 - even)


def _entropy(p: Sequence[float]) -> float:
    return 1 + math.fsum(share * math.log(share) for share in p if share > 0) / math.log(len(p))


_FORMULAS: dict[Confidence, Callable[[Sequence[float]], float]] = {
    "simpson": _simpson,
    "top": max,
    "entropy": _entropy,
}


def _rounded(value: float, decimals: int | None) -> float:
    return value if decimals is None else round(value, decimals)


def _rounded_all(probabilities: Mapping[str, float], decimals: int | None) -> dict[str, float]:
    if decimals is None:
        return dict(probabilities)
    return dict(zip(probabilities, round_to_one(list(probabilities.values()), decimals), strict=True))
