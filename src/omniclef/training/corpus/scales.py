"""Ordinal decisions written by rule: urgency, politeness, anger, satisfaction, severity and more.

A text is made of a neutral core and a cue whose level is known; the core says nothing about the level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omniclef.training.corpus.reading import Asked, Grouped, Rng, grouped, noul, one, score

__all__ = ["scales"]


@dataclass(frozen=True)
class Scale:
    """A question, wordings of its levels (lowest first), and cues for each level.

    frames: how core and cue stand together. threshold: a noul that is true from this level on.
    """

    name: str
    question: str
    levels: tuple[tuple[str, ...], ...]
    cues: tuple[tuple[str, ...], ...]
    cores: tuple[str, ...]
    frames: tuple[str, ...] = ("{core} {cue}", "{cue} {core}")
    threshold: tuple[str, int] | None = None


MATTERS = (
    "The printer on the second floor does not print.", "My order has not arrived.",
    "I cannot open the report.",
    "The invoice shows the wrong address.", "The app closes when I tap on settings.",
    "We need two more chairs.",
    "The heating in room 12 is off.", "My password does not work.", "The coffee machine shows an error.",
    "The website is slow.", "I would like to change my delivery date.", "The lift makes a strange noise.",
    "Our account was charged twice.", "The key card does not open the door.",
    "The translation has some typos.",
    "The backup failed last night.", "I lost my badge.", "The parcel was left in the rain.",
)  # fmt: skip
PRODUCTS = ("a pair of headphones", "a bicycle", "a kettle", "a hotel room", "a jacket", "a desk lamp",
            "a dinner",
            "a suitcase", "a watch", "a phone", "a rug", "a concert ticket", "a blender",
            "a tent")  # fmt: skip
PLACES = ("in the kitchen", "outside", "in Oslo", "in the greenhouse", "on the balcony", "in the cellar",
          "at the lake",
          "in the office", "up on the hill", "in the tent", "in the server room",
          "by the window")  # fmt: skip
BOUGHT = ("I bought a kettle from you.", "We stayed for three nights.", "I took the evening course.",
          "Your team repaired my bike.", "I had the lunch menu.", "I have used the app for a month.",
          "You delivered my sofa on Monday.", "I called your support line.")  # fmt: skip
FACTS = ("The meeting is on Thursday.", "The file was deleted.", "They moved to Madrid.",
         "The shop opens at nine.",
         "The train leaves from platform four.", "She has already paid.", "The figures are right.",
         "He knows the password.", "The road is closed.")  # fmt: skip

SCALES = (
    Scale(
        "urgency",
        "How urgent is it?",
        (("can wait", "this week", "today"), ("low: no hurry", "medium: within days", "high: at once"),
         ("not urgent", "somewhat urgent", "very urgent")),
        (("There is no hurry at all.", "Whenever you have time.", "It can wait until next month.",
          "Just so you know, no rush.", "Low priority from my side.", "Take your time."),
         ("It would be good to have this solved within a few days.", "Please look at it this week.",
          "Could somebody check by Thursday?", "We should fix it before the weekend.",
          "Some time this week is fine."),
         ("This must be fixed right now!", "Everything stands still, please come immediately.",
          "It is an emergency.", "I need it within the hour.", "We lose money every minute.",
          "Please, today, it cannot wait!")),
        MATTERS,
        threshold=("Is the message urgent?", 2),
    ),
    Scale(
        "politeness",
        "How polite is the message?",
        (("rude", "neutral", "polite"), ("impolite", "matter-of-fact", "courteous and friendly")),
        (("Get your act together.", "Are you all asleep over there?", "Don't waste my time again.",
          "Even a child could do this job better.", "Move it."),
         ("Check this.", "This is to inform you.", "Status?", "See above.", "Needs a look."),
         ("Thank you so much for your kind help.", "Would you be so kind as to have a look?",
          "I really appreciate your time.", "Many thanks in advance, and have a lovely day.",
          "I hope you are well; sorry to trouble you.")),
        MATTERS,
    ),
    Scale(
        "anger",
        "How angry is the writer?",
        (("calm", "annoyed", "furious"), ("not angry", "a bit angry", "very angry")),
        (("No problem, these things happen.", "I am sure it is easy to solve.", "Just letting you know.",
          "All good otherwise."),
         ("This is getting tiresome.", "I am a little disappointed.", "That is the second time now.",
          "Slightly annoying."),
         ("I am absolutely livid!", "This is an outrage!", "I have never been treated this badly!!",
          "I am sick of this nonsense!", "You people make my blood boil!")),
        MATTERS,
    ),
    Scale(
        "satisfaction",
        "How satisfied is the customer?",
        (("very unhappy", "unhappy", "neutral", "happy", "very happy"),
         ("terrible", "poor", "okay", "good", "excellent"), ("1 star", "2 stars", "3 stars", "4 stars",
                                                             "5 stars")),
        (("It was a complete disaster.", "Never again, the worst ever.", "Awful from start to end."),
         ("I expected more.", "It was rather poor.", "Not very good, sadly.", "There were several flaws."),
         ("It was okay.", "Neither good nor bad.", "Average, nothing special.",
          "It does what it should, no more."),
         ("I liked it.", "Good work, a few small things aside.", "It was nice.", "Quite pleased with it."),
         ("Absolutely wonderful!", "It could not have been better.", "Perfect in every way!",
          "I am thrilled.")),
        BOUGHT,
        threshold=("Does the message praise us?", 3),
    ),
    Scale(
        "severity",
        "How severe is the problem?",
        (("cosmetic", "minor", "major", "critical"), ("no harm", "small harm", "serious harm",
                                                      "catastrophic")),
        (("Only the colour of a button is off.", "It just looks a bit odd.", "There is a typo on the page."),
         ("One can work around it easily.", "It costs a few extra clicks.",
          "It happens rarely and is harmless."),
         ("Half of the team cannot work.", "Orders are delayed because of it.",
          "An important function is gone."),
         ("All data is lost.", "The whole company is offline.", "People could get hurt.",
          "Every customer is affected.")),
        ("We found this after the update.", "It was reported by the night shift.",
         "Seen on the test machine.",
         "It started on Tuesday.", "A customer wrote to us about it.", "The log shows it, too.",
         "It came up at lunch."),
    ),
    Scale(
        "certainty",
        "How certain is the writer?",
        (("guessing", "fairly sure", "certain"), ("unsure", "rather sure", "completely sure")),
        (("I have no idea, really.", "That is only a guess.", "It might be, I cannot tell.", "Who knows."),
         ("I think so.", "Most likely.", "I am fairly sure.", "As far as I remember."),
         ("There is no doubt.", "I saw it with my own eyes.", "That is a proven fact.",
          "I am absolutely sure.")),
        FACTS,
    ),
    Scale(
        "warmth",
        "How warm is it?",
        (("freezing", "cold", "mild", "warm", "hot"), ("below zero", "0 to 10 degrees", "10 to 20 degrees",
          "20 to 30 degrees", "above 30 degrees")),
        (("the puddles have turned to ice", "it is minus eight degrees", "water freezes at once",
          "snow does not melt"),
         ("one needs a thick coat", "it is five degrees", "it is chilly", "my fingers are cold"),
         ("a light jacket is enough", "it is fifteen degrees", "it is neither cold nor warm",
          "it is pleasantly cool"),
         ("one can sit in a T-shirt", "it is twenty-five degrees", "it is nice and warm",
          "it feels like early summer"),
         ("the heat is hard to bear", "it is thirty-eight degrees", "everybody is sweating",
          "it is scorching")),
        PLACES,
        ("Right now {cue} {core}.", "{cue} {core} today.", "They say that {cue} {core}."),
    ),
    Scale(
        "price",
        "How expensive is the product?",
        (("cheap", "moderate", "expensive"), ("budget", "mid-range", "luxury")),
        (("for almost nothing", "for a few coins", "at a bargain price", "reduced by eighty percent"),
         ("at a fair price", "for the usual price", "for an ordinary sum", "neither cheap nor dear"),
         ("for a small fortune", "for a month's salary", "at a price only the rich pay",
          "outrageously dear")),
        PRODUCTS,
        ("We found {core} {cue}.", "She got {core} {cue}.", "They offer {core} {cue}.",
         "On sale: {core}, {cue}."),
    ),
)  # fmt: skip
OPENINGS = ("", "", "", "Hello, ", "Hi team. ", "Good morning. ", "Note: ", "Dear all, ")
EXTRAS = ("", "", "", " I wrote about it before.", " My number is 4471.", " Greetings from the third floor.",
          " Ask Jonas for details.", " I attached a photo.")  # fmt: skip


def scales(rng: Rng, count: int) -> Iterator[Grouped]:
    seen: set[str] = set()
    for _ in range(4 * count):
        scale = one(rng, SCALES)
        level = int(rng.integers(len(scale.cues)))
        text = one(rng, scale.frames).format(core=one(rng, scale.cores), cue=one(rng, scale.cues[level]))
        text = one(rng, OPENINGS) + text[0].upper() + text[1:] + one(rng, EXTRAS)
        if text in seen:
            continue
        seen.add(text)
        asked: Asked = {scale.name: (score(scale.question, one(rng, scale.levels)), level)}
        if scale.threshold:
            asked["over"] = (noul(scale.threshold[0]), level >= scale.threshold[1])
        yield grouped("scales", text, asked)
        if len(seen) == count:
            return
