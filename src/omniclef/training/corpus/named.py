"""Named pictures for the map from pictures to the text space: clip art, emoji, drawn scenes.

Clip art: Debian packages ``openclipart-png`` and ``openclipart-svg`` (public domain; the drawings carry
titles and keywords). Emoji: npm packages ``openmoji`` (CC BY-SA 4.0) with the names and tags of
``emojibase-data`` (MIT). The packages are unpacked by the caller; nothing is fetched here.
"""

from __future__ import annotations

import gzip
import html
import importlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from omniclef.errors import MissingExtra
from omniclef.training.corpus import scenes

__all__ = ["Named", "altered", "class_names", "clip_art", "drawn", "emoji", "thumbnail"]

Pixels = npt.NDArray[np.uint8]
_SIDE = 160
_NEAR = 0.0015  # mean squared difference of thumbnails below which two pictures count as one
_MANY = ("shapes/stars", "recreation/games/cards", "special/gradients")  # hundreds that hardly differ
_NO_KEYWORD = frozenset(
    [
        "hash",
        "unsorted",
        "computer",
        "icons",
        "icon",
        "theme",
        "lemon_theme_icon",
        "magick",
        "united_nations_member",
        "special",
        "action",
        "application",
        "clipart",
        "mapsym",
        "signs_and_symbols",
    ]
)
_NO_TITLE = ("part of the flat", "lemon svg", "various clip", "gramastar", "aiga", "svg road")
_NO_FOLDER = frozenset(
    [
        "unsorted",
        "special",
        "icons",
        "computer",
        "flat-theme",
        "lemon-theme",
        "etiquette-theme",
        "action",
        "actions",
    ]
)


@dataclass(frozen=True, slots=True)
class Named:
    """pixels: uint8 [H, W, 3], at most 160 a side. texts: names, keywords and captions, the name first."""

    source: str
    pixels: Pixels
    texts: tuple[str, ...]


def thumbnail(image: Image.Image) -> npt.NDArray[np.float32]:
    """12 x 12 colours in [0, 1], flat: equal for copies of one picture."""
    small = image.convert("RGB").resize((12, 12), Image.Resampling.BOX)
    return np.asarray(small, np.float32).ravel() / np.float32(255)


def _on_white(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    image.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    white = Image.new("RGBA", image.size, (255, 255, 255, 255))
    white.alpha_composite(image)
    return white.convert("RGB")


def _texts(name: str, keywords: Sequence[str], group: str) -> tuple[str, ...]:
    texts = [name, f"a picture of {name}"] if name else []
    if group:
        texts.append(f"{name}, {group}" if name else group)
    texts += [", ".join(keywords[:4]), *keywords[:2], group]
    return tuple(dict.fromkeys(text for text in texts if text)) or ("picture",)


def _plain(title: str) -> str:
    title = re.sub(r"^clipart by [\w ]+? - ", "", title, flags=re.IGNORECASE)
    title = re.sub(r"(?<=[a-z])\d+$|\b\d+\b", "", re.sub(r"[_\-]+", " ", title))
    return re.sub(r"\s+", " ", title).strip(" ,.").lower()


def _clip_art_texts(stem: str, folder: str, drawing: str) -> tuple[str, ...]:
    found = re.search(r"<dc:title[^>]*>(.*?)</dc:title>", drawing, re.DOTALL)
    title = _plain(html.unescape(found.group(1)).strip()) if found else ""
    if not title or len(title) > 60 or title.startswith(_NO_TITLE):
        title = _plain(re.split(r"_(?:\w+_){0,2}\w*_\d\d$", stem)[0])
    words = re.findall(r"<rdf:li>(.*?)</rdf:li>", drawing)
    keywords = [
        word.replace("_", " ").lower()
        for word in words
        if word and word not in _NO_KEYWORD and len(word) < 25 and "@" not in word and "architetto" not in word
    ]
    groups = [re.sub("[_-]", " ", part) for part in folder.split("/") if part not in _NO_FOLDER]
    return _texts(title, keywords[:8], groups[-1] if groups else "")


def clip_art(pictures: Path, drawings: Path, held_out: Sequence[Path]) -> Iterator[Named]:
    """Clip art with its titles and keywords, without anything that is, or looks like, a held-out picture.

    ``pictures`` and ``drawings`` are the packages' folders ``png`` and ``svg``. A held-out file is named by
    its path with ``/`` written as ``__``.
    """
    looks = np.stack([thumbnail(Image.open(path)) for path in held_out])
    names = {path.stem for path in held_out}
    seen: set[Path] = set()
    taken: Counter[str] = Counter()
    for path in sorted(pictures.rglob("*.png")):
        place = path.relative_to(pictures).with_suffix("")
        folder = place.parent.as_posix()
        full = taken[folder] >= (40 if folder.startswith(_MANY) else 400)
        if path.resolve() in seen or full or place.as_posix().replace("/", "__") in names:
            continue
        seen.add(path.resolve())
        try:
            image = _on_white(Image.open(path))
        except (OSError, ValueError, Image.DecompressionBombError):
            continue
        if ((looks - thumbnail(image)) ** 2).mean(1).min() < _NEAR:
            continue
        taken[folder] += 1
        yield Named("openclipart", np.asarray(image), _clip_art_texts(path.stem, folder, _drawing(drawings / place)))


def _drawing(place: Path) -> str:
    plain, packed = place.with_name(place.name + ".svg"), place.with_name(place.name + ".svg.gz")
    if plain.is_file():
        return plain.read_text(errors="replace")
    return gzip.decompress(packed.read_bytes()).decode(errors="replace") if packed.is_file() else ""


def emoji(openmoji: Path, emojibase: Path) -> Iterator[Named]:
    """Emoji in one skin tone, drawn from the unpacked npm packages. Needs ``resvg-py`` to draw."""
    try:
        resvg = importlib.import_module("resvg_py")
    except ImportError as error:
        raise MissingExtra("drawing emoji (package resvg-py)", "torch") from error
    base = {row["hexcode"]: row for row in json.loads((emojibase / "en" / "data.json").read_text("utf-8"))}
    for row in json.loads((openmoji / "data" / "openmoji.json").read_text("utf-8")):
        path = openmoji / "color" / "svg" / f"{row['hexcode']}.svg"
        if row["skintone"] or row["group"] == "extras-unicode" or not path.is_file():
            continue
        png = bytes(resvg.svg_to_bytes(svg_path=str(path), width=_SIDE, height=_SIDE))
        known = base.get(row["hexcode"], {})
        name = str(known.get("label", row["annotation"])).replace("flag: ", "flag of ")
        tags = known.get("tags") or [t.strip() for t in (row["tags"] or row["openmoji_tags"]).split(",") if t.strip()]
        pixels = np.asarray(_on_white(Image.open(io.BytesIO(png))))
        yield Named("openmoji", pixels, _texts(name, tags[:8], row["subgroups"].replace("-", " ")))


def class_names(synsets: Path, lemmas: Path) -> list[tuple[str, ...]]:
    """WordNet names of the 1,000 ImageNet classes, in the classifier's order, at most three each.

    Files: ``imagenet_synsets.txt`` and ``imagenet_synset_to_lemma.txt`` of the package ``timm`` (Apache-2.0).
    """
    pairs = (line.split("\t", 1) for line in lemmas.read_text("utf-8").splitlines())
    table = {synset: tuple(name.strip() for name in names.split(",")[:3]) for synset, names in pairs}
    return [table[synset] for synset in synsets.read_text("utf-8").split()]


def drawn(rng: np.random.Generator, count: int) -> Iterator[Named]:
    """Scenes drawn by code, with three captions each."""
    for _ in range(count):
        scene = scenes.draw(rng)
        yield Named("scenes", scene.pixels, tuple(scenes.caption(scene, rng) for _ in range(3)))


def altered(pixels: Pixels, rng: np.random.Generator) -> Pixels:
    """The same thing seen otherwise: mirrored, on another ground, with more or less around it, or small."""
    picture = pixels[:, ::-1] if rng.random() < 0.5 else pixels
    if rng.random() < 0.4:
        ground = (picture > 245).all(-1, keepdims=True)
        picture = np.where(ground, rng.integers(120, 256, 3), picture).astype(np.uint8)
    height, width = picture.shape[:2]
    if rng.random() < 0.5:
        top, bottom, left, right = (int(n) for n in rng.integers(0, max(width // 3, 1), 4))
        picture = np.pad(picture, ((top, bottom), (left, right), (0, 0)), mode="edge")
    else:
        part = float(rng.uniform(0.65, 0.95))
        y, x = (int(rng.uniform(0, 1 - part) * side) for side in (height, width))
        picture = picture[y : y + max(int(height * part), 4), x : x + max(int(width * part), 4)]
    if rng.random() < 0.35:
        side = int(rng.integers(28, 64))
        small = Image.fromarray(np.ascontiguousarray(picture)).resize((side, side), Image.Resampling.BOX)
        picture = np.asarray(small)
    return np.ascontiguousarray(picture)
