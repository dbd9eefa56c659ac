"""Learning from the examples of a request, on clouds of points whose right answer is known."""

import numpy as np
import pytest

from omniclef.backbones.nano.examples import Constants
from omniclef.backbones.nano.examples import Discriminant as Readout

CONSTANTS = Constants(
    words=3.0, prior=400.0, shrink=0.4, spread=0.6, linear=0.1, nearest=20.0, trust=0.25, growth=0.19
)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def clouds(rng, count, each, size=32, noise=0.7):
    centres = unit(rng.standard_normal((count, size)))
    owners = np.repeat(np.arange(count), each)
    return (
        centres,
        unit(centres[owners] + noise * rng.standard_normal((len(owners), size)) / np.sqrt(size)),
        owners,
    )


@pytest.mark.parametrize("each", [1, 5, 20])
def test_examples_separate_clouds(each):
    rng = np.random.default_rng(0)
    centres, keys, owners = clouds(rng, 8, each)
    readout = Readout(keys, owners, 8, CONSTANTS)
    asked = unit(centres + 0.4 * rng.standard_normal(centres.shape) / np.sqrt(32))
    assert [int(readout(key).argmax()) for key in asked] == list(range(8))


def test_more_examples_leave_less_to_the_words():
    rng = np.random.default_rng(1)
    shares = []
    for each in (1, 5, 50):
        _, keys, owners = clouds(rng, 4, each)
        shares.append(Readout(keys, owners, 4, CONSTANTS).share)
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < shares[0] < 1


def test_the_order_of_examples_changes_nothing():
    rng = np.random.default_rng(2)
    centres, keys, owners = clouds(rng, 5, 6)
    order = rng.permutation(len(keys))
    straight, shuffled = (
        Readout(keys, owners, 5, CONSTANTS),
        Readout(keys[order], owners[order], 5, CONSTANTS),
    )
    np.testing.assert_allclose(straight(centres[2]), shuffled(centres[2]), atol=1e-4)


def test_the_order_of_options_only_permutes():
    rng = np.random.default_rng(3)
    centres, keys, owners = clouds(rng, 5, 6)
    order = rng.permutation(5)
    renamed = np.argsort(order)[owners]
    straight, permuted = Readout(keys, owners, 5, CONSTANTS), Readout(keys, renamed, 5, CONSTANTS)
    np.testing.assert_allclose(permuted(centres[1]), straight(centres[1])[order], atol=1e-4)


def test_an_option_without_examples_is_neither_best_nor_worst():
    rng = np.random.default_rng(4)
    centres, keys, owners = clouds(rng, 4, 5)
    some = owners != 3
    odds = Readout(keys[some], owners[some], 4, CONSTANTS)(centres[0])
    assert odds.argmax() == 0
    assert odds.min() < odds[3] < odds.max()


def test_words_decide_where_one_example_misleads():
    rng = np.random.default_rng(5)
    centres = unit(rng.standard_normal((2, 32)))
    keys = unit(rng.standard_normal((2, 32)))
    blind = Readout(keys, np.arange(2), 2, CONSTANTS)(centres[0])
    told = Readout(keys, np.arange(2), 2, CONSTANTS, words=centres)(centres[0])
    assert told[0] - told[1] > blind[0] - blind[1]


def test_log_odds_are_centred_and_finite_with_one_option():
    rng = np.random.default_rng(6)
    centres, keys, owners = clouds(rng, 1, 3)
    assert Readout(keys, owners, 1, CONSTANTS)(centres[0]) == pytest.approx([0.0], abs=1e-6)
