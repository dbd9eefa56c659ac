"""An encoded picture to RGB pixels."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from omniclef.errors import MediaError
from omniclef.media.budgets import DEFAULT_BUDGETS, Budgets
from omniclef.media.sources import Fetch, Source, identify, one_line, read_source

__all__ = ["load_image"]

# The readers themselves, not Image.open: that one warns or refuses by a process-wide limit, while here the
# caller's # budget decides. Their constructors read headers only.
READERS: dict[str, type[ImageFile]] = {
    "PNG": PngImageFile,
    "JPEG": JpegImageFile,
    "WEBP": WebPImageFile,
    "GIF": GifImageFile,
}


def load_image(
    source: Source,
    *,
    field: str = "images[0]",
    budget: Budgets = DEFAULT_BUDGETS,
    fetch: Fetch | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode a PNG, JPEG, WebP or GIF (its first frame).

    Turned upright by its EXIF orientation; transparency is laid over white; 16-bit samples keep their high
    byte.

    Args:
        source: see ``read_source``.
        field: path of the picture in the request, for errors.
        budget: ``image_bytes`` and ``image_pixels``, both checked before anything is decoded.
        fetch: called with an http(s) URL; without it a URL is refused.

    Returns:
        uint8 [height, width, 3], RGB.

    Raises:
        MediaError: another kind of file, damaged or cut short, or over budget.
    """
    data = read_source(source, field=field, limit=budget.image_bytes, fetch=fetch)
    signature = identify(data, "image", field)
    if signature.reader == "WEBP":  # libwebp sets a canvas aside while it opens, so look before it does
        check_pixels(*webp_size(data), field, budget)
    try:
        with READERS[signature.reader](io.BytesIO(data)) as image:
            check_pixels(*image.size, field, budget)
            return np.asarray(to_rgb(upright(image)), dtype=np.uint8).copy()
    except MediaError:
        raise
    except (
        Exception
    ) as error:  # decoders answer hostile bytes with whatever comes: SyntaxError, struct.error, ...
        problem = f"the {signature.name} is damaged or cut short ({one_line(error)})"
        raise MediaError(field, problem, "save the picture again") from error


def check_pixels(width: int, height: int, field: str, budget: Budgets) -> None:
    if width * height > budget.image_pixels:
        problem = f"{width} x {height} = {width * height:,} pixels, the limit is {budget.image_pixels:,}"
        raise MediaError(field, problem, "scale the picture down")


def webp_size(data: bytes) -> tuple[int, int]:
    """(width, height) by the first chunk of a WebP; (0, 0) where the header is none, which the decoder
    refuses.
    """
    chunk, body = data[12:16], data[20:30]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if chunk == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 ":
        width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def upright(image: Image.Image) -> Image.Image:
    try:
        turned = ImageOps.exif_transpose(image)
    except Exception:
        image.load()  # if the pixels are what is broken, this says so; broken metadata alone spoil no picture
        return image
    return turned


def to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16-bit grey; Pillow's own conversion would clip it to white
        grey = np.asarray(image, dtype=np.int64) >> 8
        return Image.fromarray(grey.clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")
