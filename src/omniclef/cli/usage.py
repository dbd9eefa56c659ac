"""``omniclef usage``: what a server's usage log tells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omniclef.console import print_json, terminal, usage_parts
from omniclef.server.usage_report import By, moment, read_usage, report_dict, sizes_svg

__all__ = ["usage"]


def usage(
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="LOG...", help="Usage logs; usage.jsonl if not given.", show_default=False),
    ] = None,
    by: Annotated[
        list[By] | None,
        typer.Option(help="What makes a row; may be given twice. Key and model if not given.", show_default=False),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Leave out what is older.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Leave out this moment and later.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="Tell what share of requests is larger.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the histogram of sizes there, as SVG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every figure as JSON.")] = False,
) -> None:
    """Tell tokens, cost and sizes of the requests in a server's usage log.

    Rotated files of a log are read too. Times are dates or ISO 8601, in UTC unless they say otherwise. Refused
    requests count, but have no tokens or cost; sizes are those of all requests whose tokens were counted, also of
    those that were too long. Where one request asks about many states, its size is that of the longest.
    """
    report = read_usage(
        logs or [Path("usage.jsonl")],
        tuple(by or (By.KEY, By.MODEL)),
        moment("--since", since) if since is not None else None,
        moment("--until", until) if until is not None else None,
    )
    if plot is not None:
        plot.write_text(sizes_svg(report, window), "utf-8")
    if as_json:
        print_json(report_dict(report, window))
    else:
        screen = terminal()
        for part in usage_parts(report, window):
            screen.print(part)
