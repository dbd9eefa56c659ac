"""Answers, models and suites as a person reads them in a terminal.

Knows answers and the width and alphabet of a terminal; knows nothing of how answers came about. Text that
comes from outside is drawn without its control characters, so that a state cannot steer the terminal.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from omniclef.answers import Answer, ChoiceAnswer, Decision, Evidence, NoulAnswer
from omniclef.records import Question, render

if TYPE_CHECKING:  # they are drawn, not made, here
    from omniclef.evaluation import Suite
    from omniclef.hub import Published
    from omniclef.model import ModelInfo
    from omniclef.server.limits import Limits
    from omniclef.server.usage_report import Group, UsageReport

__all__ = [
    "Heading",
    "Sheet",
    "info_table",
    "key_table",
    "model_table",
    "one_line",
    "print_json",
    "published_table",
    "suite_table",
    "terminal",
    "usage_parts",
]

WIDEST = 100  # columns: longer bars and lines are harder to compare
BAR = 30
QUANTILES = {"median": 0.5, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}
PERCENT = 8  # " 100.0 %"
LINES = 10  # options of one question; the rest of a long list is summed up
PIECES = 3  # of evidence for one answer
QUOTE = 60  # characters of a quoted piece of the state
EIGHTHS = " ▏▎▍▌▋▊▉█"

# C0 and C1 controls, marks that turn the direction of writing, and halves of surrogate pairs.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e0fff]")


def terminal() -> Console:
    """Standard output. Colours only on a terminal, and not with ``NO_COLOR``."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDEST)
    return console


def print_json(value: object) -> None:
    """``value`` on one line, escaped where standard output is not Unicode."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not unicode))


def one_line(text: str) -> str:
    """``text`` on one line and without characters that a terminal would obey."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


@dataclass(frozen=True, slots=True)
class Heading:
    """A rule with a name, and below it what is looked at; an object field by field."""

    name: str
    about: object

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        dash = "-" if options.ascii_only else "─"
        yield Text(f"{dash * 2} {one_line(self.name)} ".ljust(options.max_width, dash), "bold blue")
        fields = self.about.items() if isinstance(self.about, Mapping) else [("", self.about)]
        for key, value in fields:
            line = f"{one_line(key)}: {_prose(value)}" if key else _prose(value)
            yield Text(_shorten(line, 3 * options.max_width), "italic")
        yield ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """All answers of one decision, a block each, and what they cost.

    seconds: from the encoded request to its answers; the first one of a process opens the model's files too.
    """

    decision: Decision
    questions: Mapping[str, Question]
    seconds: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        evidence = self.decision.evidence or {}
        for key, answer in self.decision.answers.items():
            yield from _block(key, self.questions[key], answer, evidence.get(key), options)
            yield ""
        tokens = self.decision.usage.input_tokens
        milliseconds = round(1000 * self.seconds)
        cost = f"{tokens:,} token{'' if tokens == 1 else 's'}, {milliseconds:,} ms"
        yield Text(f"{one_line(self.decision.model)}: {cost}", "dim")


def model_table(models: Sequence[ModelInfo]) -> Table:
    table = _table("model", "reads", "size", "licence")
    for model in models:
        table.add_row(model.name, ", ".join(model.reads), _megabytes(model.size), model.licence)
    return table


def published_table(releases: Sequence[Published]) -> Table:
    table = _table("released", "load with", "reads", "bfloat16", "licence")
    for release in releases:
        size = f"about {release.bfloat16 / 1e9:.0f} GB"
        table.add_row(release.name, release.model, ", ".join(release.reads), size, release.licence)
    return table


def info_table(model: ModelInfo) -> Table:
    table = Table.grid(padding=(0, 2))
    rows = {
        "model": model.name,
        "description": model.description,
        "reads": ", ".join(model.reads),
        "limits": ", ".join(f"{name} {limit:,}" for name, limit in model.limits.items()) or "none stated",
        "size": _megabytes(model.size),
        "licence": model.licence,
        "digest": model.digest,
    }
    if model.memory:
        rows["memory"] = ", ".join(f"{name} {_megabytes(size)}" for name, size in model.memory.items())
    if model.checked:
        rows["tensors"] = model.checked
    if model.families or not model.memory:
        rows["trained on"] = ", ".join(sorted(model.families)) or "nothing"
    for name, value in rows.items():
        table.add_row(Text(name, "bold"), Text(one_line(value)))
    return table


def suite_table(suites: Sequence[Suite]) -> Table:
    table = _table("suite", "cases", "judged by", "data")
    for suite in suites:
        table.add_row(suite.name, f"{suite.size:,}", suite.headline, suite.source.split(",")[0])
    return table


def key_table(keys: Mapping[str, Limits]) -> Table:
    table = _table("key", "requests a minute", "tokens a minute")
    for name, limits in keys.items():
        table.add_row(one_line(name), *("any" if n is None else f"{n:,}" for n in (limits.requests, limits.tokens)))
    return table


def usage_parts(report: UsageReport, window: int | None) -> Iterator[RenderableType]:
    """Tokens and cost by group, how large requests were, and how many are larger than ``window``."""
    table = _table(*report.by, "requests", "refused", "tokens", "text", "image", "audio", "video", "USD")
    for column in table.columns[len(report.by) :]:
        column.justify = "right"
    for name, group in sorted(report.groups.items()):
        table.add_row(*(one_line(each) or "-" for each in name), *_usage(group))
    if len(report.groups) != 1:
        table.add_row("all", *[""] * (len(report.by) - 1), *_usage(report.total), style="bold")
    yield table
    if report.sizes:
        yield ""
        yield Text("Requests by tokens", "bold cyan")
        yield _Sizes(report)
        quantiles = ", ".join(f"{name} {report.quantile(share):,}" for name, share in QUANTILES.items())
        yield Text(f"  tokens of a request: {quantiles}", "dim")
        if window is not None:
            share = f"{report.beyond(window):.2%}".replace("%", " %")
            yield Text(f"  {share} of {report.sizes.total():,} requests exceed {window:,} tokens", "bold")
    if report.unreadable:
        yield Text(f"  {report.unreadable:,} line{'' if report.unreadable == 1 else 's'} could not be read", "dim")


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A bar for each bin of sizes."""

    report: UsageReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bins, total = self.report.bins(), self.report.sizes.total()
        wide, most = len(f"{bins[-1][1]:,}"), max(n for _, _, n in bins)
        dash = "-" if options.ascii_only else "–"
        for low, high, n in bins:
            line = Text(f"  {low:>{wide},} {dash} {high:>{wide},} ", no_wrap=True)
            line.append(_bar(n / most, BAR, options.ascii_only), "blue")
            line.append(f" {n / total:.1%}".replace("%", " %").rjust(PERCENT) + f"  {n:,}")
            yield line


def _usage(group: Group) -> Iterator[str]:
    yield from (f"{group.requests:,}", f"{group.refused:,}", f"{group.tokens.total():,}")
    yield from (f"{group.tokens[name]:,}" for name in ("text", "image", "audio", "video"))
    yield f"{group.cost / 1e12:,.6f}"


def _block(
    key: str,
    question: Question,
    answer: Answer,
    evidence: Mapping[str, Sequence[Evidence]] | None,
    options: ConsoleOptions,
) -> Iterator[RenderableType]:
    title = Text(one_line(key), "bold cyan")
    if question.instructions is not None:
        title.append(f"  {_shorten(_prose(question.instructions), 300)}", "not bold default")
    yield title
    shares, winner = _shares(question, answer)
    yield from _bars(shares, winner, options)
    summary = _summary(answer)
    if summary:
        yield Text(f"  {summary}", "" if isinstance(answer, ChoiceAnswer) else "bold")
    # Options and shares have one order, so the winner's place tells its key on the wire.
    for piece in (evidence or {}).get(question.options()[winner].key, ())[:PIECES]:
        yield Text(f"  looked at {_piece(piece)}", "dim")


def _shares(question: Question, answer: Answer) -> tuple[list[tuple[str, float]], int]:
    """Names and probabilities as they are drawn, and the place of the answer among them."""
    if isinstance(answer, NoulAnswer):
        shares = [("yes", answer.noul), ("no", 1 - answer.noul)]
    elif isinstance(answer, ChoiceAnswer):
        shares = list(answer.probabilities.items())
    else:
        shares = [(f"{i} {_prose(answer.legend[i])}", p) for i, p in answer.probabilities.items()]
    return shares, max(range(len(shares)), key=lambda place: shares[place][1])


def _bars(shares: Sequence[tuple[str, float]], winner: int, options: ConsoleOptions) -> Iterator[Text]:
    places = range(len(shares))
    if len(shares) > LINES:
        places_shown = sorted(places, key=lambda place: -shares[place][1])[: LINES - 1]
    else:
        places_shown = list(places)
    names = {place: one_line(shares[place][0]) for place in places_shown}
    room = options.max_width - PERCENT - 3
    wide = max(1, min(max(map(cell_len, names.values())), room - room // 3))
    bar = max(1, min(BAR, room - wide - 1))
    marker = ">" if options.ascii_only else "❯"
    for place in places_shown:
        share, best = shares[place][1], place == winner
        line = Text(f"{marker if best else ' '} ", "bold" if best else "", no_wrap=True)
        line.append(_fit(names[place], wide, options.ascii_only) + " ")
        line.append(_bar(share, bar, options.ascii_only), "green" if best else "blue")
        line.append(f" {share:.1%}".replace("%", " %").rjust(PERCENT))
        yield line
    rest = [shares[place][1] for place in places if place not in names]
    if rest:
        yield Text(f"  and {len(rest)} more with {sum(rest):.1%}".replace("%", " %") + " together", "dim")


def _bar(share: float, width: int, ascii_only: bool) -> str:
    """``share`` of ``width`` cells filled, to an eighth of a cell where the alphabet has one."""
    if ascii_only:
        return ("#" * round(share * width)).ljust(width)
    whole, part = divmod(round(share * width * 8), 8)
    return ("█" * whole + EIGHTHS[part].strip()).ljust(width)


def _summary(answer: Answer) -> str:
    if isinstance(answer, NoulAnswer):
        return ""
    confidence = f"confidence {answer.confidence:.2f}"
    if isinstance(answer, ChoiceAnswer):
        return confidence
    return f"score {answer.score:.2f} of 0 to {len(answer.legend) - 1}, {confidence}"


def _piece(piece: Evidence) -> str:
    """``"charged twice" in /ticket/body (41 %)``, ``image 1, x 0-50 %, y 33-66 % (12 %)``, ``audio 1, 2.0-3.5 s
    (8 %)``."""
    if piece.text is not None:
        where = f'"{_shorten(one_line(piece.text), QUOTE)}"'
        if piece.path is not None:
            where += f" in {_shorten(one_line(piece.path), QUOTE)}"
    elif piece.modality == "image" and len(piece.span) == 4:
        left, top, right, bottom = (round(100 * edge) for edge in piece.span)
        where = f"image {piece.index + 1}, x {left}-{right} %, y {top}-{bottom} %"
    elif len(piece.span) == 2:
        start, stop = piece.span
        where = f"{piece.modality} {piece.index + 1}, {start:.1f}-{stop:.1f} s"
    else:
        where = f"{piece.modality} {piece.index + 1}"
    return f"{where} ({piece.weight:.0%})".replace("%)", " %)")


def _prose(value: object) -> str:
    return one_line(render(value))


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _fit(text: str, width: int, ascii_only: bool) -> str:
    """``text`` in exactly ``width`` cells."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    dots = "." if ascii_only else "…"
    return set_cell_size(text, width - 1) + dots


def _table(*columns: str) -> Table:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        column.overflow = "fold"
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
