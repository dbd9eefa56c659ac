"""Talks between a user and an assistant with tools, written by rule: which tool comes next?

Each talk is a plan of steps (sign in first, look up before acting, one goal after another) told in turns;
every call of the plan is one record whose state ends just before that call. What there is to learn: the
latest open request decides, a step already done is not repeated, access comes before everything that needs
it, and a request that no tool covers belongs to none of them. Goals come from Seal-Tools' catalogue
(Apache-2.0) and from our own grid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from omniclef.training.corpus.entities import (
    ACTIONS,
    AUTH_TOOLS,
    ENTITIES,
    SEARCH_TOOLS,
    action_tools,
    details,
)
from omniclef.training.corpus.reading import Asked, Grouped, Rng, choice, chosen, grouped, noul, one
from omniclef.training.corpus.tools import Catalogue, Tool
from omniclef.training.corpus.wordings import NONE_OPTIONS

__all__ = ["dialogues"]

NEXT = "Which tool should be called next?"

ASKS = (
    "I'd like to {d}.", "Can you {d}?", "Please {d}.", "I need somebody to {d} for me.",
    "Could you help me {d}?",
    "How do I {d}? Can you do it?", "{D}, please.", "I was wondering if you could {d}.",
    "My boss wants me to {d}.",
    "I have to {d} today.",
)  # fmt: skip
LOOSE = (
    "I have a question about {f}. I want to {d}.",
    "Hi! It's about {f}: can you {d}?",
    "Hello, I work in {f} and need to {d}.",
)
SECOND = (
    "Thanks. ",
    "Great, thank you. ",
    "Perfect. Next: ",
    "Good. One more thing: ",
    "Nice, and now something else. ",
)
DONE = ("Done.", "That worked.", "It is taken care of.", "Here is the result.", "All set.")
MORE = (" Anything else?", " Can I help with something else?", "", " What else can I do?")
NEEDS_ACCESS = (
    "Before I can do that, I need to know who you are. What are your user name and password?",
    "Sure. For this I need access to your account. Please give me your login data.",
    "I can help. May I have your account name and password first?",
    "That needs a verified account. Could you tell me your user name and password?",
)
WILL_SIGN_IN = (
    "Let me sign you in first.",
    "Alright, I will check your account first.",
    "Thanks, I will log you in now.",
)
CREDENTIALS = (
    "My user name is {u} and the password is {p}.", "It's {u}, password {p}.", "{u} / {p}",
    "Sure, account {u}, and {p} is my password.",
)  # fmt: skip
ASK_ID = (
    "Do you know its id?",
    "Which one do you mean? An id would help.",
    "Could you give me the number of it?",
)
NO_ID = ("I don't have the id.", "No, I don't know the number.", "I'm not sure, can you look it up?")
USERS = (
    "jsmith",
    "marta_k",
    "otis88",
    "li.wei",
    "farah",
    "tomasz",
    "user4021",
    "bea.novak",
    "kofi_a",
    "nina",
)
SECRETS = ("pass1234", "sunny!day", "qwe987", "horse-battery", "Blue42", "t0psecret", "abc_2020", "winter#9")
VALUES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"date|day", ("2024-03-01", "May 12", "next Friday", "2023-11-30", "tomorrow")),
    (r"time|hour", ("9 am", "14:30", "noon", "half past six")),
    (r"e-?mail", ("anna@example.com", "office@example.org")),
    (
        r"name|author|artist|person|customer",
        ("Maria Lopez", "John Becker", "Aiko Tanaka", "Sam Okafor", "Lena"),
    ),
    (
        r"city|location|place|address|country|region",
        ("Lisbon", "Toronto", "Nairobi", "Berlin", "Chile", "Osaka"),
    ),
    (r"amount|price|salary|cost|budget|value", ("250", "1,400", "75 dollars", "90 euros")),
    (r"number|count|quantity|age|level|size|percent|duration|length|weight", ("3", "12", "45", "7")),
    (r"id\b|_id|identifier|code", ("A-4471", "88213", "ZX90", "ref-1029")),
)


@dataclass
class Talk:
    """Turns so far, what they were about, and the states before each call with the tool called there."""

    rng: Rng
    turns: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[list[dict[str, Any]], Tool]] = field(default_factory=list)
    goals: list[Tool] = field(default_factory=list)
    token: bool = False  # whether signing in gives one

    def user(self, text: str) -> None:
        self.turns.append({"role": "user", "text": text})

    def assistant(self, text: str) -> None:
        self.turns.append({"role": "assistant", "text": text})

    def call(self, tool: Tool, result: Any) -> None:
        self.calls.append((list(self.turns), tool))
        self.goals.append(tool)
        self.turns.append({"role": "api", "api_name": tool.name, "result": result})


def dialogues(
    tools: Catalogue, goals: Sequence[Tool], family: str, rng: Rng, count: int, grid: float = 0.4
) -> Iterator[Grouped]:
    """``count`` records of talks about ``goals``; those of one talk share a group.

    grid: share of requests about things of our own grid instead.
    """
    stored: dict[tuple[str, str], Tool] = {}
    real = {row["calling"][0]["api"]: row["query"] for row in tools.requests if len(row["calling"]) == 1}
    made = number = 0
    while made < count:
        number += 1
        talk = Talk(rng)
        listed: list[Tool] = []
        access = one(rng, AUTH_TOOLS) if rng.random() < 0.55 else None
        needs_access = access is not None and rng.random() < 0.75
        for turn in range(1 + int(rng.random() < 0.5) + int(rng.random() < 0.15)):
            opening = one(rng, SECOND) if turn else ""
            tell = _grid if rng.random() < grid else _goal
            tell(talk, listed, goals, stored, real, opening, access if needs_access and not turn else None)
        listed += [access] if access else []
        for state, tool in talk.calls[:4]:
            asked = _asked(state, tool, talk, listed, tools, rng, needs_access and talk.token)
            made += 1
            yield grouped(family, state, asked, f"{number}")


def _goal(
    talk: Talk, listed: list[Tool], goals: Sequence[Tool], stored: dict[tuple[str, str], Tool],
    real: dict[str, str], opening: str, access: Tool | None,
) -> None:  # fmt: skip
    """A request for one tool of the catalogue, and its missing parameter."""
    rng, tool = talk.rng, one(talk.rng, goals)
    listed.append(tool)
    if tool.name in real and rng.random() < 0.7:
        talk.user(opening + real[tool.name])
    else:
        pattern = one(rng, LOOSE if rng.random() < 0.25 else ASKS)
        text = tool.text[0].lower() + tool.text[1:]
        topic = tool.field.split("/")[-1].lower()
        talk.user(opening + pattern.format(d=text, D=tool.text, f=topic))
    _sign_in(talk, access)
    for name, meaning in chosen(rng, tool.parameters, int(rng.integers(0, 3))):
        talk.assistant(
            f"What is the {name.replace('_', ' ')}?" if rng.random() < 0.6 else f"Please tell me: {meaning}."
        )
        talk.user(_value(rng, name, meaning))
    talk.call(tool, _result(rng))
    talk.assistant(one(rng, DONE) + one(rng, MORE))


def _grid(
    talk: Talk, listed: list[Tool], goals: Sequence[Tool], stored: dict[tuple[str, str], Tool],
    real: dict[str, str], opening: str, access: Tool | None,
) -> None:  # fmt: skip
    """A request about a stored thing; an action without its id needs the lookup first."""
    rng, entity, action = talk.rng, one(talk.rng, ENTITIES), one(talk.rng, ACTIONS)
    siblings = action_tools(rng, entity, stored)
    listed += [t for t in siblings.values() if t.name not in {other.name for other in listed}]
    request, about = details(rng, action, entity)
    talk.user(opening + request)
    _sign_in(talk, access)
    if action.needs_id:
        talk.assistant(one(rng, ASK_ID))
        number = f"{entity.name[0].upper()}-{int(rng.integers(100, 999))}"
        if rng.random() < 0.55:
            talk.user(one(rng, NO_ID))
            talk.call(siblings["find"], [{"id": number, "about": f"{entity.name} {about}"}])
            if rng.random() < 0.5:
                talk.assistant(f"I found {number}. Shall I {action.verb} it?")
                talk.user(
                    one(rng, ("Yes, that's the one.", "Yes please.", "Exactly, go ahead.", "Yes, do it."))
                )
        else:
            talk.user(one(rng, ("It's {n}.", "{n}", "The number is {n}.")).format(n=number))
    elif action.verb == "add":
        name = one(rng, entity.parameters)
        talk.assistant(f"What is the {name}?")
        talk.user(_value(rng, name, name))
    talk.call(siblings[action.verb], _result(rng))
    talk.assistant(one(rng, DONE) + one(rng, MORE))


def _sign_in(talk: Talk, access: Tool | None) -> None:
    if access is None:
        return
    rng = talk.rng
    talk.assistant(one(rng, NEEDS_ACCESS))
    talk.user(one(rng, CREDENTIALS).format(u=one(rng, USERS), p=one(rng, SECRETS)))
    if rng.random() < 0.3:
        talk.assistant(one(rng, WILL_SIGN_IN))
    talk.token = bool(rng.random() < 0.7)
    talk.call(access, {"token": f"t{int(rng.integers(10**5, 10**6))}"} if talk.token else "ok")


def _asked(
    state: list[dict[str, Any]], tool: Tool, talk: Talk, listed: list[Tool], tools: Catalogue, rng: Rng, signed: bool
) -> Asked:
    """``signed``: whether the tools of this talk can only be called with what signing in gives."""
    count = round(2 ** rng.uniform(2, 5.9))
    others = tools.beside(rng, listed, max(1, count - len(listed)))
    options: dict[str, Any] = {t.name: t.option for t in [*listed, *others]}
    if signed and rng.random() < 0.4:
        options = {t.name: t.signature(*(("token",) if t in listed and t not in AUTH_TOOLS else ()))
                   for t in [*listed, *others]}  # fmt: skip
    label = tool.name
    search, (none_key, none_text) = one(rng, SEARCH_TOOLS), one(rng, NONE_OPTIONS)
    outside = tool not in AUTH_TOOLS and rng.random() < 0.14
    if outside or rng.random() < 0.35:
        name, text = (search.name, search.text) if rng.random() < 0.5 else (none_key, none_text)
        options[name] = text
        if outside:
            # Siblings go too: "change" could pass for "cancel" where only one of them is left.
            for gone in [t for t in listed if t.field == tool.field]:
                options.pop(gone.name, None)
            label = name
    asked: Asked = {"tool": (choice(NEXT, options), label)}
    if rng.random() < 0.25:
        called = any(turn["role"] == "api" for turn in state)
        asked["called"] = (noul("Has a tool been called already?"), called)
    if rng.random() < 0.25:
        signed = any(turn.get("api_name") in {t.name for t in AUTH_TOOLS} for turn in state)
        asked["signed_in"] = (noul("Has the user been signed in?"), signed)
    return asked


def _value(rng: Rng, name: str, meaning: str) -> str:
    """What a user answers when asked for a parameter: one of its own examples where it names some."""
    examples = re.search(r"\(e\.g\.,?\s*([^)]*)\)", meaning)
    if examples:
        text = one(rng, [e.strip(" '\"") for e in examples[1].split(",") if e.strip(" '\"")] or ["the usual"])
    else:
        text = next(
            (one(rng, values) for pattern, values in VALUES if re.search(pattern, name.lower())), "the usual"
        )
    return one(
        rng, ("{v}", "{v}.", "It's {v}.", "{v}, please.", "That would be {v}.", "Let's say {v}.")
    ).format(v=text)


def _result(rng: Rng) -> Any:
    return one(rng, ("success", {"status": "ok"}, {"status": "done", "id": int(rng.integers(1000, 9999))},
                     "ok",
                     {"result": float(rng.integers(1, 90))}))  # fmt: skip
