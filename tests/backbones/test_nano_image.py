"""The image tower on the model's own weights."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import omniclef
from omniclef.backbones.nano.image import SIDE, ImageTower, cell_boxes, fit_to_network

WEIGHTS = Path(omniclef.__file__).parent / "weights" / "nano" / "image.onnx"


@pytest.fixture(scope="module")
def tower() -> ImageTower:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ImageTower(ort.InferenceSession(WEIGHTS, options, providers=["CPUExecutionProvider"]))


def picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A smooth random picture: waves of other colours in both directions."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(rng.uniform(2, 9) * x / width + rng.uniform(2, 9) * y / height + k) for k in range(3)]
    return np.uint8(127.5 + 127 * np.stack(waves, -1))


def test_a_square_of_the_right_size_passes_unchanged() -> None:
    pixels = picture(SIDE, SIDE)
    assert np.array_equal(fit_to_network(pixels), pixels)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 400), (400, 1), (32, 32), (97, 301), (900, 700)])
def test_any_size_becomes_the_networks(height: int, width: int) -> None:
    pixels = fit_to_network(picture(height, width))
    assert pixels.shape == (SIDE, SIDE, 3)
    assert pixels.dtype == np.uint8


def test_the_whole_picture_stays_in_view() -> None:
    wide = np.zeros((40, 160, 3), np.uint8)
    wide[:, :20] = (255, 0, 0)
    wide[:, -20:] = (0, 0, 255)
    fitted = fit_to_network(wide)
    assert fitted[:, 0].tolist() == [[255, 0, 0]] * SIDE
    assert fitted[:, -1].tolist() == [[0, 0, 255]] * SIDE


def test_a_plain_colour_stays_that_colour() -> None:
    fitted = fit_to_network(np.full((7, 3, 3), (10, 200, 90), np.uint8))
    assert np.array_equal(fitted, np.full((SIDE, SIDE, 3), (10, 200, 90), np.uint8))


def test_shapes_and_unit_vectors(tower: ImageTower) -> None:
    reading = tower.encode([picture(60, 80)])[0]
    assert reading.rows.shape == (49, 384)
    assert reading.rows.dtype == np.float32
    assert np.linalg.norm(reading.aligned) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(reading.key) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (255, 0, 0)])
def test_plain_and_tiny_pictures_are_finite(tower: ImageTower, colour: tuple[int, int, int]) -> None:
    for shape in ((1, 1, 3), (5, 300, 3)):
        reading = tower.encode([np.full(shape, colour, np.uint8)])[0]
        assert all(np.isfinite(part).all() for part in reading)
        assert np.linalg.norm(reading.key) == pytest.approx(1, abs=1e-5)


def test_one_colour_reads_the_same_at_any_size(tower: ImageTower) -> None:
    small, large = tower.encode([np.full((n, n, 3), (30, 90, 200), np.uint8) for n in (1, 500)])
    np.testing.assert_allclose(small.rows, large.rows, atol=1e-5)


def test_alone_or_in_a_batch(tower: ImageTower) -> None:
    pictures = [picture(20 + 13 * n, 90 - 3 * n, n) for n in range(19)]
    together = tower.encode(pictures)
    assert len(together) == len(pictures)
    for n in (0, 7, 15, 16, 18):
        alone = tower.encode([pictures[n]])[0]
        for part, batched in zip(alone, together[n], strict=True):
            np.testing.assert_allclose(part, batched, atol=1e-5)
    assert np.abs(together[0].key - together[1].key).max() > 1e-3


def test_nothing_in_nothing_out(tower: ImageTower) -> None:
    assert tower.encode([]) == []


def test_rows_see_their_own_place(tower: ImageTower) -> None:
    plain = np.full((SIDE, SIDE, 3), 200, np.uint8)
    marked = plain.copy()
    marked[:48, :48] = picture(48, 48)
    before, after = tower.encode([plain, marked])
    change = np.linalg.norm(after.rows - before.rows, axis=1)
    corner = [n for n, (_, _, right, bottom) in enumerate(cell_boxes()) if right < 0.45 and bottom < 0.45]
    opposite = [n for n, (left, top, _, _) in enumerate(cell_boxes()) if left > 0.55 and top > 0.55]
    assert change[corner].mean() > 2 * change[opposite].mean()


def test_a_drawn_shape_is_nearer_to_its_like(tower: ImageTower) -> None:
    def disc(colour: tuple[int, int, int], x: int) -> np.ndarray:
        yy, xx = np.mgrid[0:96, 0:96]
        pixels = np.full((96, 96, 3), 255, np.uint8)
        pixels[(yy - 48) ** 2 + (xx - x) ** 2 < 600] = colour
        return pixels

    red, shifted, waves = tower.encode([disc((220, 30, 30), 48), disc((220, 30, 30), 54), picture(96, 96)])
    assert red.key @ shifted.key > red.key @ waves.key
