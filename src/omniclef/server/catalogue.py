"""Models by the names that clients know them by, and the list of them in the shapes that clients read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omniclef.errors import ModelNotFound
from omniclef.model import ModelInfo
from omniclef.server.prices import Prices

__all__ = ["ALIASES", "Catalogue"]

ALIASES = (
    "jev-latest",
    "jev-preview",
    "jev-1.13",
    "jev-1.13.0",
    "jev-1.14",
    "jev-1.14.0",
    "jev",
    "clef",
    "clef-flash",
    "clef-omni",
    "gpt-6-luna",
)
"""Names that clients have built in; each means the first model unless a model has that name itself."""

VENDORS = ("@cf/cloudflare/", "cloudflare/", "typesafe/", "~typesafe/", "openai/", "@cf/omniclef/", "omniclef/")


class Catalogue:
    """The models of a server.

    Args:
        names: of its models, as the engine calls them; the first answers to every name that clients have built in.
        models: those that answer at the moment, asked for each list.
        aliases: further names.
        prices: of input tokens.
    """

    def __init__(
        self,
        names: Sequence[str],
        models: Callable[[], Mapping[str, ModelInfo]],
        aliases: Mapping[str, str] | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.names = tuple(names)
        self.prices = prices or Prices()
        self._models = models
        self._known = {alias: self.names[0] for alias in ALIASES} | dict(aliases or {}) | {name: name for name in names}

    def resolve(self, name: str) -> str:
        """The engine's name of a model, with or without a vendor before it.

        Raises:
            ModelNotFound: nothing is served by that name.
        """
        known = self._known.get(name) or self._known.get(self.selector(name))
        if known is None:
            shown = name if len(name) <= 80 else name[:80] + "..."
            raise ModelNotFound(f"Unknown model: {shown}")
        return known

    def selector(self, name: str) -> str:
        """``name`` without a known vendor before it."""
        vendor = next((vendor for vendor in VENDORS if name.startswith(vendor)), "")
        return name[len(vendor) :]

    def pattern(self) -> str:
        """A regular expression of every name that is known."""
        vendors, names = (("|".join(map(_escaped, each))) for each in (VENDORS, sorted(self._known)))
        return f"^({vendors})?({names})$"

    def listing(self) -> dict[str, Any]:
        """Models under ``models`` as the System One clients read them, and under ``data`` as the others do."""
        models = self._models()
        return {
            "models": [self._model(name, models[name]) for name in self.names if name in models],
            "object": "list",
            "data": [self._entry(name, models[name]) for name in self.names if name in models],
        }

    def _model(self, name: str, info: ModelInfo) -> dict[str, Any]:
        return {
            "name": name,
            "description": info.description,
            "release_date": "",  # no model of ours says when it was released
            "x_modalities": list(info.reads),
            "x_limits": dict(info.limits),
            "x_window": self._window(info),
            "x_price": self._price(name),
            "x_digest": info.digest,
            "x_licence": info.licence,
            "x_aliases": sorted(alias for alias, model in self._known.items() if model == name != alias),
        }

    def _entry(self, name: str, info: ModelInfo) -> dict[str, Any]:
        return {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "omniclef",
            "name": name,
            "description": info.description,
            "context_length": self._window(info),
            "architecture": {"input_modalities": list(info.reads), "output_modalities": ["decisions"]},
            "pricing": {"prompt": format(self.prices.of(name).dollars_per_million()["text"] / 1_000_000, "f")},
        }

    def _window(self, info: ModelInfo) -> int | None:
        return info.limits.get("tokens") or info.limits.get("state_tokens")

    def _price(self, name: str) -> dict[str, float]:
        """USD for a million input tokens, by modality."""
        return {modality: float(price) for modality, price in self.prices.of(name).dollars_per_million().items()}


def _escaped(name: str) -> str:
    """As a regular expression of any dialect: only what has a meaning in all of them is escaped."""
    return re.sub(r"([.+*?^$()\[\]{}|\\])", r"\\\1", name)
