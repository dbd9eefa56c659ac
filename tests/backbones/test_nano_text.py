"""The text tower on the model's own weights: windows, stitching, the cache."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef.backbones.nano.assets import Assets
from omniclef.backbones.nano.cache import Cache
from omniclef.backbones.nano.text import OVERLAP, WINDOW, TextTower, _stitch, spans
from omniclef.model import embedded


@pytest.fixture(scope="module")
def tower() -> TextTower:
    return Assets(embedded()["nano"], threads=1).text


@settings(deadline=None)
@given(st.integers(0, 70_000))
def test_windows_cover_every_token_and_none_is_too_long(length):
    windows = spans(length)
    assert windows[0][0] == 0
    assert windows[-1][1] == length
    assert all(0 <= stop - start <= WINDOW for start, stop in windows)
    assert all(before[1] - after[0] == OVERLAP for before, after in pairwise(windows))


@settings(deadline=None)
@given(st.integers(0, 3_000))
def test_stitching_gives_every_token_one_row_its_own(length):
    marked = [
        (start, np.concatenate([[-1.0], np.arange(start, stop), [-2.0]], dtype=np.float32)[:, None])
        for start, stop in spans(length)
    ]
    assert _stitch(marked, length)[:, 0].tolist() == list(range(length))


def test_where_windows_overlap_a_row_comes_from_the_window_it_lies_deeper_in():
    (first, second) = spans(WINDOW + 50)
    parts = [(start, np.full((stop - start + 2, 1), n, np.float32)) for n, (start, stop) in enumerate([first, second])]
    middle = second[0] + OVERLAP // 2
    assert _stitch(parts, WINDOW + 50)[:, 0].tolist() == [0.0] * middle + [1.0] * (WINDOW + 50 - middle)


def test_shapes_and_spans(tower):
    text = "The card-reader's display is unreadable."
    read = tower.encode([text])[text]
    tokens = tower.tokenizer.encode(text, add_special_tokens=False).tokens
    assert read.rows.shape == (len(tokens), 384)
    assert read.rows.dtype == np.float32
    assert np.linalg.norm(read.vector) == pytest.approx(1, abs=1e-5)
    assert [text[a:b].lower() for a, b in read.spans] == [token.removeprefix("##") for token in tokens]
    assert tower.count(text) == len(read.ids) == len(tokens)


def test_an_empty_text_has_no_rows_but_a_vector(tower):
    read = tower.encode([""])[""]
    assert read.rows.shape == (0, 384)
    assert read.spans.shape == (0, 2)
    assert np.linalg.norm(read.vector) == pytest.approx(1, abs=1e-5)


def test_a_long_text_keeps_every_token(tower):
    text = " ".join(f"word {n % 97}" for n in range(700))
    read = tower.encode([text])[text]
    assert len(read.rows) == len(read.ids) == len(read.spans) == 1400
    assert np.abs(read.rows).max(axis=1).min() > 0.05
    assert read.spans[-1].tolist() == [len(text) - 2, len(text)]


def test_a_text_reads_the_same_alone_and_in_company(tower):
    texts = ["short", "a text of middle length about a delivery", "long " * 400, "another one", "x"]
    together = tower.encode([f"{text}." for text in texts])
    for text in texts:
        alone = Assets(embedded()["nano"], threads=1, cache_bytes=0).text if text == "short" else tower
        read = alone.encode([f"{text}."])[f"{text}."]
        np.testing.assert_allclose(read.rows, together[f"{text}."].rows, atol=1e-4)
        np.testing.assert_allclose(read.vector, together[f"{text}."].vector, atol=1e-5)


def test_meaning_is_in_the_vector(tower):
    read = tower.encode(["I want my money back", "a request for a refund", "the weather in Lisbon"])
    money, refund, weather = (read[text].vector for text in read)
    assert money @ refund > money @ weather + 0.2


def test_a_text_is_read_once(tower):
    first = tower.encode(["read me once"])["read me once"]
    assert tower.encode(["other", "read me once"])["read me once"] is first


class Weight:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_the_cache_forgets_the_longest_unused_first():
    cache: Cache[str, Weight] = Cache(10)
    cache.put_many({"a": Weight(4), "b": Weight(4)})
    assert cache.get("a") is not None
    cache.put("c", Weight(4))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.used == 8


def test_the_cache_replaces_and_counts_once():
    cache: Cache[str, Weight] = Cache(10)
    cache.put("a", Weight(6))
    cache.put("a", Weight(5))
    assert cache.used == 5


def test_a_value_that_never_fits_pushes_nothing_out():
    cache: Cache[str, Weight] = Cache(10)
    cache.put("a", Weight(6))
    cache.put("giant", Weight(11))
    assert cache.get("giant") is None
    assert cache.get("a") is not None
    cache.put("a", Weight(11))
    assert cache.get("a") is None
    assert cache.used == 0
