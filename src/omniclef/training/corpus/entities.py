"""A grid of business tools written here: things people keep, and what they do with them.

Siblings (add, change, cancel, list) share nearly all their words, and an action needs an id that a lookup
gives: what a general catalogue of tools has too little of.
"""

from __future__ import annotations

from dataclasses import dataclass

from omniclef.training.corpus.reading import Rng, one
from omniclef.training.corpus.tools import Tool

__all__ = ["ACTIONS", "AUTH_TOOLS", "ENTITIES", "SEARCH_TOOLS", "Action", "Entity", "action_tools", "details"]


@dataclass(frozen=True)
class Entity:
    """A kind of thing: its name, the words that tell one from another, and the name of its id."""

    name: str
    about: tuple[str, ...]
    parameters: tuple[str, ...] = ("date", "time")


ENTITIES = (
    Entity(
        "order",
        ("the blue lamp", "two garden chairs", "a phone case", "the coffee beans"),
        ("product", "quantity"),
    ),
    Entity("appointment", ("with the dentist", "at the garage", "with Doctor Lee", "for a haircut")),
    Entity(
        "subscription",
        ("to the weekly magazine", "for music streaming", "to the gym"),
        ("plan", "start date"),
    ),
    Entity("invoice", ("for March", "of the printing company", "from last week"), ("amount", "due date")),
    Entity(
        "support ticket",
        ("about the broken screen", "on slow internet", "about the login page"),
        ("subject",),
    ),
    Entity("parcel", ("from the shoe shop", "with the books", "sent to Leeds"), ("address", "weight")),
    Entity("booking", ("for the lake cabin", "of the conference room", "for two nights in Porto")),
    Entity("alarm clock", ("for the morning run", "for work", "for the nap")),
    Entity("note", ("about the garden", "with the recipe", "on the project"), ("title", "text")),
    Entity("contact", ("named Priya", "for the plumber", "of my new landlord"), ("name", "phone number")),
    Entity("payment", ("to the electrician", "for the rent", "to my sister"), ("recipient", "amount")),
    Entity("prescription", ("for the inhaler", "for blood pressure", "of eye drops"), ("medicine", "dose")),
    Entity("playlist", ("for the party", "with piano music", "for long drives"), ("title",)),
    Entity(
        "vacation request", ("for August", "over the holidays", "for next Friday"), ("first day", "last day")
    ),
    Entity("delivery slot", ("for Saturday groceries", "for the sofa", "for the washing machine")),
    Entity(
        "insurance claim",
        ("for the dented door", "about the water damage", "for lost luggage"),
        ("date", "damage"),
    ),
    Entity(
        "job application", ("for the nurse position", "at the bakery", "as a driver"), ("position", "name")
    ),
    Entity("library loan", ("of the atlas", "of the crime novel", "of the chess book"), ("title",)),
    Entity("sensor", ("in the cellar", "on the balcony", "in the greenhouse"), ("room", "kind")),
    Entity("course enrolment", ("in the pottery class", "for Spanish", "in statistics"), ("course", "name")),
    Entity("shift", ("on Monday night", "in the warehouse", "at the front desk")),
    Entity("bank card", ("for business trips", "ending in 4417", "for my daughter"), ("kind", "limit")),
    Entity("voucher", ("for the spa", "from the birthday", "worth 40 euros"), ("value", "recipient")),
    Entity(
        "expense report", ("of the Madrid trip", "for the team dinner", "for April"), ("amount", "purpose")
    ),
)


@dataclass(frozen=True)
class Action:
    """What can be done: names and descriptions of its tool, requests, and whether it needs the thing's id."""

    verb: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    asks: tuple[str, ...]
    needs_id: bool = False


ACTIONS = (
    Action(
        "add",
        ("create_{e}", "Add{e}", "new_{e}", "Register{e}"),
        ("Creates a new {e}", "Adds {a} {e} for the user", "Makes a new {e} from the given data"),
        (
            "I need a new {e} {x}.",
            "Please set up {a} {e} {x}.",
            "Can you add {a} {e} {x}?",
            "I'd like to have {a} {e} {x}.",
        ),
    ),
    Action(
        "cancel",
        ("cancel_{e}", "Delete{e}", "remove_{e}", "Drop{e}"),
        (
            "Cancels an existing {e}, given its id",
            "Deletes {a} {e} for good",
            "Removes {a} {e} from the account",
        ),
        (
            "I don't need the {e} {x} any more.",
            "Please cancel my {e} {x}.",
            "Get rid of the {e} {x}.",
            "Can you delete the {e} {x}?",
        ),
        True,
    ),
    Action(
        "change",
        ("update_{e}", "Modify{e}", "change_{e}", "Edit{e}"),
        ("Changes an existing {e}, given its id", "Edits the data of {a} {e}", "Updates a stored {e}"),
        (
            "The {e} {x} has to be changed.",
            "I want to correct something in my {e} {x}.",
            "Can we move the {e} {x} to another date?",
            "Please update the {e} {x}.",
        ),
        True,
    ),
    Action(
        "find",
        ("find_{e}", "Search{e}", "list_{e}s", "Query{e}"),
        (
            "Finds the user's {e}s and their ids",
            "Looks up {a} {e} by what is known of it",
            "Lists stored {e}s",
        ),
        (
            "Do I have {a} {e} {x}?",
            "Show me my {e} {x}.",
            "What {e}s are there at the moment?",
            "I can't remember the details of my {e} {x}.",
        ),
    ),
)

AUTH_TOOLS = tuple(
    Tool(name, text, "Access", (("username", "name of the account"), ("password", "its password")), ("token",))
    for name, text in (
        ("sign_in", "Signs the user in with name and password and returns a session token"),
        ("Authenticate", "Checks the user's credentials"),
        ("get_access_token", "Returns a token that other tools need, for a user name and a password"),
        ("VerifyIdentity", "Confirms who the user is before account data may be read"),
        ("open_session", "Starts a session for an account"),
        ("login", "Logs the user in"),
        ("CheckUserCredentials", "Verifies name and password, and gives a key for further calls"),
        ("authorize_user", "Grants access to the user's account after checking the password"),
    )
)

SEARCH_TOOLS = tuple(
    Tool(name, text, "Access", ())
    for name, text in (
        ("find_tool", "Looks for another tool by keywords when none of the listed ones fits"),
        ("SearchToolbox", "Searches the tool library for something that can do the job"),
        ("tool_lookup", "Finds further tools for a task that is not covered here"),
        ("discover_functions", "Returns functions that match a description of what is needed"),
    )
)


def action_tools(rng: Rng, entity: Entity, stored: dict[tuple[str, str], Tool]) -> dict[str, Tool]:
    """A tool for each action on ``entity``; ``stored`` keeps the few wordings that each may have."""
    style = int(rng.integers(4))
    tools = {}
    for action in ACTIONS:
        name = _named(action.names[style], entity.name)
        text = action.texts[style % len(action.texts)].format(e=entity.name, a=_article(entity.name))
        given = ("id",) if action.needs_id else ("keyword",) if action.verb == "find" else entity.parameters
        parameters = tuple((p, f"the {p} of the {entity.name}") for p in given)
        tools[action.verb] = stored.setdefault((name, text), Tool(name, text, entity.name, parameters))
    return tools


def details(rng: Rng, action: Action, entity: Entity) -> tuple[str, str]:
    """A request for ``action`` in one of its wordings, and which thing it is about."""
    about = one(rng, entity.about)
    return one(rng, action.asks).format(e=entity.name, a=_article(entity.name), x=about), about


def _named(pattern: str, entity: str) -> str:
    camel = "".join(part.capitalize() for part in entity.split())
    return pattern.format(e=entity.replace(" ", "_") if "_" in pattern else camel)


def _article(name: str) -> str:
    return "an" if name[0] in "aeio" else "a"
