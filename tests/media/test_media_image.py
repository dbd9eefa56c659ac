"""Pictures: right colours out of every mode and format, and every hostile header refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from omniclef.errors import MediaError
from omniclef.media import Budgets, load_image

RED, GREEN, BLUE, WHITE = (200, 30, 40), (20, 180, 60), (30, 40, 210), (255, 255, 255)


def quarters(width: int = 64, height: int = 48) -> Image.Image:
    """Red, green / blue, white: shows any turn or flip."""
    pixels = np.zeros((height, width, 3), np.uint8)
    middle, half = height // 2, width // 2
    pixels[:middle, :half], pixels[:middle, half:] = RED, GREEN
    pixels[middle:, :half], pixels[middle:, half:] = BLUE, WHITE
    return Image.fromarray(pixels)


def encoded(image: Image.Image, form: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def corners(pixels: np.ndarray) -> list[tuple[int, ...]]:
    height, width, _ = pixels.shape
    spots = [(y, x) for y in (height // 4, 3 * height // 4) for x in (width // 4, 3 * width // 4)]
    return [tuple(int(v) for v in pixels[spot]) for spot in spots]


def near(found, expected, tolerance: int) -> bool:
    return bool(np.abs(np.subtract(found, expected)).max() <= tolerance)


@pytest.mark.parametrize(
    ("data", "tolerance"),
    [
        (encoded(quarters(), "PNG"), 0),
        (encoded(quarters(), "PNG", optimize=True), 0),
        (encoded(quarters().quantize(8), "PNG"), 2),
        (encoded(quarters(), "JPEG", quality=95, subsampling=0), 4),
        (encoded(quarters(), "JPEG", quality=95, progressive=True), 4),
        (encoded(quarters(), "WEBP", lossless=True), 0),
        (encoded(quarters(), "WEBP", quality=95), 8),
        (encoded(quarters().quantize(8), "GIF"), 2),
        (encoded(quarters().convert("CMYK"), "JPEG", quality=95), 6),
    ],
    ids=[
        "png",
        "png-optimised",
        "png-palette",
        "jpeg",
        "progressive",
        "webp-lossless",
        "webp",
        "gif",
        "cmyk",
    ],
)
def test_formats(data: bytes, tolerance: int, tmp_path: Path) -> None:
    pixels = load_image(data)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (48, 64, 3)
    assert near(corners(pixels), [RED, GREEN, BLUE, WHITE], tolerance)
    (tmp_path / "picture").write_bytes(data)
    assert np.array_equal(load_image(tmp_path / "picture"), pixels)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(
    ("orientation", "expected"),
    [
        (1, [RED, GREEN, BLUE, WHITE]),
        (2, [GREEN, RED, WHITE, BLUE]),
        (3, [WHITE, BLUE, GREEN, RED]),
        (6, [BLUE, RED, WHITE, GREEN]),
        (8, [GREEN, WHITE, RED, BLUE]),
    ],
)
def test_exif_orientation(form: str, orientation: int, expected) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = load_image(encoded(quarters(), form, exif=exif, quality=95))
    assert pixels.shape == ((64, 48, 3) if orientation >= 5 else (48, 64, 3))
    assert near(corners(pixels), expected, 12)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_exif_does_not_spoil_the_picture() -> None:
    data = encoded(quarters(), "JPEG", quality=95, exif=b"Exif\0\0II*\x00\xff\xff\xff\xff\xff\xff")
    assert near(corners(load_image(data)), [RED, GREEN, BLUE, WHITE], 6)


def test_transparency_is_laid_over_white() -> None:
    rgba = Image.new("RGBA", (2, 1))
    rgba.putpixel((0, 0), (200, 0, 0, 0))
    rgba.putpixel((1, 0), (200, 0, 0, 128))
    for data in (encoded(rgba, "PNG"), encoded(rgba, "WEBP", lossless=True, exact=True)):
        assert near(load_image(data)[0], [WHITE, (227, 127, 127)], 1)
    grey = Image.new("LA", (1, 1), (100, 51))
    assert near(load_image(encoded(grey, "PNG"))[0, 0], (224, 224, 224), 1)
    palette = quarters().quantize(8)
    clear = palette.getpixel((0, 0))
    for form in ("PNG", "GIF"):
        found = corners(load_image(encoded(palette, form, transparency=clear)))
        assert near(found, [WHITE, GREEN, BLUE, WHITE], 2)
    keyed = encoded(quarters(), "PNG", transparency=GREEN)
    assert near(corners(load_image(keyed)), [RED, WHITE, BLUE, WHITE], 0)


def test_sixteen_bits_keep_their_high_byte() -> None:
    ramp = np.array([[0, 256, 32768, 65535]], np.uint16)
    assert load_image(encoded(Image.fromarray(ramp), "PNG"))[0, :, 1].tolist() == [0, 1, 128, 255]


def test_one_bit_and_grey() -> None:
    assert load_image(encoded(Image.new("1", (3, 2), 1), "PNG")).min() == 255
    assert load_image(encoded(Image.new("L", (3, 2), 77), "JPEG")).tolist() == [[[77] * 3] * 3] * 2


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_an_animation_gives_its_first_frame(form: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, GREEN, BLUE)]
    data = encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=100)
    assert near(load_image(data)[4, 4], RED, 6)


def png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = zlib.compress(b"\0" * 4096)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif_header(width: int, height: int) -> bytes:
    return encoded(quarters().quantize(8), "GIF").replace(
        struct.pack("<HH", 64, 48), struct.pack("<HH", width, height)
    )


def jpeg_header(width: int, height: int) -> bytes:
    return encoded(quarters(), "JPEG").replace(struct.pack(">HH", 48, 64), struct.pack(">HH", height, width))


def webp_header(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + size
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("data", "pixels"),
    [
        (png_header(60_000, 60_000), "60000 x 60000 = 3,600,000,000"),
        (png_header(2**31 - 1, 2**31 - 1), "4,611,686,014,132,420,609"),
        (gif_header(60_000, 60_000), "60000 x 60000"),
        (jpeg_header(60_000, 60_000), "60000 x 60000"),
        (webp_header(60_000, 60_000), "60000 x 60000"),
        (encoded(Image.new("L", (8000, 5001)), "PNG"), "8000 x 5001 = 40,008,000"),
    ],
    ids=["png", "png-largest", "gif", "jpeg", "webp", "just-over"],
)
def test_too_many_pixels_cost_nothing(data: bytes, pixels: str) -> None:
    tracemalloc.start()
    with pytest.raises(MediaError, match=f"{pixels}.*the limit is 40,000,000"):
        load_image(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


def test_the_pixel_budget_is_the_callers() -> None:
    data = encoded(quarters(), "WEBP", lossless=True)
    assert load_image(data, budget=Budgets(image_pixels=64 * 48)).shape == (48, 64, 3)
    for form in ("WEBP", "PNG", "GIF", "JPEG"):
        with pytest.raises(
            MediaError, match=r"pictures\.1: 64 x 48 = 3,072 pixels, the limit is 3,071; scale"
        ):
            load_image(
                encoded(quarters(), form), field="pictures.1", budget=Budgets(image_pixels=64 * 48 - 1)
            )
    lossy = encoded(quarters(), "WEBP", quality=50)
    with pytest.raises(MediaError, match="64 x 48"):
        load_image(lossy, budget=Budgets(image_pixels=64 * 48 - 1))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_truncated_picture_is_never_shown_in_part(form: str) -> None:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 255, (40, 40, 3), np.uint8))
    data = encoded(noise.quantize(64) if form == "GIF" else noise, form)
    for cut in range(1, len(data) * 9 // 10, max(1, len(data) // 60)):
        with pytest.raises(MediaError) as caught:
            load_image(data[:cut])
        assert "\n" not in str(caught.value)


def test_a_long_text_chunk_does_not_expand_without_end() -> None:
    bomb = zlib.compress(b"\0" * 80_000_000, 9)
    body = b"note\0\0" + bomb
    chunk = struct.pack(">I", len(body)) + b"zTXt" + body + struct.pack(">I", zlib.crc32(b"zTXt" + body))
    whole = encoded(quarters(), "PNG")
    with pytest.raises(MediaError):
        load_image(whole[:33] + chunk + whole[33:])
