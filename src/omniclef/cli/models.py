"""``omniclef models`` and ``omniclef info``: who can answer, and what they read."""

from __future__ import annotations

from typing import Annotated

import typer

from omniclef import load
from omniclef.console import info_table, model_table, published_table, terminal
from omniclef.hub import PUBLISHED
from omniclef.model import describe, embedded

__all__ = ["info", "models"]


def models() -> None:
    """List the models that come with the package, then the published ones that it can run with the extra [torch].

    Of the latter, sizes are round figures of the weights in bfloat16; int8 takes somewhat more than half.
    """
    screen = terminal()
    screen.print(model_table([load(name).info for name in embedded()]))
    screen.print()
    screen.print(published_table(PUBLISHED))


def info(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="An embedded model's name, a folder, or owner/name@revision.")
    ],
) -> None:
    """Tell what a model is: what it reads, its limits, licence and digest, and what it was trained on or needs.

    The weights of a release are not loaded: its tensors are compared with its configuration by name and shape, and the
    memory they would need is told for each precision.
    """
    terminal().print(info_table(describe(model)))
