"""``omniclef models`` and ``omniclef info``: who can answer, and what they read."""

from __future__ import annotations

from typing import Annotated

import typer

from omniclef import load
from omniclef.console import info_table, model_table, terminal
from omniclef.model import embedded

__all__ = ["info", "models"]


def models() -> None:
    """List the models that come with the package: what they read, their size and licence."""
    terminal().print(model_table([load(name).info for name in embedded()]))


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="An embedded model's name, or a folder.")],
) -> None:
    """Tell what a model is: what it reads, its limits, its digest, and the data it was trained on."""
    terminal().print(info_table(load(model).info))
