"""Records with one decisive place: a sentence among twenty neutral ones, a picture among three. Made from seeds.

Knows what was planted where; knows nothing of models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from omniclef.answers import Evidence

__all__ = ["PICTURES", "TOPICS", "Planted", "Topic", "planted_pictures", "planted_sentence"]

NEUTRAL = """
The meeting room on the second floor has been painted. We had soup for lunch. It rained most of the morning.
The bus was full again. My colleague has a new bicycle. The garden behind the house looks nice in spring.
There was a long queue at the bakery. The train passed through a tunnel. I read the newspaper at breakfast.
The neighbours have two cats. The lamp in the corridor is green. We took the stairs to the third floor.
The museum opens at ten. The radio played an old song. She wore a blue scarf. The tea was still warm.
They planted trees along the road. He waved from the window. The library is next to the park.
The calendar hangs beside the door. A leaf fell onto the bench. We walked along the river. The bread was fresh.
The clock in the hall is round. My aunt lives near the sea. The children played outside. The sky was clear at night.
The table is made of oak. Some birds sat on the roof. The street was quiet on Sunday.
"""


@dataclass(frozen=True, slots=True)
class Topic:
    """One question, and sentences that decide it for one of its options."""

    name: str
    question: dict[str, Any]
    decisive: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Planted:
    """A record with one question, the option that was planted, and where."""

    state: Any
    question: dict[str, Any]
    option: str
    path: str | None = None
    span: tuple[int, int] = (0, 0)
    images: tuple[Path, ...] = ()
    index: int = 0

    def holds(self, piece: Evidence) -> bool:
        """Whether a piece of evidence lies in what was planted."""
        if piece.modality == "image":
            return piece.index == self.index and bool(self.images)
        return piece.path == self.path and self.span[0] <= piece.span[0] and piece.span[1] <= self.span[1]


TOPICS = (
    Topic(
        "team",
        {
            "type": "choice",
            "instructions": "Which team should handle this message?",
            "criteria": {
                "billing": "payments, invoices and refunds",
                "technical": "bugs, crashes and outages",
                "shipping": "parcels and deliveries",
                "sales": None,
            },
        },
        {
            "billing": (
                "I was charged twice on my last invoice.",
                "Please refund the payment you took from my card.",
                "The amount on my bill is wrong and I want my money back.",
            ),
            "technical": (
                "The app crashes every time I open the settings page.",
                "Your website shows an error and nothing loads.",
                "Since the update the software freezes at login.",
            ),
            "shipping": (
                "My parcel has not been delivered yet.",
                "The package was sent to the wrong address.",
                "The courier left the delivery at another house.",
            ),
        },
    ),
    Topic(
        "refund",
        {"type": "noul", "instructions": "Does the customer ask for a refund?"},
        {
            "true": (
                "I want a full refund for this order.",
                "Please give me my money back for the broken kettle.",
                "I am asking you to refund the forty dollars I paid.",
            )
        },
    ),
    Topic(
        "threat",
        {"type": "noul", "instructions": "Does the author threaten to take legal action?"},
        {
            "true": (
                "My lawyer will sue your company next week.",
                "I will take you to court over this.",
                "Expect a lawsuit from my attorney.",
            )
        },
    ),
    Topic(
        "intent",
        {
            "type": "choice",
            "instructions": "What does the user want to do?",
            "criteria": dict.fromkeys(
                ["book_flight", "cancel_subscription", "reset_password", "find_restaurant", "set_alarm", "play_music"]
            ),
        },
        {
            "book_flight": ("Could you book me a flight to Madrid?", "I need a plane ticket to Oslo on Friday."),
            "cancel_subscription": ("Please cancel my subscription.", "I would like to end my monthly plan now."),
            "reset_password": ("I forgot my password and need a new one.", "How can I reset the password?"),
            "find_restaurant": ("Where can we eat good Italian food tonight?", "Find me a restaurant close by."),
            "set_alarm": ("Wake me up at six tomorrow.", "Set an alarm for half past seven."),
        },
    ),
    Topic(
        "urgency",
        {
            "type": "score",
            "instructions": "How urgent is the problem?",
            "criteria": ["no problem is mentioned", "can wait a few days", "an emergency that needs help immediately"],
        },
        {
            "2": (
                "Help, there is a fire in the server room, call somebody immediately!",
                "This is an emergency, water is flooding the basement right now!",
                "A man is unconscious, please send an ambulance at once!",
            )
        },
    ),
    Topic(
        "topic",
        {
            "type": "choice",
            "instructions": "What is the text about?",
            "criteria": {
                "sports": "matches, teams and athletes",
                "finance": "stocks, banks and markets",
                "medicine": "illness, doctors and treatment",
                "politics": "elections, parties and government",
            },
        },
        {
            "sports": ("The striker scored twice in the final match.", "Our team won the football championship."),
            "finance": ("Shares fell sharply after the central bank raised rates.", "Investors sold stocks in panic."),
            "medicine": ("The doctor prescribed antibiotics for the infection.", "The patient needs heart surgery."),
            "politics": ("Parliament voted against the new election law.", "The president dissolved the government."),
        },
    ),
)


def planted_sentence(topic: Topic, rng: np.random.Generator, count: int = 20, as_json: bool = False) -> Planted:
    """One of the topic's sentences at a random place among ``count - 1`` neutral ones; as text or in a JSON object."""
    pool = [sentence.strip() + "." for sentence in " ".join(NEUTRAL.split()).split(".") if sentence.strip()]
    option = str(rng.choice(sorted(topic.decisive)))
    decisive = str(rng.choice(topic.decisive[option]))
    place = int(rng.integers(0, count))
    said = [str(sentence) for sentence in rng.choice(pool, count - 1, replace=False)]
    said.insert(place, decisive)
    text = " ".join(said)
    start = sum(len(sentence) + 1 for sentence in said[:place])
    span = (start, start + len(decisive))
    if as_json:
        state = {"id": 4711, "ticket": {"body": text, "from": "web"}}
        return Planted(state, topic.question, option, "/ticket/body", span)
    return Planted(text, topic.question, option, None, span)


KINDS = {
    "animals/birds": "a bird",
    "transportation/vehicles": "a vehicle",
    "food/fruit": "a fruit",
    "plants/flowers": "a flower",
    "computer/hardware": "a computer",
    "signs_and_symbols/flags": "a flag",
    "recreation/music": "a musical instrument",
    "buildings/homes": "a house",
}
PICTURES = ("choice", "noul")


def planted_pictures(kind: str, data: Path, rng: np.random.Generator) -> Planted:
    """A picture of one of four kinds that a choice names, or of the kind a noul asks about, with two of other kinds."""
    by = _pictures(data)
    names = [str(name) for name in rng.permutation(sorted(KINDS))]
    chosen, others = names[0], names[4:]
    files = [by[name][int(rng.integers(0, len(by[name])))] for name in (chosen, *others[:2])]
    index = int(rng.integers(0, 3))
    images = files[1:]
    images.insert(index, files[0])
    if kind == "noul":
        question: dict[str, Any] = {"type": "noul", "instructions": f"Does one of the pictures show {KINDS[chosen]}?"}
        return Planted("", question, "true", images=tuple(images), index=index)
    criteria = dict.fromkeys(KINDS[name] for name in sorted(names[:4]))
    question = {"type": "choice", "instructions": "What is in one of the pictures?", "criteria": criteria}
    return Planted("", question, KINDS[chosen], images=tuple(images), index=index)


@cache
def _pictures(data: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {name: [] for name in KINDS}
    for line in (data / "image/openclipart.test.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["category"] in found:
            found[row["category"]].append(data / row["file"])
    return found
