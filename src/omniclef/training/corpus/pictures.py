"""Training records about pictures: clip art by category and name, photographed clothes, and drawn scenes.

Opened sets: openclipart, train part (public domain) and the small clothing set, train part (CC0 1.0).
Scenes are drawn by ``scenes.py``. One picture in ten is for validation, chosen by its file or number and
not by the seed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from omniclef.training.corpus import scenes
from omniclef.training.corpus.reading import rows
from omniclef.training.records import LabelledRecord

__all__ = ["build"]

Rng = np.random.Generator
Wire = dict[str, Any]
Label = bool | str | int

_NONE = ("none of these", "something else", "other", "none")
_NONE_TEXT = ("none of the other options", "anything else", "the picture shows none of the above", None)
_SHOWS = (
    "Does the picture show {}?",
    "Is there {} in the picture?",
    "The image contains {}.",
    "Can you see {}?",
)
_WHAT = (
    "What does the picture show?",
    "What is in the image?",
    "Which of these is shown?",
    "Name the picture.",
)
_CATEGORY = (
    "What kind of thing does the clip art show?",
    "Which category fits the picture?",
    "Sort the drawing.",
    "Which folder does this picture belong to?",
)
_CLOTHES = (
    "Which piece of clothing is in the photo?",
    "What garment is this?",
    "Which department sells this?",
    "Classify the product photo.",
)
_COUNT = ("How many {} are there?", "Count the {}.", "Number of {} in the picture")
_LOOKS = {
    "colour": ("Which colour is the shape?", "What colour is it?", "Colour of the shape"),
    "shape": ("Which shape is drawn?", "What shape is it?", "Name the shape."),
    "place": ("Where is the shape?", "In which part of the picture is it?", "Position of the shape"),
    "background": ("What colour is the background?", "Background colour"),
    "word": ("What does the sign say?", "Which words are written?", "Read the text in the picture."),
}
_GARMENTS = {
    "longsleeve": "a top with long sleeves",
    "outwear": "a jacket or coat",
    "t-shirt": "a t-shirt",
    "pants": "trousers",
    "shoes": "shoes",
    "shorts": "shorts",
    "hat": "a hat",
    "dress": "a dress",
    "skirt": "a skirt",
    "shirt": "a shirt with buttons",
}


def build(data: Path, seed: int, *, drawn: int = 4000, rounds: int = 2) -> Iterator[LabelledRecord]:
    """Every family in turn. ``data`` is the folder that holds ``image/``.

    ``drawn`` counts the scenes; every found picture comes ``rounds`` times, each time with new questions.
    """
    rng = np.random.default_rng(seed)
    art = list(rows(data / "image" / "openclipart.train.jsonl"))
    clothes = list(rows(data / "image" / "clothing.train.jsonl"))
    for _ in range(rounds):
        yield from _clip_art(data, art, rng)
        yield from _clothing(data, clothes, rng)
    yield from _scenes(rng, drawn)


def _split(key: str) -> Literal["train", "valid"]:
    return "valid" if hashlib.sha256(key.encode()).digest()[0] < 26 else "train"


def _one(rng: Rng, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _some(rng: Rng, values: Sequence[str], count: int) -> list[str]:
    return [values[i] for i in rng.permutation(len(values))[:count]]


def _size(rng: Rng, most: int) -> int:
    """How many wrong options: small sets are as likely as all the large ones together."""
    return int(min(round(2 ** rng.uniform(0, np.log2(39))), most))


def _choice(
    rng: Rng,
    asks: Sequence[str],
    right: str,
    wrong: Sequence[str],
    words: dict[str, str] | None = None,
    silent: float = 0.25,
) -> tuple[Wire, Label]:
    """Options in random order; now and then "none of these" is among them, at times as the right one.

    ``silent`` is how often the instruction is left out.
    """
    wrong = _some(rng, [w for w in dict.fromkeys(wrong) if w != right], _size(rng, len(wrong)))
    told = words is not None and rng.random() < 0.5
    criteria: dict[str, str | None] = {key: words.get(key) if told and words else None for key in (right, *wrong)}
    label = right
    if rng.random() < 0.15:
        none = str(_one(rng, _NONE))
        if rng.random() < 0.5 and wrong:
            del criteria[right]
            label = none
        criteria[none] = _one(rng, _NONE_TEXT)
    keys = _some(rng, list(criteria), len(criteria))
    question: Wire = {"type": "choice", "criteria": {key: criteria[key] for key in keys}}
    if rng.random() >= silent:
        question["instructions"] = _one(rng, asks)
    return question, label


def _noul(rng: Rng, thing: str, holds: bool) -> tuple[Wire, Label]:
    return {"type": "noul", "instructions": str(_one(rng, _SHOWS)).format(thing)}, holds


def _record(rng: Rng, family: str, key: str, image: Any, asked: Sequence[tuple[Wire, Label]]) -> LabelledRecord:
    kept = [asked[i] for i in rng.permutation(len(asked))[: int(rng.integers(1, len(asked) + 1))]]
    ids = [f"q{n}" for n in range(len(kept))]
    return LabelledRecord(
        family=family,
        state="",
        images=(image,),
        split=_split(key),
        questions={i: question for i, (question, _) in zip(ids, kept, strict=True)},
        labels={i: label for i, (_, label) in zip(ids, kept, strict=True)},
    )


# --- found pictures ------------------------------------------------------------------------------------


def _category(row: dict[str, Any]) -> str:
    """``food/meats_and_eggs`` to ``meats and eggs``."""
    return str(row["category"]).split("/")[-1].replace("_", " ")


def _title(row: dict[str, Any]) -> str | None:
    """The picture's name without its number, if it reads like words."""
    name = re.sub(r"[\d_]+", " ", str(row["name"])).strip()
    return name if 4 <= len(name) <= 40 and len(name.split()) <= 5 else None


def _clip_art(data: Path, art: Sequence[dict[str, Any]], rng: Rng) -> Iterator[LabelledRecord]:
    categories = sorted({_category(row) for row in art})
    titles = sorted({title for row in art if (title := _title(row))})
    for i in rng.permutation(len(art)):
        row = art[int(i)]
        category, title = _category(row), _title(row)
        other = str(_one(rng, [c for c in categories if c != category]))
        holds = bool(rng.random() < 0.5)
        asked = [
            _choice(rng, _CATEGORY, category, categories),
            _noul(rng, category if holds else other, holds),
        ]
        if title:
            asked.append(_choice(rng, _WHAT, title, _some(rng, titles, 39)))
        yield _record(rng, "openclipart", row["file"], data / row["file"], asked)


def _clothing(data: Path, clothes: Sequence[dict[str, Any]], rng: Rng) -> Iterator[LabelledRecord]:
    garments = list(_GARMENTS)
    for i in rng.permutation(len(clothes)):
        row = clothes[int(i)]
        right = str(row["label"])
        holds = bool(rng.random() < 0.5)
        shown = right if holds else str(_one(rng, [g for g in garments if g != right]))
        asked = [_choice(rng, _CLOTHES, right, garments, _GARMENTS), _noul(rng, _GARMENTS[shown], holds)]
        yield _record(rng, "clothing", row["file"], data / row["file"], asked)


# --- drawn pictures ------------------------------------------------------------------------------------


def _count(rng: Rng, scene: scenes.Scene) -> list[tuple[Wire, Label]]:
    """How many, on an ordered scale and as a yes or no."""
    first = scene.items[0]
    look = (first.shape, first.colour) if rng.random() < 0.5 else (first.shape, None)
    thing = scenes.plural(2, f"{first.colour} {first.shape}" if look[1] else first.shape).removeprefix("two ")
    count = scene.count(shape=look[0], colour=look[1])
    top = int(rng.integers(max(count, 2), 10))
    said = [scenes.COUNTS[n] if n else "none" for n in range(top + 1)]
    levels = said if rng.random() < 0.5 else [str(n) for n in range(top + 1)]
    ask = str(_one(rng, _COUNT)).format(thing)
    more = int(rng.integers(0, 9))
    scale: Wire = {"type": "score", "instructions": ask, "criteria": levels}
    enough: Wire = {"type": "noul", "instructions": f"Are there more than {more} {thing}?"}
    return [(scale, count), (enough, count > more)]


def _looks(rng: Rng, scene: scenes.Scene) -> list[tuple[Wire, Label]]:
    """Colour, shape and place of the first shape of a scene that has one shape."""
    item = scene.items[0]
    asked = [
        _choice(rng, _LOOKS["colour"], item.colour, list(scenes.COLOURS), silent=0.0),
        _choice(rng, _LOOKS["shape"], item.shape, list(scenes.SHAPES), silent=0.0),
        _choice(rng, _LOOKS["background"], scene.background, list(scenes.COLOURS), silent=0.0),
    ]
    if scene.kind == "place":
        asked.append(_choice(rng, _LOOKS["place"], item.place, scenes.PLACES, silent=0.0))
    return asked


def _present(rng: Rng, scene: scenes.Scene) -> tuple[Wire, Label]:
    """Whether a look is there; half of the questions name one that is."""
    item = scene.items[int(rng.integers(len(scene.items)))]
    shape = item.shape if rng.random() < 0.6 else str(_one(rng, list(scenes.SHAPES)))
    colour = item.colour if rng.random() < 0.8 else str(_one(rng, list(scenes.COLOURS)))
    look = f"{colour} {shape}"
    article = "an" if look[0] in "aeiou" else "a"
    return _noul(rng, f"{article} {look}", scene.count(shape=shape, colour=colour) > 0)


def _scenes(rng: Rng, drawn: int) -> Iterator[LabelledRecord]:
    for n in range(drawn):
        scene = scenes.draw(rng)
        if scene.word is not None:
            holds = bool(rng.random() < 0.5)
            other = str(_one(rng, [w for w in scenes.WORDS if w != scene.word]))
            asked = [
                _choice(rng, _LOOKS["word"], scene.word, scenes.WORDS, silent=0.0),
                _noul(rng, f'the text "{scene.word if holds else other}"', holds),
                _choice(rng, _LOOKS["background"], scene.background, list(scenes.COLOURS), silent=0.0),
            ]
        elif scene.kind in ("single", "place"):
            asked = [*_looks(rng, scene), _present(rng, scene)]
        else:
            asked = [*_count(rng, scene), _present(rng, scene)]
        yield _record(rng, f"scenes_{scene.kind}", f"scene {n}", scene.pixels, asked)
