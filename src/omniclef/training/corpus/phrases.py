"""Short things people say to machines, composed by rule: orders, commands, numbers, single words.

Short words decide spoken requests (a drink, a size, a digit), and text sets hardly have them alone.
"""

from __future__ import annotations

import numpy as np

__all__ = ["DIGITS", "WAKE_WORDS", "WORDS", "command", "drink_order", "number_phrase"]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
WAKE_WORDS = ("alexa", "computer", "jarvis", "smart mirror", "snowboy", "view glass")

DRINKS = ("coffee", "iced coffee", "espresso", "latte", "americano", "mocha", "iced mocha", "cappuccino",
          "drip coffee",
          "house coffee", "flat white", "hot chocolate", "green tea", "black tea", "macchiato",
          "cold brew")  # fmt: skip
SIZES = ("small", "medium", "large", "eight ounce", "twelve ounce", "sixteen ounce", "twenty ounce")
ROASTS = ("light roast", "medium roast", "dark roast")
SHOTS = ("single shot", "double shot", "triple shot")
MILKS = ("milk", "whole milk", "skim milk", "soy milk", "almond milk", "cream", "oat milk")
SUGARS = ("sugar", "brown sugar", "sweetener", "honey")
AMOUNTS = ("", "some", "a bit of", "a little bit of", "lots of", "a lot of", "no")

_ASKS = ("can i have", "could i get", "i would like", "i'd like", "i'll have", "please make me", "give me",
         "get me",
         "i want", "may i have", "let me have", "order", "prepare", "can you make me",
         "could you please get me")  # fmt: skip

_WORDS = (
    "yes", "no", "maybe", "stop", "go", "start", "pause", "resume", "continue", "cancel", "confirm", "repeat",
    "next", "previous", "back", "forward", "up", "down", "left", "right", "on", "off", "open", "close",
    "lock", "unlock", "play", "call", "send", "read", "write", "delete", "save", "search", "find", "help",
    "hello", "goodbye", "please", "thanks", "sorry", "wait", "now", "later", "today", "tomorrow", "yesterday",
    "morning", "afternoon", "evening", "night", "monday", "tuesday", "wednesday", "thursday", "friday",
    "saturday", "sunday", "january", "february", "march", "april", "may", "june", "july", "august",
    "september", "october", "november", "december", "spring", "summer", "autumn", "winter", "red", "orange",
    "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "gold", "silver", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand",
    "million", "first", "second", "third", "half", "double", "triple", "small", "medium", "large", "big",
    "little", "tiny", "huge", "long", "short", "tall", "wide", "narrow", "high", "low", "fast", "slow", "hot",
    "cold", "warm", "cool", "new", "old", "good", "bad", "happy", "sad", "angry", "afraid", "bored",
    "neutral", "surprised", "disgusted", "calm", "tired", "excited", "nervous", "proud", "lonely", "coffee",
    "tea", "water", "juice", "milk", "sugar", "cream", "beer", "wine", "chocolate", "bread", "butter",
    "cheese", "egg", "rice", "pasta", "soup", "salad", "pizza", "burger", "chicken", "beef", "fish", "apple",
    "banana", "orange", "lemon", "grape", "strawberry", "tomato", "potato", "onion", "carrot", "garlic",
    "pepper", "salt", "honey", "dog", "cat", "bird", "horse", "cow", "sheep", "pig", "lion", "tiger", "bear",
    "elephant", "monkey", "mouse", "frog", "snake", "fish", "duck", "rabbit", "fox", "wolf", "donkey", "bee",
    "house", "kitchen", "bedroom", "bathroom", "garden", "garage", "office", "school", "hospital", "church",
    "airport", "station", "hotel", "restaurant", "bank", "shop", "street", "city", "village", "country",
    "mountain", "river", "sea", "beach", "forest", "island", "desert", "sky", "sun", "moon", "star", "rain",
    "snow", "wind", "storm", "fire", "door", "window", "table", "chair", "bed", "lamp", "clock", "phone",
    "computer", "television", "radio", "camera", "mirror", "book", "paper", "pen", "key", "bag", "box", "cup",
    "glass", "plate", "knife", "fork", "spoon", "bottle", "shirt", "shoe", "hat", "coat", "ring", "watch",
    "car", "bus", "train", "plane", "boat", "ship", "bicycle", "truck", "taxi", "road", "bridge", "mother",
    "father", "sister", "brother", "son", "daughter", "baby", "child", "friend", "doctor", "teacher",
    "police", "lawyer", "driver", "waiter", "customer", "manager", "king", "queen", "president", "soldier",
    "money", "price", "bill", "refund", "payment", "invoice", "order", "delivery", "account", "password",
    "error", "bug", "problem", "question", "answer", "ticket", "flight", "appointment", "meeting", "email",
    "message", "letter", "music", "song", "movie", "game", "weather", "news", "sport", "football", "tennis",
    "music", "guitar", "piano", "drum", "dance", "art", "photo", "picture", "video", "language", "english",
    "german", "french", "spanish", "italian", "russian", "chinese", "doctor", "medicine", "pain", "head",
    "hand", "foot", "eye", "ear", "mouth", "nose", "heart", "blood", "cancer", "fever", "cough", "allergy",
    "insurance", "light", "fan", "heater", "oven", "fridge", "alarm", "timer", "volume", "temperature",
    "battery", "power", "network", "internet", "wifi", "bluetooth",
)  # fmt: skip
WORDS: tuple[str, ...] = tuple(
    dict.fromkeys([*DIGITS, *WAKE_WORDS, *DRINKS, *SIZES, *ROASTS, *SHOTS, *MILKS, *SUGARS, *_WORDS])
)

_COMMANDS = (
    "turn {sw} the {thing} in the {room}", "turn {sw} the {thing}", "switch the {room} {thing} {sw}",
    "set the {thing} to {number}", "set a timer for {number} minutes", "set an alarm for {number} {half}",
    "wake me up at {number} on {day}", "remind me to {chore} on {day}",
    "what is the weather in {place} on {day}",
    "will it {fall} {when}", "play {genre} music in the {room}", "play some {genre}", "call {person}",
    "send a message to {person}", "how do i get to the {spot}", "find a {spot} near me",
    "book a table for {number} on {day}",
    "book a flight from {place} to {place} on {day}", "order a taxi to the {spot}",
    "how much is {number} plus {number}",
    "add {food} to my shopping list", "make the {thing} {colour}", "{move} the volume",
    "lock the {room} door",
    "i was charged twice and want my money back", "my {thing} does not work", "cancel my {booking}",
    "where is my {booking}",
    "i want to speak to {person}", "change my {booking} to {day}", "is the {spot} open on {day}",
    "how far is {place} from {place}", "translate {food} into {language}", "tell me a joke about {animal}",
    "what sound does a {animal} make", "who won the {sport} game {when}",
)  # fmt: skip
_FILL = {
    "sw": ("on", "off"),
    "thing": ("light", "lights", "fan", "heater", "oven", "television", "radio", "alarm", "music",
              "air conditioning",
              "washing machine", "computer", "camera", "lamp", "thermostat", "coffee machine", "printer",
              "phone"),
    "room": ("kitchen", "bedroom", "bathroom", "living room", "garage", "office", "garden", "hallway",
             "basement"),
    "half": ("a m", "p m", "in the morning", "in the evening"),
    "day": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "tomorrow",
            "the third of may"),
    "chore": ("buy milk", "call my mother", "pay the rent", "water the plants", "feed the cat",
              "take my medicine"),
    "place": ("london", "paris", "berlin", "new york", "tokyo", "rome", "chicago", "boston", "sydney",
              "madrid"),
    "fall": ("rain", "snow", "be sunny", "be windy", "get cold"),
    "when": ("today", "tomorrow", "this weekend", "tonight", "yesterday", "next week"),
    "genre": ("jazz", "rock", "classical", "pop", "country", "hip hop", "electronic", "blues"),
    "person": ("my wife", "my brother", "doctor miller", "anna", "john", "a manager", "the police",
               "an ambulance", "sarah"),
    "spot": ("hospital", "pharmacy", "restaurant", "airport", "train station", "gas station", "hotel",
             "bank", "museum"),
    "food": ("eggs", "bread", "apples", "cheese", "tomatoes", "coffee", "rice", "chocolate", "chicken",
             "bananas"),
    "colour": ("red", "green", "blue", "white", "yellow", "purple", "brighter", "darker", "warmer"),
    "move": ("increase", "decrease", "turn up", "turn down", "mute", "raise", "lower"),
    "booking": ("order", "flight", "reservation", "appointment", "subscription", "package", "hotel room",
                "meeting"),
    "language": ("german", "french", "spanish", "italian", "japanese", "english"),
    "animal": ("dog", "cat", "cow", "frog", "lion", "bird", "monkey", "sheep", "donkey", "chicken", "horse",
               "duck"),
    "sport": ("football", "basketball", "baseball", "tennis", "hockey"),
}  # fmt: skip


def _pick(rng: np.random.Generator, choices: tuple[str, ...]) -> str:
    return choices[int(rng.integers(len(choices)))]


def command(rng: np.random.Generator) -> str:
    """One request to an assistant or a help desk."""
    text = _pick(rng, _COMMANDS)
    while "{" in text:
        slot = text[text.index("{") + 1 : text.index("}")]
        text = text.replace(f"{{{slot}}}", _number(rng) if slot == "number" else _pick(rng, _FILL[slot]), 1)
    return _polite(rng, text)


def _polite(rng: np.random.Generator, text: str) -> str:
    return f"{('please ', 'hey, ', 'could you ', '')[int(rng.integers(4))]}{text}" if rng.random() < 0.3 else text


def _number(rng: np.random.Generator, top: int = 100) -> str:
    tens = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
    teens = ("ten", "eleven", "twelve", *(f"{stem}teen" for stem in ("thir", "four", "fif", "six", "seven")))
    small = (*DIGITS, *teens, "eighteen", "nineteen")
    value = int(rng.integers(top))
    if value < 20:
        return small[value]
    return tens[value // 10] + (f" {DIGITS[value % 10]}" if value % 10 else "")


def number_phrase(rng: np.random.Generator) -> str:
    """A number alone, a few digits in a row, or a number in a short sentence."""
    shape = int(rng.integers(4))
    if shape == 0:
        return _number(rng)
    if shape == 1:
        return " ".join(_pick(rng, DIGITS) for _ in range(int(rng.integers(2, 5))))
    if shape == 2:
        return f"the number is {_number(rng)}"
    places = ("room", "gate", "level", "channel", "page", "track", "option", "floor")
    return f"{_pick(rng, places)} {_number(rng)}"


def drink_order(rng: np.random.Generator) -> tuple[str, dict[str, str]]:
    """A spoken order and what it holds: drink, and perhaps size, roast, shots, milk, sugar (amount
    included).
    """
    slots = {"drink": _pick(rng, DRINKS)}
    for name, values in (("size", SIZES), ("roast", ROASTS), ("shots", SHOTS)):
        if rng.random() < 0.5:
            slots[name] = _pick(rng, values)
    for name, kinds in (("milk", MILKS), ("sugar", SUGARS)):
        if rng.random() < 0.45:
            slots[name] = f"{_pick(rng, AMOUNTS)} {_pick(rng, kinds)}".strip()
    front = " ".join(slots[name] for name in ("size", "roast", "shots") if name in slots and rng.random() < 0.6)
    behind = [
        slots[name]
        for name in ("size", "roast", "shots", "milk", "sugar")
        if name in slots and slots[name] not in front
    ]
    behind = [behind[i] for i in rng.permutation(len(behind))]
    ask = f"{_pick(rng, _ASKS)} a " if rng.random() < 0.9 else ""
    text = f"{ask}{front} {slots['drink']}".replace("  ", " ").strip()
    if behind:
        text += " with " + " and ".join(behind)
    return text + (" please" if rng.random() < 0.3 else ""), slots
