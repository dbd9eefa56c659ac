"""Training records about sound: digits, drink orders, wake words, spoken requests and sounds without words.

Real recordings: the train splits of the Free Spoken Digit Dataset (CC BY-SA 4.0), of Picovoice's coffee
orders and of its wake words (Apache-2.0). Everything else is spoken by espeak-ng or computed. Questions are
worded anew for each record; options are subsets, shuffled, with and without descriptions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from omniclef.training.corpus import phrases, synth
from omniclef.training.corpus.speech import Speaker
from omniclef.training.records import LabelledRecord

__all__ = ["COFFEE_SLOTS", "SNIPS", "build", "coffee_value", "draw", "plain", "read", "speakable"]

Rng = np.random.Generator
Wire = dict[str, Any]
Clip = Path | npt.NDArray[np.float32]
Asked = tuple[str, Wire, bool | str | int]
T = TypeVar("T")

SNIPS = {
    "PlayMusic": "play a song, an artist or a list of songs",
    "GetWeather": "ask about the weather",
    "RateBook": "give a rating to a book",
    "BookRestaurant": "reserve a table at a restaurant",
    "SearchCreativeWork": "look for a book, a song, a show or a game by its name",
    "SearchScreeningEvent": "ask when and where films are shown",
    "AddToPlaylist": "add a song or an artist to a playlist",
}
COFFEE_SLOTS = {
    "coffeeDrink": ("Which drink is ordered?", "Name the drink.", "What does the customer want to drink?"),
    "size": (
        "Which size is ordered?",
        "How large should the cup be?",
        "What size does the customer ask for?",
    ),
    "roast": (
        "Which roast is wanted?",
        "How dark should the roast be?",
        "What roast does the customer ask for?",
    ),
    "numberOfShots": (
        "How many shots?",
        "How many shots of espresso does the customer ask for?",
        "Number of shots",
    ),
    "milkAmount": ("Which milk or cream is wanted?", "What kind of milk does the customer ask for?", "Milk"),
    "sugarAmount": (
        "Which sugar or sweetener?",
        "What does the customer want to sweeten it with?",
        "Sweetener",
    ),
}
_VALUES: dict[str, tuple[str, ...]] = {
    "coffeeDrink": phrases.DRINKS[:10],
    "size": phrases.SIZES,
    "roast": phrases.ROASTS,
    "numberOfShots": phrases.SHOTS,
    "milkAmount": ("almond milk", "soy milk", "skim milk", "whole milk", "cream", "milk"),
    "sugarAmount": ("brown sugar", "sugar", "sweetener"),
}
_OURS = {"drink": "coffeeDrink", "shots": "numberOfShots", "milk": "milkAmount", "sugar": "sugarAmount"}
_NOTHING = ("none", "not said", "nothing", "not mentioned")
_AMOUNTS = ("", "some", "a bit of", "a little bit of", "lots of", "a lot of")
_UNSAID = {name: "the order does not mention it" for name in _NOTHING}


def build(
    data: Path, seed: int, *, orders: int = 2500, spoken: int = 1000, cache: Path | None = None
) -> Iterator[LabelledRecord]:
    """Every family in turn. ``data`` is the folder with ``audio/``, ``text/`` and ``bench/``.

    ``orders`` and ``spoken`` count the records that espeak-ng speaks: drinks, and requests and other texts; ``cache``
    keeps their sound between runs. One record in ten is for validation, chosen by its clip or text and not by the seed.
    """
    rng = np.random.default_rng(seed)
    yield from _digits(data, rng)
    yield from _coffee(data, rng)
    yield from _wake(data, rng)
    speaker = Speaker(cache)
    yield from _spoken_orders(speaker, rng, orders, seed)
    yield from _spoken_intents(data, speaker, rng, spoken // 2, seed)
    yield from _spoken_texts(data, speaker, rng, spoken // 2, seed)
    yield from _generated(rng)


def read(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def coffee_value(slot: str, said: str | None) -> str:
    """The class of what was said in a slot of a coffee order, without its amount; "none" if nothing was."""
    if said is None or said.startswith("no "):
        return "none"
    for value in _VALUES[slot]:
        if value in said if slot in ("milkAmount", "sugarAmount") else value == said.strip():
            return value
    return said.strip()


# --- wording -------------------------------------------------------------------------------------------


def _split(key: str) -> Literal["train", "valid"]:
    return "valid" if hashlib.sha256(key.encode()).digest()[0] < 26 else "train"


def _one(rng: Rng, values: Sequence[str]) -> str:
    return values[int(rng.integers(len(values)))]


def _choice(
    rng: Rng,
    asks: Sequence[str],
    right: str,
    others: Sequence[str],
    words: Mapping[str, str | None] | None = None,
) -> Wire:
    """A choice between ``right`` and some of ``others``, at least one, in random order; a quarter have no
    instruction.
    """
    most = len(others)
    count = most if rng.random() < 0.4 else int(rng.integers(1, most + 1))
    keys = [right, *(others[i] for i in rng.permutation(most)[:count])]
    told = bool(words) and rng.random() < 0.6
    criteria = {keys[i]: (words or {}).get(keys[i]) if told else None for i in rng.permutation(len(keys))}
    question: Wire = {"type": "choice", "criteria": criteria}
    if rng.random() < 0.75:
        question["instructions"] = _one(rng, asks)
    return question


def _noul(rng: Rng, asks: Sequence[str], about: str) -> Wire:
    question: Wire = {"type": "noul", "instructions": _one(rng, asks).format(about)}
    if rng.random() < 0.2:
        question["criteria"] = {"true": f"it is {about}", "false": f"it is not {about}"}
    return question


def _state(rng: Rng) -> str:
    return _one(rng, ("", "", "", "A recording.", "Listen to the clip.", "The caller said this."))


_SPEECH = (
    "Does somebody speak words?",
    "Is there speech in this recording?",
    "Can a person be heard talking?",
)


def _record(
    family: str,
    rng: Rng,
    clip: Clip,
    asked: Sequence[Asked],
    key: str,
    talks: bool = True,
) -> LabelledRecord:
    speech: Wire = {"type": "noul", "instructions": _one(rng, _SPEECH)}
    asked = [*asked, ("speech", speech, talks)] if rng.random() < 0.3 else list(asked)
    order = [asked[i] for i in rng.permutation(len(asked))]
    return LabelledRecord(
        family=family,
        state=_state(rng),
        questions={name: question for name, question, _ in order},
        labels={name: label for name, _, label in order},
        audio=(clip,),
        split=_split(key),
    )


def _yes_no(rng: Rng, right: str, others: Sequence[str], asks: Sequence[str]) -> tuple[Wire, bool]:
    truth = bool(rng.random() < 0.5)
    return _noul(rng, asks, right if truth else _one(rng, others)), truth


# --- real recordings -----------------------------------------------------------------------------------


def _digits(data: Path, rng: Rng) -> Iterator[LabelledRecord]:
    asks = (
        "Which digit is spoken?",
        "What number does the speaker say?",
        "Spoken digit",
        "Which number do you hear?",
    )
    for row in [row for row in read(data / "audio/fsdd.train.jsonl") for _ in range(3)]:
        value = int(row["label"])
        style = int(rng.integers(3))
        names = phrases.DIGITS if style else tuple("0123456789")
        words = {name: f"the digit {value_}" for value_, name in enumerate(phrases.DIGITS)} if style == 2 else None
        if not style:
            words = dict(zip(names, phrases.DIGITS, strict=True))
        others = [name for name in names if name != names[value]]
        said = phrases.DIGITS[value]
        noul, truth = _yes_no(
            rng,
            said,
            [d for d in phrases.DIGITS if d != said],
            ("Is the spoken digit {}?", "Does the speaker say {}?"),
        )
        size: Wire = {
            "type": "score",
            "instructions": "How large is the spoken number?",
            "criteria": ["zero to two", "three to six", "seven to nine"],
        }
        asked: list[Asked] = [
            ("digit", _choice(rng, asks, names[value], others, words), names[value]),
            ("same", noul, truth),
            ("size", size, (value > 2) + (value > 6)),
        ]
        yield _record("fsdd", rng, data / row["file"], asked, row["file"])


def _slot_questions(rng: Rng, said: Mapping[str, str]) -> list[Asked]:
    """Three to six of the slots as choices, and one as a noul; ``said`` holds the words of each slot that was filled.

    Half of the time milk and sugar are asked for with their amounts: "a bit of cream" is another option than "cream".
    """
    values = {slot: coffee_value(slot, said.get(slot)) for slot in COFFEE_SLOTS}
    nothing = _one(rng, _NOTHING)
    asked: list[Asked] = []
    for slot in [list(COFFEE_SLOTS)[i] for i in rng.permutation(6)[: int(rng.integers(3, 7))]]:
        right, options = values[slot], list(_VALUES[slot])
        if slot in ("milkAmount", "sugarAmount") and rng.random() < 0.5:
            options = [f"{amount} {kind}".strip() for kind in options for amount in _AMOUNTS]
            right = right if right == "none" else said[slot].strip()
        right = nothing if right == "none" else right
        if slot != "coffeeDrink" or rng.random() < 0.5:
            options.append(nothing)
        asked.append(
            (slot, _choice(rng, COFFEE_SLOTS[slot], right, [v for v in options if v != right], _UNSAID), right)
        )
    truth = bool(rng.random() < 0.5)
    slot = _one(rng, [name for name in COFFEE_SLOTS if values[name] != "none"] if truth else list(COFFEE_SLOTS))
    about = values[slot] if truth else _one(rng, [v for v in _VALUES[slot] if v != values[slot]])
    asks = ("Does the customer ask for {}?", "Is {} part of the order?", "Did the customer order {}?")
    return [*asked, ("wants", _noul(rng, asks, about), truth)]


_INTENTS = {
    "order a drink": "the customer orders something to drink",
    "complain": "the customer is not happy with what they got",
    "pay the bill": "the customer wants to pay",
    "ask for opening hours": "the customer wants to know when the shop is open",
    "cancel": "the customer takes an order back",
    "small talk": "nothing in particular is asked for",
}


def _coffee(data: Path, rng: Rng) -> Iterator[LabelledRecord]:
    asks = ("What does the customer want to do?", "Intent of the caller", "Why does this person speak?")
    for row in read(data / "audio/coffee_orders.train.jsonl"):
        for _ in range(6):
            asked = _slot_questions(rng, row["slots"])
            intent = _choice(rng, asks, "order a drink", list(_INTENTS)[1:], _INTENTS)
            yield _record(
                "coffee_orders",
                rng,
                data / row["file"],
                [*asked, ("intent", intent, "order a drink")],
                row["file"],
            )


def _wake(data: Path, rng: Rng) -> Iterator[LabelledRecord]:
    asks = ("Which wake word is spoken?", "What does the speaker say?", "Which name is called?")
    for row in read(data / "audio/wake_words.train.jsonl"):
        others = [word for word in phrases.WAKE_WORDS if word != row["label"]]
        noul, truth = _yes_no(rng, row["label"], others, ("Does the speaker say {}?", "Is the wake word {}?"))
        asked: list[Asked] = [
            ("word", _choice(rng, asks, row["label"], others), row["label"]),
            ("same", noul, truth),
        ]
        yield _record("wake_words", rng, data / row["file"], asked, row["file"])


# --- made by us ----------------------------------------------------------------------------------------


def _spoken_orders(speaker: Speaker, rng: Rng, count: int, seed: int) -> Iterator[LabelledRecord]:
    for _ in range(count):
        text, slots = phrases.drink_order(rng)
        said = {_OURS.get(name, name): words for name, words in slots.items()}
        found = {slot: coffee_value(slot, words) for slot, words in said.items()}
        if any(value != "none" and value not in _VALUES[slot] for slot, value in found.items()):
            continue  # a drink or a milk that the real menu does not have
        ((_, clip),) = speaker.say_all([text], seed)
        yield _record("spoken orders", rng, clip, _slot_questions(rng, said), text)


def _spoken_intents(data: Path, speaker: Speaker, rng: Rng, count: int, seed: int) -> Iterator[LabelledRecord]:
    asks = (
        "What does the user want?",
        "Intent of the spoken request",
        "Which of these does the caller ask for?",
    )
    snips = [(row["text"], row["label"], SNIPS) for row in read(data / "text/snips.train.jsonl")]
    schemas = {row["service"]: row["intents"] for row in read(data / "bench/sgd/schemas.jsonl")}
    dialogues = [
        (row["utterance"], row["intent"], schemas[row["service"]])
        for row in read(data / "bench/sgd/train.jsonl")
        if row["intent"] in schemas[row["service"]] and len(schemas[row["service"]]) > 1 and not row["context"]
    ]
    pool = [*draw(rng, snips, count), *draw(rng, dialogues, count)]
    chosen = [row for row in pool if speakable(row[0])]
    for text, label, intents in draw(rng, chosen, count):
        ((_, clip),) = speaker.say_all([plain(text)], seed)
        named = {_spaced(name): told for name, told in intents.items()}
        right = _spaced(label)
        question = _choice(rng, asks, right, [name for name in named if name != right], named)
        yield _record("spoken requests", rng, clip, [("intent", question, right)], text)


def _spoken_texts(data: Path, speaker: Speaker, rng: Rng, count: int, seed: int) -> Iterator[LabelledRecord]:
    """Which of these texts is spoken: words among words, sentences among sentences."""
    asks = ("What is said?", "Which of these is spoken?", "Choose the words of the speaker.", "Transcript")
    sentences = [row["text"] for row in read(data / "text/go_emotions.train.jsonl")]
    sentences += [row["utterance"] for row in read(data / "bench/sgd/train.jsonl")]
    sentences = [plain(text) for text in draw(rng, [s for s in sentences if speakable(s)], count)]
    commands = [phrases.command(rng) for _ in range(count)]
    pools = (list(phrases.WORDS), sorted(set(sentences)), sorted(set(commands)))
    for _ in range(count):
        pool = pools[int(rng.integers(3))]
        if len(pool) < 2:
            continue
        right, *others = draw(rng, pool, int(rng.integers(2, 21)))
        ((_, clip),) = speaker.say_all([right], seed)
        noul, truth = _yes_no(rng, right, others, ('Does the speaker say "{}"?', 'Is "{}" what was said?'))
        asked: list[Asked] = [("said", _choice(rng, asks, right, others), right), ("same", noul, truth)]
        yield _record("spoken texts", rng, clip, asked, right)


def _generated(rng: Rng, each: int = 12) -> Iterator[LabelledRecord]:
    asks = ("What makes this sound?", "Which sound is this?", "What can be heard?", "Kind of sound")
    kinds = list(synth.KINDS)
    for kind in kinds:
        for index in range(each):
            clip = synth.make(kind, rng, float(rng.uniform(0.8, 4.0)))
            name = _one(rng, (kind, *synth.KINDS[kind][1]))
            rest = [k for k in draw(rng, kinds, int(rng.integers(2, 20))) if k != kind and not _akin(k, kind)]
            others = [_one(rng, (k, *synth.KINDS[k][1])) for k in rest] or ["someone speaks"]
            noul, truth = _yes_no(rng, name, others, ("Can you hear this: {}?", "Is this the sound of {}?"))
            asked: list[Asked] = [("sound", _choice(rng, asks, name, others), name), ("hear", noul, truth)]
            yield _record("generated sounds", rng, clip, asked, f"{kind} {index}", talks=False)


_AKIN = (
    {"siren", "ambulance", "alarm"}, {"beep", "beeping", "tone", "alarm"}, {"rain", "static",
    "running water", "sea waves"},
    {"engine", "engine revving"}, {"applause", "clapping", "rain"}, {"explosion", "thunder", "gunshots"},
    {"bell", "doorbell"}, {"chords", "piano", "guitar", "violin", "flute", "drums"}, {"drill",
    "vacuum cleaner", "airplane"},
    {"wind", "sea waves", "breathing"}, {"tone", "hum", "dial tone"}, {"dripping", "running water"},
    {"knocking", "footsteps"},
)  # fmt: skip
"""Kinds that an honest listener may confuse: never offered against each other."""


def _akin(a: str, b: str) -> bool:
    return any(a in group and b in group for group in _AKIN)


def draw(rng: Rng, values: Sequence[T], count: int) -> list[T]:
    """At most ``count`` of the values, drawn without return."""
    return [values[i] for i in rng.permutation(len(values))[:count]]


def speakable(text: str) -> bool:
    """Short enough to say, three to fourteen words, and plain ASCII."""
    return 3 <= len(text.split()) <= 14 and len(text) < 95 and text.isascii()


def plain(text: str) -> str:
    """Only what is spoken: letters, digits and the marks that shape a sentence."""
    return re.sub(r"\s+", " ", re.sub(r"[^A-Za-z0-9 ,.?!']", " ", text)).strip()


def _spaced(name: str) -> str:
    """CamelCase to words: "BookRestaurant" is "book restaurant"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
