"""What usage logs tell: tokens and cost by key, model, route or day, and how large requests are.

Reads files line by line, however large; knows nothing of how a log is written but its lines and its rotated files.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

from omniclef.errors import InvalidInput
from omniclef.server.prices import dollars
from omniclef.server.usage import MODALITIES, rotated

__all__ = ["By", "Group", "UsageReport", "moment", "read_usage", "report_dict", "sizes_svg"]

FIRST = 64  # tokens: upper end of the first bin of sizes; each next one ends at twice as many


class By(StrEnum):
    """What makes a group of requests."""

    KEY = "key"
    MODEL = "model"
    ROUTE = "route"
    DAY = "day"


@dataclass(slots=True)
class Group:
    """requests: all of them. refused: those with a status of 400 or more. tokens: of the others, by modality. cost: in
    picodollars."""

    requests: int = 0
    refused: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    cost: int = 0

    def add(self, status: int, tokens: dict[str, int], cost: int) -> None:
        self.requests += 1
        self.cost += cost
        if status >= 400:
            self.refused += 1
        else:
            self.tokens.update(tokens)


@dataclass(slots=True)
class UsageReport:
    """Attributes:
    by: what the groups' names tell, in order.
    groups: by those.
    total: all groups together.
    sizes: how many requests had a longest prompt of so many tokens; those that were not counted are left out.
    unreadable: lines that are no usage, as the last one of a process that was killed may be.
    """

    by: tuple[By, ...]
    groups: dict[tuple[str, ...], Group] = field(default_factory=dict)
    total: Group = field(default_factory=Group)
    sizes: Counter[int] = field(default_factory=Counter)
    unreadable: int = 0

    def beyond(self, window: int) -> float:
        """Share of the requests of known size that have more than ``window`` tokens; 0 where there are none."""
        counted = self.sizes.total()
        return sum(n for size, n in self.sizes.items() if size > window) / counted if counted else 0.0

    def quantile(self, share: float) -> int:
        """The smallest size that at least ``share`` of the requests do not exceed; 0 where there are none."""
        least, seen = share * self.sizes.total(), 0
        for size in sorted(self.sizes):
            seen += self.sizes[size]
            if seen >= least:
                return size
        return 0

    def bins(self) -> list[tuple[int, int, int]]:
        """Least size, largest size and requests of each bin, from the first with any to the last with any."""
        counts: Counter[int] = Counter()
        for size, n in self.sizes.items():
            counts[_end(size)] += n
        ends, end = [], min(counts, default=1)
        while counts and end <= max(counts):
            ends.append(end)
            end *= 2
        return [(0 if end == FIRST else end // 2 + 1, end, counts[end]) for end in ends]


def read_usage(
    logs: Sequence[Path], by: Sequence[By] = (By.KEY, By.MODEL), since: str | None = None, until: str | None = None
) -> UsageReport:
    """Reads logs with their rotated files.

    Args:
        logs: files; rotated ones of a log need not be named, and count once if they are.
        by: what makes a group.
        since, until: moments as lines have them, see `moment`; ``until`` is the first one that is left out.

    Raises:
        OSError: a file cannot be read.
    """
    report = UsageReport(tuple(by))
    for line in _lines(logs):
        try:
            usage = json.loads(line)
            time, status, cost = usage["time"], usage["status"], usage["cost_picodollars"]
            tokens = usage.get("tokens")
            name = tuple(time[:10] if each is By.DAY else usage["tenant" if each is By.KEY else each] for each in by)
            size = usage.get("longest", sum(tokens.values()) if tokens is not None else None)
            numbers, texts = (status, cost, size or 0), (time, *name)
            strange = not (all(isinstance(n, int) for n in numbers) and all(isinstance(t, str) for t in texts))
        except (ValueError, KeyError, TypeError, AttributeError):
            strange = True
        if strange:
            report.unreadable += 1
            continue
        if (since is not None and time < since) or (until is not None and time >= until):
            continue
        group = report.groups.get(name)
        if group is None:
            group = report.groups[name] = Group()
        group.add(status, tokens or {}, cost)
        if size is not None:
            report.sizes[size] += 1
    for group in report.groups.values():
        report.total.requests += group.requests
        report.total.refused += group.refused
        report.total.tokens.update(group.tokens)
        report.total.cost += group.cost
    return report


def moment(option: str, text: str) -> str:
    """A date or a time of ISO 8601, UTC unless it says otherwise, as lines have it: those can be compared as text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        remedy = "write it as 2026-12-01 or 2026-12-01T08:30:00Z"
        raise InvalidInput(option, f"{text!r} is not a date or time", remedy) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return time.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def report_dict(report: UsageReport, window: int | None) -> dict[str, Any]:
    """As JSON; costs are text, exact to the last digit."""
    value: dict[str, Any] = {
        "groups": [
            {**dict(zip(map(str, report.by), name, strict=True)), **_group(group)}
            for name, group in sorted(report.groups.items())
        ],
        "total": _group(report.total),
        "sizes": {
            "counted": report.sizes.total(),
            **{f"p{percent}": report.quantile(percent / 100) for percent in (50, 95, 99, 100)},
            "bins": [{"from": low, "to": high, "requests": n} for low, high, n in report.bins()],
        },
        "unreadable_lines": report.unreadable,
    }
    if window is not None:
        value["window"] = {"tokens": window, "share_beyond": report.beyond(window)}
    return value


def sizes_svg(report: UsageReport, window: int | None) -> str:
    """The histogram of sizes; bins that lie beyond the window are red, the one that holds it is orange."""
    bins = report.bins()
    wide, tall, left, top = 64, 200, 20, 40
    width, height = 2 * left + wide * max(len(bins), 5), top + tall + 60
    most = max((n for _, _, n in bins), default=1)
    title = f"{report.sizes.total():,} requests by tokens"
    if window is not None:
        title += f"; {100 * report.beyond(window):.2f} % beyond {window:,}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="11" role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{left}" y="18" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    for place, (low, high, n) in enumerate(bins):
        x, bar = left + wide * place, round(tall * n / most, 1)
        colour = "#4477aa" if window is None or high <= window else "#cc3311" if low > window else "#ee9933"
        parts += [
            f'<rect class="bin" x="{x + 2}" y="{round(top + tall - bar, 1)}" width="{wide - 4}" height="{bar}"'
            f' fill="{colour}"><title>{n:,} requests of {low:,} to {high:,} tokens</title></rect>',
            f'<text x="{x + wide // 2}" y="{top + tall + 15}" text-anchor="middle">{high:,}</text>',
            f'<text x="{x + wide // 2}" y="{top + tall + 30}" text-anchor="middle" fill="#555555">{n:,}</text>',
        ]
    parts += [f'<text x="{left}" y="{height - 10}">tokens at most, and requests</text>', "</svg>"]
    return "\n".join(parts) + "\n"


def _lines(logs: Iterable[Path]) -> Iterator[bytes]:
    """All lines of the logs, each file once, the oldest of a log first."""
    seen: set[tuple[int, int]] = set()
    with ExitStack() as stack:
        for log in logs:
            # The log is opened before its rotated files are listed: one that is rotated between is in both, not in
            # neither.
            current = [log] if log.exists() or not rotated(log) else []  # none was begun after a rotation
            files = [stack.enter_context(path.open("rb")) for path in current]
            for file in [*(stack.enter_context(path.open("rb")) for path in rotated(log)), *files]:
                about = os.fstat(file.fileno())
                if (about.st_dev, about.st_ino) not in seen:
                    seen.add((about.st_dev, about.st_ino))
                    yield from file


def _end(size: int) -> int:
    """Upper end of the bin of ``size``."""
    return max(FIRST, 1 << max(0, size - 1).bit_length())


def _group(group: Group) -> dict[str, Any]:
    tokens = {name: group.tokens[name] for name in MODALITIES}
    return {
        "requests": group.requests,
        "refused": group.refused,
        "tokens": tokens,
        "input_tokens": sum(tokens.values()),
        "cost_usd": f"{dollars(group.cost):f}",
    }
