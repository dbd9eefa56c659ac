"""Prices: exact, by modality, from files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from omniclef.backbones.base import TokenCount
from omniclef.errors import InvalidInput
from omniclef.server.prices import PUBLISHED, Price, Prices, dollars

MILLION = TokenCount(text=1_000_000)


@pytest.mark.parametrize(
    ("model", "usd"),
    [("nano", "0"), ("clef", "0.24"), ("clef-flash", "0.038"), ("clef-omni", "0.15"), ("jev", "0.042"), ("mine", "0")],
)
def test_a_million_tokens_cost_what_is_published(model: str, usd: str) -> None:
    prices = Prices()
    assert dollars(prices.cost(model, MILLION)) == Decimal(usd)
    assert prices.of(model).dollars_per_million() == dict.fromkeys(("text", "image", "audio", "video"), Decimal(usd))


def test_sums_of_small_costs_do_not_drift() -> None:
    one = Prices().cost("clef-flash", TokenCount(text=1))
    assert one == 38_000
    assert sum(one for _ in range(1_000_000)) == Prices().cost("clef-flash", MILLION)
    assert sum([0.038 / 1e6] * 1_000_000) != 0.038  # what is avoided


def test_every_modality_counts() -> None:
    tokens = TokenCount(text=1, image=20, audio=300, video=4000)
    assert PUBLISHED["clef-omni"].cost(tokens) == 4321 * 150_000
    assert Price(text=1, image=2, audio=3, video=5).cost(tokens) == 1 + 40 + 900 + 20_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.json", '{"mine": {"text": 0.1, "video": 0.0375}, "clef": 1}'),
        ("p.toml", "clef = 1\n[mine]\ntext = 0.1\nvideo = 0.0375\n"),
    ],
)
def test_a_file_adds_and_overrides(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    prices = Prices.read(tmp_path / name)
    assert prices.of("mine") == Price(text=100_000, image=100_000, audio=100_000, video=37_500)
    assert prices.of("clef") == Price.per_million(Decimal(1))
    assert prices.of("jev") == PUBLISHED["jev"]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"m": -1}',
        '{"m": "0.1"}',
        '{"m": true}',
        '{"m": NaN}',
        '{"m": Infinity}',
        '{"m": 0.0000001}',
        '{"m": {"image": 1}}',
        '{"m": {"text": 1, "smell": 1}}',
        '{"m": null}',
    ],
)
def test_what_is_no_price_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"p\.json") as error:
        Prices.read(path)
    assert error.value.remedy
    assert "\n" not in str(error.value)
