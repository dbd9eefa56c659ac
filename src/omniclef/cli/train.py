"""``omniclef train``: a model from a recipe."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from omniclef import InvalidInput, MissingExtra

__all__ = ["train"]

NEEDED = ("torch", "onnx", "yaml")


def train(
    config: Annotated[Path, typer.Argument(metavar="RECIPE", help="A YAML file, as recipes/nano.yaml.")],
) -> None:
    """Train a model as a recipe says, continuing where an earlier run of it stopped.

    The recipe names data, seed, steps and the folder of the result. Needs the extra 'torch'.
    """
    if not all(find_spec(name) for name in NEEDED):
        raise MissingExtra("training", "torch")
    if not config.is_file():
        raise InvalidInput("RECIPE", f"'{config}' is not a file", "name a YAML file, as recipes/nano.yaml")
    from omniclef.training import run  # torch is optional, and takes seconds to import

    run(config)
