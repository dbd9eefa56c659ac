"""Sets of single texts with an open licence: emotion, harm, personal data, attacks, spam, sarcasm, level.

Train parts only. Licences and sources stand in ``text.FAMILIES``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from omniclef.training.corpus.reading import (
    Asked,
    Grouped,
    Rng,
    bucket,
    choice,
    chosen,
    cut,
    grouped,
    noul,
    one,
    rows,
    score,
)

__all__ = [
    "EMOTIONS",
    "clickbait",
    "davidson",
    "go_emotions",
    "http_params",
    "isarcasm",
    "onestop",
    "presidio",
    "spamassassin",
    "surge",
]

EMOTIONS = {
    "admiration": "finding somebody or something impressive",
    "amusement": "finding something funny",
    "anger": "strong displeasure at somebody or something",
    "annoyance": "mild anger, being irritated",
    "approval": "agreeing, having a good opinion",
    "caring": "kindness and concern for others",
    "confusion": "not understanding",
    "curiosity": "wanting to know more",
    "desire": "wishing for something",
    "disappointment": "sad that hopes were not met",
    "disapproval": "disagreeing, having a bad opinion",
    "disgust": "revulsion at something unpleasant",
    "embarrassment": "feeling ashamed or awkward",
    "excitement": "great enthusiasm",
    "fear": "being afraid or worried",
    "gratitude": "being thankful",
    "grief": "deep sorrow, as after a death",
    "joy": "pleasure and happiness",
    "love": "strong affection",
    "nervousness": "being anxious and uneasy",
    "optimism": "hope that things go well",
    "pride": "pleasure in one's own or others' achievements",
    "realization": "becoming aware of something",
    "relief": "comfort after worry is over",
    "remorse": "regret for what one has done",
    "sadness": "being unhappy",
    "surprise": "being astonished",
    "neutral": "no particular feeling",
}

PERSONAL = {
    "PERSON": "the name of a person",
    "EMAIL_ADDRESS": "an email address",
    "PHONE_NUMBER": "a phone number",
    "STREET_ADDRESS": "a street address",
    "CREDIT_CARD": "a credit card number",
    "IBAN_CODE": "a bank account number",
    "ORGANIZATION": "the name of a company or organisation",
    "GPE": "the name of a city, state or country",
    "DATE_TIME": "a date or a time",
    "AGE": "somebody's age",
    "IP_ADDRESS": "an IP address",
    "US_SSN": "a social security number",
    "DOMAIN_NAME": "an internet domain",
    "ZIP_CODE": "a postal code",
    "NRP": "a nationality, religion or political group",
    "TITLE": "a form of address such as Mr or Dr",
}

ATTACKS = {
    "normal value": "an ordinary value without any attack",
    "SQL injection": "database commands smuggled into the value",
    "cross-site scripting": "script code meant to run in another user's browser",
    "command injection": "shell commands meant to run on the server",
    "path traversal": "a path that climbs out of its folder to reach other files",
}

HARM = {
    "hate speech": "attacks a group of people for what they are",
    "offensive language": "vulgar or insulting words, without hatred of a group",
    "neither": "neither hateful nor offensive",
}

READING = (
    "elementary: short sentences and simple words",
    "intermediate",
    "advanced: long sentences and rare words",
)


def go_emotions(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    names = list(EMOTIONS)
    for row in chosen(rng, list(rows(data / "text/go_emotions.train.jsonl")), count):
        felt = set(row["labels"])
        asked: Asked = {}
        if len(felt) == 1:
            asked["emotion"] = (choice("Which emotion does the comment express?", EMOTIONS), row["labels"][0])
        shown = rng.random() < 0.5
        name = one(rng, sorted(felt)) if shown else one(rng, [n for n in names[:-1] if n not in felt])
        if name != "neutral":
            asked["shows"] = (
                noul(f"Does the comment express {name}?", EMOTIONS[name].capitalize() + "."),
                shown,
            )
        if asked:
            yield grouped("go_emotions", row["text"], asked)


def davidson(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    """Only tweets whose annotators agreed by two thirds; classes evened out up to a ratio of two."""
    seen: Counter[str] = Counter()
    for row in chosen(rng, list(rows(data / "text/davidson_hate_offensive.train.jsonl")), 6000):
        label = row["label"]
        if max(row["votes"]) * 3 < 2 * sum(row["votes"]) or seen[label] * 2.2 > count:
            continue
        seen[label] += 1
        asked: Asked = {"harm": (choice("Is the message hate speech, offensive or neither?", HARM), label)}
        asked["offensive"] = (noul("Is the language offensive?"), label != "neither")
        yield grouped("davidson", row["text"], asked)
        if seen.total() == count:
            return


def presidio(data: Path, rng: Rng) -> Iterator[Grouped]:
    """Any personal data at all, and one or two kinds of it, present and absent."""
    for row in rows(data / "text/presidio_pii.train.jsonl"):
        kinds = {kind for _, _, kind in row["spans"]}
        asked: Asked = {"personal": (noul("Does the text contain personal data?"), bool(kinds))}
        known = [k for k in PERSONAL if k in kinds]
        absent = [k for k in PERSONAL if k not in kinds]
        for kind in chosen(rng, known, 1) + chosen(rng, absent, 1):
            asked[kind.lower()] = (noul(f"Does the text contain {PERSONAL[kind]}?"), kind in kinds)
        yield grouped("presidio_pii", row["text"], asked)


def http_params(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    """Rare attacks all stay; the two common classes fill the rest."""
    seen: Counter[str] = Counter()
    for row in chosen(rng, list(rows(data / "text/http_params.train.jsonl")), 5000):
        if seen[row["attack"]] >= count * 0.45:
            continue
        seen[row["attack"]] += 1
        state = row["payload"] if bucket(row["payload"], 3) else {"parameter": "q", "value": row["payload"]}
        asked: Asked = {
            "attack": (choice("Which attack does this parameter value carry?", ATTACKS), row["attack"])
        }
        asked["malicious"] = (noul("Is this input an attack?"), row["label"] == "anom")
        yield grouped("http_params", state, asked, row["payload"])


def clickbait(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    kinds = {"clickbait": "teases the reader into clicking", "news": "tells plainly what happened"}
    for row in chosen(rng, list(rows(data / "text/clickbait.train.jsonl")), count):
        lure = row["label"] == "clickbait"
        asked: Asked = {"clickbait": (noul("Is this headline clickbait?"), lure)}
        asked["headline"] = (choice("What kind of headline is this?", kinds), "clickbait" if lure else "news")
        yield grouped("clickbait", row["text"], asked)


def spamassassin(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    folders = {"inbox": "wanted mail", "spam": "advertising, scams and other unwanted mail"}
    for row in chosen(rng, list(rows(data / "text/spamassassin.train.jsonl")), count):
        spam = row["label"] == "spam"
        state = {"subject": cut(row["subject"], 20), "body": cut(row["body"], 60)}
        asked: Asked = {"spam": (noul("Is this email spam?"), spam)}
        asked["folder"] = (choice("Where should this mail go?", folders), "spam" if spam else "inbox")
        yield grouped("spamassassin", state, asked)


def isarcasm(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    found = list(rows(data / "text/isarcasm.train.jsonl"))
    sarcastic = [row for row in found if row["label"] == "sarcastic"]
    sincere = [row for row in found if row["label"] != "sarcastic"]
    for row in sarcastic + chosen(rng, sincere, count - len(sarcastic)):
        asked: Asked = {"sarcasm": (noul("Is the author being sarcastic?"), row["label"] == "sarcastic")}
        yield grouped("isarcasm", row["text"], asked)


def surge(data: Path) -> Iterator[Grouped]:
    for row in rows(data / "text/surge_toxicity.jsonl"):
        if len(row["text"].split()) <= 120:
            asked: Asked = {"toxic": (noul("Is the comment toxic?"), row["label"] == "toxic")}
            yield grouped("surge_toxicity", row["text"], asked)


def onestop(data: Path) -> Iterator[Grouped]:
    names = [level.split(":")[0] for level in READING]
    for row in rows(data / "text/onestop_english.train.jsonl"):
        asked: Asked = {
            "level": (score("How hard is this text to read?", READING), names.index(row["label"]))
        }
        yield grouped("onestop_english", cut(row["text"], 90), asked, row["doc"])
