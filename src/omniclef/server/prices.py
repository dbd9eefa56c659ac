"""What input tokens cost: a table by model, exact to the last digit.

Knows models' names and counts of tokens. Money is whole picodollars (1e-12 USD), so that sums have no drift: one
token at 1 USD per million is 1,000,000 picodollars, and a price may have six decimals.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from omniclef.backbones.base import TokenCount
from omniclef.errors import InvalidInput

__all__ = ["PUBLISHED", "Price", "Prices", "dollars"]

PICO = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Picodollars for one input token, by modality. Output is free everywhere."""

    text: int = 0
    image: int = 0
    audio: int = 0
    video: int = 0

    @classmethod
    def per_million(cls, dollars: Decimal) -> Price:
        """The same for every modality: USD for a million tokens."""
        return cls(*[_picodollars(dollars)] * 4)

    def cost(self, tokens: TokenCount) -> int:
        """Picodollars."""
        return sum(getattr(self, field.name) * getattr(tokens, field.name) for field in fields(self))

    def dollars_per_million(self) -> dict[str, Decimal]:
        """USD for a million tokens, by modality."""
        return {field.name: Decimal(getattr(self, field.name)) / 1_000_000 for field in fields(self)}


def dollars(picodollars: int) -> Decimal:
    """USD, exact."""
    return Decimal(picodollars).scaleb(-12)


def _picodollars(dollars: Decimal) -> int:
    """Picodollars a token for USD a million tokens; raises ValueError where that is no whole number of them."""
    price = dollars * 1_000_000
    if not price.is_finite() or price < 0 or price != price.to_integral_value():
        raise ValueError(dollars)
    return int(price)


PUBLISHED: Mapping[str, Price] = {
    "nano": Price(),
    "clef": Price.per_million(Decimal("0.24")),
    "clef-flash": Price.per_million(Decimal("0.038")),
    "clef-omni": Price.per_million(Decimal("0.15")),
    "jev": Price.per_million(Decimal("0.042")),
}
"""What the models' publishers ask on their own servers, October 2026; the embedded model is free."""


class Prices:
    """Prices by model; a model without one is free.

    Args:
        table: takes the place of, or is added to, those of ``PUBLISHED``.
    """

    def __init__(self, table: Mapping[str, Price] | None = None) -> None:
        self._table = {**PUBLISHED, **(table or {})}

    @classmethod
    def read(cls, path: Path) -> Prices:
        """Prices of a file, JSON or (named ``.toml``) TOML: USD for a million tokens, ``{"mine": 0.1}`` for every
        modality or ``{"mine": {"text": 0.1, "video": 0.05}}``, where those not named cost as much as text.

        Raises:
            InvalidInput: the file is no such table.
        """
        try:
            content = path.read_text("utf-8")
            toml = path.suffix.lower() == ".toml"
            table = tomllib.loads(content, parse_float=Decimal) if toml else json.loads(content, parse_float=Decimal)
        except ValueError as error:
            raise InvalidInput(str(path), f"is not a table of prices: {error}", "write JSON or TOML") from None
        if not isinstance(table, dict):
            raise InvalidInput(str(path), "is not a table of prices", 'write {"MODEL": USD_PER_MILLION}')
        return cls({model: _price(f"{path}: {model}", value) for model, value in table.items()})

    def of(self, model: str) -> Price:
        return self._table.get(model, Price())

    def cost(self, model: str, tokens: TokenCount) -> int:
        """Picodollars."""
        return self.of(model).cost(tokens)


def _price(field: str, value: Any) -> Price:
    modalities = [each.name for each in fields(Price)]
    named = value if isinstance(value, dict) else {"text": value}
    strange = set(named) - set(modalities)
    if strange or "text" not in named:
        what = f"has {sorted(strange)[0]!r}" if strange else "lacks text"
        raise InvalidInput(field, what, "name text, and where they differ image, audio and video")
    for each in named.values():
        if isinstance(each, bool) or not isinstance(each, int | Decimal):
            raise InvalidInput(field, f"{each!r} is not a price", "write USD per million tokens, as 0.15")
    try:
        prices = {name: _picodollars(Decimal(each)) for name, each in named.items()}
    except ValueError as error:
        remedy = "write USD per million tokens, 0 or more, with six decimals at most"
        raise InvalidInput(field, f"{error} is not a price", remedy) from None
    return Price(**{name: prices.get(name, prices["text"]) for name in modalities})
