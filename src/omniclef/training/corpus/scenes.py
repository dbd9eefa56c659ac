"""Pictures drawn by code, with the facts of what is on them: counts, colours, shapes, places, words.

Knows how to draw and how to tell what was drawn; knows nothing of questions, records or models. Everything
comes from the generator that is passed in, so one seed gives one set of pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

__all__ = [
    "COLOURS",
    "COUNTS",
    "KINDS",
    "PLACES",
    "SHAPES",
    "WORDS",
    "Item",
    "Scene",
    "caption",
    "draw",
    "plural",
]

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "orange": (245, 140, 30),
    "yellow": (250, 215, 50),
    "green": (50, 160, 70),
    "blue": (40, 90, 205),
    "purple": (125, 60, 170),
    "pink": (245, 130, 180),
    "brown": (125, 80, 45),
    "black": (25, 25, 25),
    "grey": (135, 135, 135),
    "white": (250, 250, 250),
}
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PLACES = ("top left", "top", "top right", "left", "centre", "right", "bottom left", "bottom", "bottom right")
KINDS = ("single", "place", "count", "pair", "mixture", "word")
WORDS = (
    "sale",
    "open",
    "closed",
    "exit",
    "stop",
    "free",
    "new",
    "danger",
    "hello",
    "help",
    "menu",
    "taxi",
    "hotel",
    "bank",
    "news",
    "music",
    "coffee",
    "pizza",
    "welcome",
    "warning",
    "private",
    "parking",
    "police",
    "total",
    "paid",
    "urgent",
    "error",
    "login",
    "search",
    "cancel",
    "yes",
    "no",
    "push",
    "pull",
    "wet paint",
    "no entry",
    "thank you",
    "happy birthday",
    "for rent",
    "sold out",
    "out of order",
    "due today",
    "50% off",
    "invoice",
    "receipt",
    "draft",
    "final",
    "void",
)

_SIDE = 128  # pixels of the finished picture
_FINE = 2  # drawn this many times larger, then averaged: smooth edges
_BACKGROUNDS = ("white", "white", "white", "grey", "yellow", "blue", "green", "pink", "black", "orange")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Item:
    """One drawn shape; x, y (centre) and radius are fractions of the side."""

    shape: str
    colour: str
    x: float
    y: float
    radius: float

    @property
    def place(self) -> str:
        column = min(int(self.x * 3), 2)
        row = min(int(self.y * 3), 2)
        return PLACES[row * 3 + column]


@dataclass(frozen=True, slots=True)
class Scene:
    """pixels: uint8 [128, 128, 3]. ``word`` is what is written on the picture, if anything, in ``ink``."""

    kind: str
    pixels: npt.NDArray[np.uint8]
    items: tuple[Item, ...]
    background: str
    word: str | None = None
    ink: str | None = None

    def count(self, *, shape: str | None = None, colour: str | None = None) -> int:
        return sum((shape is None or i.shape == shape) and (colour is None or i.colour == colour) for i in self.items)


def _polygon(corners: int, turn: float = 0.0) -> Callable[[float, float, float], list[Point]]:
    def points(x: float, y: float, r: float) -> list[Point]:
        angles = [turn + 2 * math.pi * k / corners for k in range(corners)]
        return [(x + r * math.sin(a), y - r * math.cos(a)) for a in angles]

    return points


def _star(x: float, y: float, r: float) -> list[Point]:
    radii = [r if k % 2 == 0 else 0.42 * r for k in range(10)]
    return [(x + q * math.sin(math.pi * k / 5), y - q * math.cos(math.pi * k / 5)) for k, q in enumerate(radii)]


def _heart(x: float, y: float, r: float) -> list[Point]:
    turns = [2 * math.pi * k / 40 for k in range(40)]
    return [
        (
            x + r * math.sin(t) ** 3,
            y - r / 16 * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)),
        )
        for t in turns
    ]


def _cross(x: float, y: float, r: float) -> list[Point]:
    a = 0.33 * r
    offsets = [
        (-a, -r),
        (a, -r),
        (a, -a),
        (r, -a),
        (r, a),
        (a, a),
        (a, r),
        (-a, r),
        (-a, a),
        (-r, a),
        (-r, -a),
        (-a, -a),
    ]
    return [(x + dx, y + dy) for dx, dy in offsets]


def _arrow(turns: int) -> Callable[[float, float, float], list[Point]]:
    """An upright arrow, turned clockwise by so many quarters."""

    def points(x: float, y: float, r: float) -> list[Point]:
        a, b = 0.8 * r, 0.3 * r
        offsets = [(0.0, -r), (a, 0.0), (b, 0.0), (b, r), (-b, r), (-b, 0.0), (-a, 0.0)]
        for _ in range(turns):
            offsets = [(-dy, dx) for dx, dy in offsets]
        return [(x + dx, y + dy) for dx, dy in offsets]

    return points


def _circle(x: float, y: float, r: float) -> list[Point]:
    return _polygon(48)(x, y, r)


SHAPES: dict[str, Callable[[float, float, float], list[Point]]] = {
    "circle": _circle,
    "square": _polygon(4, math.pi / 4),
    "triangle": _polygon(3),
    "diamond": _polygon(4),
    "pentagon": _polygon(5),
    "hexagon": _polygon(6),
    "star": _star,
    "heart": _heart,
    "cross": _cross,
    "arrow pointing up": _arrow(0),
    "arrow pointing down": _arrow(2),
    "arrow pointing left": _arrow(3),
    "arrow pointing right": _arrow(1),
}


def plural(count: int, thing: str) -> str:
    """``two blue stars``, ``one star``, ``no arrows pointing up``."""
    if count == 1:
        return f"{COUNTS[1]} {thing}"
    head, *rest = thing.split(" pointing", 1)
    head = head + ("es" if head.endswith("s") else "s")
    return f"{COUNTS[count]} {head}" + (f" pointing{rest[0]}" if rest else "")


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _pick(rng: np.random.Generator, values: tuple[str, ...] | list[str]) -> str:
    return values[int(rng.integers(len(values)))]


def _shade(rng: np.random.Generator, colour: str) -> tuple[int, int, int]:
    r, g, b = (int(np.clip(c + rng.integers(-18, 19), 0, 255)) for c in COLOURS[colour])
    return r, g, b


def _spread(rng: np.random.Generator, count: int) -> list[Point]:
    """Centres of ``count`` things in distinct cells of a grid just large enough, with jitter."""
    side = 2 if count <= 3 else 3 if count <= 7 else 4
    cells = rng.permutation(side * side)[:count]
    jitter = rng.uniform(-0.12, 0.12, (count, 2)) / side
    return [
        ((c % side + 0.5) / side + dx, (c // side + 0.5) / side + dy)
        for c, (dx, dy) in zip(cells.tolist(), jitter.tolist(), strict=True)
    ]


def _items(rng: np.random.Generator, kind: str, background: str) -> tuple[Item, ...]:
    colours = [c for c in COLOURS if c != background]
    shapes = list(SHAPES)
    if kind == "single":
        return (Item(_pick(rng, shapes), _pick(rng, colours), 0.5, 0.5, float(rng.uniform(0.22, 0.42))),)
    if kind == "place":
        cell = int(rng.integers(9))
        x, y = (cell % 3 + 0.5) / 3, (cell // 3 + 0.5) / 3
        return (Item(_pick(rng, shapes), _pick(rng, colours), x, y, float(rng.uniform(0.09, 0.15))),)
    count = 2 if kind == "pair" else int(rng.integers(1, 10)) if kind == "count" else int(rng.integers(3, 8))
    centres = _spread(rng, count)
    radius = 0.17 if count <= 3 else 0.11 if count <= 7 else 0.085
    if kind == "count":
        shape, colour = _pick(rng, shapes), _pick(rng, colours)
        return tuple(Item(shape, colour, x, y, radius * float(rng.uniform(0.75, 1.1))) for x, y in centres)
    few_shapes = [shapes[i] for i in rng.permutation(len(shapes))[:2]]
    few_colours = [colours[i] for i in rng.permutation(len(colours))[:2]]
    if kind == "pair":
        looks = list(zip(few_shapes, few_colours, strict=True))
    else:
        looks = [(_pick(rng, few_shapes), _pick(rng, few_colours)) for _ in range(count)]
    return tuple(
        Item(s, c, x, y, radius * float(rng.uniform(0.75, 1.1))) for (s, c), (x, y) in zip(looks, centres, strict=True)
    )


def _write(canvas: ImageDraw.ImageDraw, rng: np.random.Generator, word: str, ink: tuple[int, int, int]) -> None:
    side = _SIDE * _FINE
    written = word.upper() if rng.random() < 0.6 else word.capitalize()
    written = written.replace(" ", "\n") if len(written) > 8 else written
    size = side * float(rng.uniform(0.5, 0.9))
    font = ImageFont.load_default(40.0)
    left, top, right, bottom = canvas.multiline_textbbox((0, 0), written, font=font)
    font = ImageFont.load_default(max(40.0 * min(size / (right - left), size / (bottom - top)), 12.0))
    centre = (
        side / 2 + float(rng.uniform(-0.04, 0.04)) * side,
        side / 2 + float(rng.uniform(-0.2, 0.2)) * side,
    )
    canvas.multiline_text(centre, written, fill=ink, font=font, anchor="mm", align="center")


def draw(rng: np.random.Generator, kind: str | None = None) -> Scene:
    """One scene of ``kind`` (of ``KINDS``), or of any kind."""
    kind = kind or _pick(rng, KINDS)
    background = _pick(rng, _BACKGROUNDS)
    side = _SIDE * _FINE
    image = Image.new("RGB", (side, side), _shade(rng, background))
    canvas = ImageDraw.Draw(image)
    items: tuple[Item, ...] = ()
    word = ink = None
    if kind == "word":
        word, ink = _pick(rng, WORDS), _pick(rng, [c for c in COLOURS if c != background])
        _write(canvas, rng, word, _shade(rng, ink))
    else:
        items = _items(rng, kind, background)
        outline = (20, 20, 20) if rng.random() < 0.3 and background != "black" else None
        for item in items:
            points = SHAPES[item.shape](item.x * side, item.y * side, item.radius * side)
            canvas.polygon(points, fill=_shade(rng, item.colour), outline=outline, width=3)
    pixels = np.asarray(image.resize((_SIDE, _SIDE), Image.Resampling.BOX))
    return Scene(kind, pixels, items, background, word, ink)


def caption(scene: Scene, rng: np.random.Generator) -> str:
    """One true sentence about the scene; the generator chooses how much it tells."""
    if scene.word is not None:
        return _pick(
            rng,
            [f'a sign that says "{scene.word}"', f"the word {scene.word}", f"{scene.ink} text: {scene.word}"],
        )
    first = scene.items[0]
    look = f"{first.colour} {first.shape}"
    article = _article(look)
    if scene.kind == "single":
        return _pick(
            rng,
            [
                f"{article} {look}",
                f"a picture of {article} {look}",
                f"{article} {look} on a {scene.background} background",
            ],
        )
    if scene.kind == "place":
        return f"{article} {look} at the {first.place}" if rng.random() < 0.7 else f"a small {look}"
    if scene.kind == "count":
        return plural(len(scene.items), look if rng.random() < 0.6 else first.shape)
    if scene.kind == "pair":
        second = scene.items[1]
        return f"{article} {look} and {_article(second.colour)} {second.colour} {second.shape}"
    looks = list(dict.fromkeys((i.shape, i.colour) for i in scene.items))
    return " and ".join(plural(scene.count(shape=s, colour=c), f"{c} {s}") for s, c in looks)
