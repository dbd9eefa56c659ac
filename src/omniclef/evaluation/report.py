"""Results for people and for programs: a terminal table, JSON, Markdown and diagrams.

Knows results and where they were measured; knows nothing of models or how answers came about.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from omniclef import __version__
from omniclef.evaluation.diagram import reliability_svg
from omniclef.evaluation.metrics import Measures
from omniclef.evaluation.run import SuiteResult

__all__ = ["environment", "results_dict", "results_markdown", "results_table", "write_report"]

_DEPENDENCIES = ("numpy", "onnxruntime")
_COLUMNS = ("suite", "cases", "accuracy", "macro-F1", "NLL", "Brier", "ECE", "seen in training")


def environment() -> dict[str, Any]:
    """The machine and the versions that figures were measured with."""
    versions = {name: metadata.version(name) for name in _DEPENDENCIES}
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "versions": {"omniclef": __version__, "python": platform.python_version(), **versions},
    }


def results_dict(results: Sequence[SuiteResult]) -> dict[str, Any]:
    """What ``--json`` prints and ``results.json`` holds."""
    return {"environment": environment(), "results": [result.to_dict() for result in results]}


def results_table(results: Sequence[SuiteResult]) -> Table:
    """One line a suite; the headline figure of each in bold, parts of a suite below it."""
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(_COLUMNS):
        table.add_column(name, overflow="fold", no_wrap=0 < index < len(_COLUMNS) - 1)
    for result in results:
        cells = _cells(result)
        bold = 3 if result.headline == "macro_f1" else 2
        # Not as markup: the terminal that prints answers takes none.
        table.add_row(*(Text(cell, "bold" if i == bold else "") for i, cell in enumerate(cells)))
        for name, part in _parts(result):
            table.add_row(f"  {name}", str(part.n), *_figures(part), "", style="dim")
    return table


def results_markdown(results: Sequence[SuiteResult]) -> str:
    """``results.md``: the table, what it was measured with, and what the columns mean."""
    lines = ["# Evaluation", ""]
    for name, digest in sorted({(r.model, r.digest) for r in results}):
        lines.append(f"Model `{name}`, digest `{digest}`.")
    where = environment()
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines += [f"{where['cpu']}, {where['cores']} cores, {where['system']}; {versions}.", ""]
    lines += [_line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
    for result in results:
        lines.append(_line(_cells(result)))
        for name, part in _parts(result):
            lines.append(_line([f"&nbsp;&nbsp;{name}", str(part.n), *_figures(part), ""]))
    lines += [
        "",
        "Macro-F1 is the mean over the labels that occur in the test split. NLL is in nats. Brier is the sum"
        " over options (0 to 2). ECE has 15 equal-width bins of the top probability."
        " Unanswered cases count as wrong.",
        "",
    ]
    for result in results:
        lines.append(f"- `{result.suite}`, {result.date}: {_note(result)}")
        lines += [f"  - {error}" for error in result.errors]
    lines += ["", *(f"![{result.suite}]({result.suite}.svg)" for result in results if _answered(result))]
    return "\n".join(lines) + "\n"


def write_report(results: Sequence[SuiteResult], folder: Path) -> list[Path]:
    """Writes results.json, results.md and a reliability diagram per suite into ``folder``; returns their
    paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "results.json": json.dumps(results_dict(results), ensure_ascii=False, indent=2) + "\n",
        "results.md": results_markdown(results),
    }
    for result in filter(_answered, results):
        subtitle = f"{result.model}, ECE {_figure(result.measures.ece)}, {result.n} cases"
        texts[f"{result.suite}.svg"] = reliability_svg(result.reliability, result.suite, subtitle)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _answered(result: SuiteResult) -> bool:
    return result.unanswered < result.n


def _parts(result: SuiteResult) -> list[tuple[str, Measures]]:
    """Groups of a suite, then its questions where there are several."""
    questions = list(result.questions.items()) if len(result.questions) > 1 else []
    return [*result.groups.items(), *questions]


def _cells(result: SuiteResult) -> list[str]:
    cases = str(result.n) if result.full else f"{result.n} of {result.total}"
    seen = "unknown" if result.seen is None else "yes" if result.seen else "no"
    return [result.suite, cases, *_figures(result.measures), seen]


def _figures(m: Measures) -> list[str]:
    return [_figure(m.accuracy), _figure(m.macro_f1), _figure(m.nll), _figure(m.brier), _figure(m.ece)]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _note(result: SuiteResult) -> str:
    notes = [] if result.full else [f"a subsample of {result.n} of {result.total} cases, seed {result.seed}"]
    notes.append(f"{result.unanswered} unanswered")
    if len(result.questions) > 1:
        notes.append(f"every question right in {result.exact:.3f}")
    if result.measures.mae is not None:
        notes.append(f"mean absolute error of the expectation {result.measures.mae:.3f} levels")
    if result.cases_per_second is not None:
        notes.append(f"{result.cases_per_second:.1f} cases a second")
    return ", ".join(notes)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _processor() -> str:
    listing = Path("/proc/cpuinfo")  # platform.processor() is empty on Linux
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
