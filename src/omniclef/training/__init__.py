"""Training: recipes, corpora, losses and the loop. Everything here but this door needs the extra [torch]."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from omniclef.errors import InvalidInput, MissingExtra

__all__ = ["run"]


def run(recipe: Path, console: Console | None = None) -> Path:
    """Runs a recipe file (YAML) and returns the folder of the model it made. Run again, it goes on where it was.

    Raises:
        MissingExtra: torch or another part of the extra [torch] is not installed.
        InvalidInput: the recipe cannot be read, or says something unknown.
    """
    for module in ("torch", "onnx", "yaml", "transformers"):
        if find_spec(module) is None:
            raise MissingExtra(f"training (it imports {module})", "torch")
    import yaml

    from omniclef.training.nano import Recipe, make

    try:
        values = yaml.safe_load(recipe.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).replace("\n", " ")
        raise InvalidInput("recipe", f"{recipe} cannot be read ({reason})", "name a YAML file") from error
    if not isinstance(values, dict) or values.get("kind") != "nano":
        raise InvalidInput("recipe.kind", f"is not one that this version knows in {recipe}", "use kind: nano")
    return make(Recipe.from_dict(values, recipe.resolve().parent), console or Console(stderr=True))
