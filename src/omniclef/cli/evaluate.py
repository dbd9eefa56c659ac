"""``omniclef eval``: what a model is worth on labelled suites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from omniclef import InvalidInput, load
from omniclef.console import print_json, suite_table, terminal
from omniclef.release import Precision

__all__ = ["evaluate"]


def evaluate(
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE...", help="Names of suites, or all.", show_default=False),
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME|FOLDER", help="Who answers.")] = "nano",
    precision: Annotated[
        Precision | None, typer.Option(help="Of a release's weights; its default if not given.")
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda|cuda:N|mps", help="Where a release computes.")
    ] = "cpu",
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the data files are; the cache if not given.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="A fixed sample of N cases a suite.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the answers of a run that was stopped.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also write tables and reliability diagrams there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every figure as JSON.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the suites and stop.")] = False,
) -> None:
    """Measure accuracy, macro-F1, NLL, Brier and ECE on official test splits.

    Without --data, files that their publisher offers for download are fetched once, checked and kept; for the
    others, and without a network, the error says which file to put where. Unanswered cases count as wrong.
    """
    from omniclef import evaluation  # a third of the program's start, for this verb alone

    if listed:
        terminal().print(suite_table([evaluation.get_suite(name) for name in evaluation.suite_names()]))
        return
    if not suites:
        raise InvalidInput("suite", "none is named", "name some, or all; --list shows them")
    if data is not None and not data.is_dir():
        raise InvalidInput("--data", f"'{data}' is not a folder", "name the folder that has the data files")
    names = evaluation.suite_names() if suites == ["all"] else suites
    answering = load(model, precision=precision, device=device)
    results = evaluation.evaluate(
        answering, names, data, limit=limit, resume=resume, console=Console(stderr=True)
    )
    if report is not None:
        evaluation.write_report(results, report)
    if as_json:
        print_json(evaluation.results_dict(results))
    else:
        terminal().print(evaluation.results_table(results))
