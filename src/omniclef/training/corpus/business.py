"""Business records and messages written by rule: orders and tickets as JSON, letters of customers.

Every fact of a record is drawn first and asked about afterwards, several questions a state. The family
``bookings`` is another kind of record that only validation sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omniclef.training.corpus.reading import Asked, Grouped, Rng, choice, chosen, grouped, noul, one, score

__all__ = ["TEAMS", "bookings", "letter_texts", "letters", "records"]

NAMES = ("Ana Ruiz", "Ben Cole", "Chi Wong", "Dora Ilic", "Emil Kraus", "Fatou Ba", "Gil Amit", "Hana Sato")
CITIES = (("Berlin", "Germany"), ("Munich", "Germany"), ("Lyon", "France"), ("Paris", "France"), ("Porto",
                                                                                                  "Portugal"),
          ("Leeds", "United Kingdom"), ("Turin", "Italy"), ("Bergen", "Norway"), ("Austin",
                                                                                  "USA"))  # fmt: skip
ITEMS = ("desk", "lamp", "monitor", "chair", "keyboard", "printer", "headset", "cable", "router", "shelf")
STATUS = {
    "received": "it came in and nothing has happened yet",
    "packed": "it is ready in the warehouse",
    "shipped": "it is on its way to the customer",
    "delivered": "the customer has it",
    "cancelled": "it was called off",
    "returned": "the customer sent it back",
}
PRIORITY = ("low", "normal", "high", "critical")
TEAMS = {
    "billing": "payments, invoices and refunds",
    "technical support": "faults, errors and outages",
    "sales": "offers, prices and new contracts",
    "logistics": "parcels, delivery and returns",
    "human resources": "applications, shifts and holidays",
    "security": "stolen accounts, suspicious mails and lost badges",
    "facilities": "rooms, heating, furniture and cleaning",
}

# What a letter is about: its team and sentences, and which of the yes/no questions they answer with yes.
TOPICS: tuple[tuple[str, tuple[str, ...], frozenset[str]], ...] = (
    ("billing", ("You took the money twice, please send one payment back.",
                 "I want my money back for the broken {i}.",
                 "Please refund the {i}, I returned it last week."), frozenset({"refund"})),
    ("billing", ("The invoice for the {i} has a wrong tax number.", "Which account should I pay into?",
                 "The receipt for the {i} is missing."), frozenset()),
    ("technical support", ("The {i} does not turn on any more.", "I get error 502 when I open the portal.",
                           "The {i} loses its connection every hour.", "Since the update nothing loads."),
                           frozenset()),
    ("sales", ("What would ten pieces of the {i} cost?", "Do you have an offer for schools?",
               "We are interested in a yearly contract for the {i}."), frozenset()),
    ("sales", ("Please end my contract by the end of the month.", "I want to cancel my plan.",
               "We no longer need the subscription, please close it."), frozenset({"cancel"})),
    ("logistics", ("The {i} has not arrived yet.", "Where is my parcel with the {i}?",
                   "The driver left the {i} at the wrong house."), frozenset()),
    ("human resources", ("I would like to apply as a driver.", "Can I swap my shift on Friday?",
                         "How many days of holiday do I have left?"), frozenset()),
    ("security", ("Somebody logged into my account from abroad.", "I got a mail that asks for my password.",
                  "My badge was stolen on the train."), frozenset()),
    ("facilities", ("It is too cold in the meeting room.", "The light in the corridor flickers.",
                    "The bin on our floor has not been emptied."), frozenset()),
)  # fmt: skip
ADDED: dict[str, tuple[str, ...]] = {
    "urgent": ("I need an answer today.", "It is very urgent!", "Please act at once, we cannot work.",
               "Help, right now!"),
    "abuse": ("You are all useless idiots.", "What a pack of liars you are.",
              "Your staff is too stupid to read."),
    "praise": ("Your service has been wonderful so far.", "Thanks, your colleague was great.",
               "I love your shop."),
    "human": ("I want to talk to a real person.", "Please no bot, let somebody call me.",
              "Connect me to a human agent."),
    "personal": ("My number is 0151 2233{n}.", "I live at {n} Mill Lane, Leeds.",
                 "You reach me at a.ruiz{n}@example.com.",
                 "My card number is 4929 1180 0{n} 7713."),
}  # fmt: skip
PLAIN = ("I wrote to you before.", "It is the first time.", "There is no rush.", "Kind regards",
         "I look forward to hearing "
         "from you.", "The colleague at the desk sent me here.", "Thank you.",
         "I use it every week.")  # fmt: skip
ADVERTS = (
    "Buy followers now, only {n} dollars!", "You have won {n} euros, click the link to claim your prize!",
    "Cheap watches, {n} percent off, order today!", "Earn {n} a week from home, no work needed!",
    "Lose {n} pounds in a week with our miracle tea!",
    "We rank your site first on search engines for {n} a month.",
)  # fmt: skip
YES_NO = {
    "refund": "Does the customer ask for money back?",
    "urgent": "Is the message urgent?",
    "abuse": "Does the message insult somebody?",
    "cancel": "Does the customer want to cancel?",
    "praise": "Does the message praise us?",
    "human": "Does the writer ask to speak to a person?",
    "personal": "Does the text contain personal data?",
    "advert": "Is the message advertising?",
}


def letters(rng: Rng, count: int) -> Iterator[Grouped]:
    """Messages to a company: which team, and yes/no questions with as many yeses as noes."""
    seen: set[str] = set()
    while len(seen) < count:
        number = int(rng.integers(10, 99))
        true: set[str] = set()
        team = None
        if rng.random() < 0.12:
            parts, true = [one(rng, ADVERTS).format(n=number)], {"advert"}
        else:
            team, sentences, holds = one(rng, TOPICS)
            parts, true = [one(rng, sentences).format(i=one(rng, ITEMS))], set(holds)
            added = chosen(rng, list(ADDED), int(rng.integers(0, 3)))
            added = [a for a in added if not (a == "praise" and "abuse" in added)]
            parts += [one(rng, ADDED[a]).format(n=number) for a in added]
            true |= set(added)
            plain = [
                p
                for p in chosen(rng, PLAIN, int(rng.integers(0, 3)))
                if not ("urgent" in true and "rush" in p)
            ]
            parts = [parts[0], *plain, *parts[1:]] if rng.random() < 0.5 else [*parts, *plain]
        text = " ".join(parts)
        if text in seen:
            continue
        seen.add(text)
        asked: Asked = {}
        if team:
            asked["team"] = (choice("Which team should handle this?", TEAMS), team)
        for name in [*sorted(true), *chosen(rng, [n for n in YES_NO if n not in true], max(1, len(true)))]:
            asked[name] = (noul(YES_NO[name]), name in true)
        yield grouped("letters", _wrapped(text, rng), asked, text)


def letter_texts(rng: Rng, count: int) -> list[str]:
    """Clean messages alone, as contexts for other corpora."""
    return [" ".join([one(rng, s).format(i=one(rng, ITEMS)) for _, s, _ in chosen(rng, TOPICS,
                                                                                  2)] + chosen(rng, PLAIN, 2))
            for _ in range(count)]  # fmt: skip


def _wrapped(text: str, rng: Rng) -> Any:
    kind = rng.random()
    if kind < 0.6:
        return text
    if kind < 0.8:
        return {"channel": one(rng, ("email", "chat", "phone note")), "message": text}
    return [{"role": "assistant", "text": "How can I help you?"}, {"role": "user", "text": text}]


def records(rng: Rng, count: int) -> Iterator[Grouped]:
    for number in range(count):
        yield (_order if number % 2 else _ticket)(rng, number)


def _order(rng: Rng, number: int) -> Grouped:
    items = [
        {"name": name, "quantity": int(rng.integers(1, 9))}
        for name in chosen(rng, ITEMS, int(rng.integers(1, 4)))
    ]
    city, country = one(rng, CITIES)
    total, limit = int(rng.integers(20, 2000)), int(rng.integers(1, 5)) * 400
    status, paid, express = one(rng, list(STATUS)), bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    state = {
        "order": 10_000 + number,
        "customer": one(rng, NAMES),
        "items": items,
        "total": total,
        "limit": limit,
        "status": status,
        "paid": paid,
        "shipping": {"city": city, "country": country, "express": express},
    }
    named = [item["name"] for item in items]
    absent = [i for i in ITEMS if i not in named]
    thing, held = (one(rng, named), True) if rng.random() < 0.5 else (one(rng, absent), False)
    land = one(rng, (country, one(rng, CITIES)[1]))
    asked: Asked = {
        "status": (choice("What is the status of the order?", STATUS), status),
        "paid": (noul("Has the order been paid?"), paid),
        "over": (noul("Is the total over the limit?"), total > limit),
        "country": (noul(f"Is the order shipped to {land}?"), land == country),
        "express": (noul("Is it an express delivery?"), express),
        "contains": (noul(f"Does the order contain a {thing}?"), held),
        "where": (choice("To which country is it shipped?", sorted({c for _, c in CITIES})), country),
        "kinds": (
            score("How many different items does the order have?", ("one", "two", "three")),
            len(items) - 1,
        ),
    }
    return grouped("records", state, dict(chosen(rng, list(asked.items()), 4)), str(number))


def _ticket(rng: Rng, number: int) -> Grouped:
    team, sentences, _ = one(rng, TOPICS)
    priority, is_open = one(rng, PRIORITY), bool(rng.random() < 0.5)
    hours, owner = int(rng.integers(0, 80)), one(rng, (*NAMES, None))
    state = {
        "ticket": 500 + number,
        "subject": one(rng, sentences).format(i=one(rng, ITEMS)),
        "priority": priority,
        "state": "open" if is_open else "closed",
        "assigned_to": owner,
        "hours_waiting": hours,
    }
    asked: Asked = {
        "team": (choice("Which team should handle this?", TEAMS), team),
        "priority": (choice("Which priority does the ticket have?", PRIORITY), priority),
        "level": (score("Which priority does the ticket have?", PRIORITY), PRIORITY.index(priority)),
        "open": (noul("Is the ticket still open?"), is_open),
        "assigned": (noul("Is anybody assigned to the ticket?"), owner is not None),
        "late": (noul("Has the ticket been waiting for more than two days?"), hours > 48),
        "wait": (score("How long has it been waiting?", ("less than a day", "one to two days",
                                                         "more than two days")),
                 0 if hours < 24 else 1 if hours <= 48 else 2),
    }  # fmt: skip
    return grouped("records", state, dict(chosen(rng, list(asked.items()), 4)), str(number))


def bookings(rng: Rng, count: int) -> Iterator[Grouped]:
    rooms = {"single": "one bed", "double": "two persons", "suite": "several rooms", "dormitory": "many beds"}
    for number in range(count):
        room, nights, guests = one(rng, list(rooms)), int(rng.integers(1, 15)), int(rng.integers(1, 6))
        breakfast, confirmed = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
        state = {"guest": one(rng, NAMES), "room": room, "nights": nights, "guests": guests,
                 "breakfast": breakfast,
                 "confirmed": confirmed, "city": one(rng, CITIES)[0]}  # fmt: skip
        asked: Asked = {
            "room": (choice("Which kind of room is booked?", rooms), room),
            "breakfast": (noul("Is breakfast included?"), breakfast),
            "confirmed": (noul("Has the booking been confirmed?"), confirmed),
            "stay": (score("How long is the stay?", ("one night", "up to a week", "more than a week")),
                     0 if nights == 1 else 1 if nights <= 7 else 2),
        }  # fmt: skip
        yield grouped("bookings", state, asked, str(number))
