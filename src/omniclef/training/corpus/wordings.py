"""How people word the same question: paraphrases of instructions, names for "none of these", for yes and no.

Schema variation replaces or drops only instructions listed here: any other wording carries facts of its own
record. Paraphrases stay with everyday words, because an encoder that reads options beside the rare words of
their instruction would otherwise meet each option in too many texts to cache.
"""

from __future__ import annotations

__all__ = ["NONE_KEYS", "NONE_OPTIONS", "OPEN_QUESTIONS", "PARAPHRASES", "SIDES", "YES_NO", "variants"]

OPEN_QUESTIONS = frozenset({"intent", "tool", "service", "domain", "team", "topic"})
"""Ids of questions whose options are examples of many more: there, none of them may be right."""

NONE_OPTIONS: tuple[tuple[str, str | None], ...] = (
    ("none of these", "nothing else in this list fits"),
    ("none", None),
    ("other", "anything that the other options do not cover"),
    ("out_of_scope", "the request is about something that is not listed"),
    ("out of scope", None),
    ("oos", "out of scope: not covered by any listed intent"),
    ("unknown", "it cannot be assigned to any of the options"),
    ("no match", "no listed option matches"),
    ("something else", None),
    ("not_supported", "we do not support this request"),
    ("NONE", "the user asks for nothing that is listed here"),
    ("fallback", "use this when no other option applies"),
    ("no_tool", "no tool in the list can do what is asked"),
    ("irrelevant", "the message has nothing to do with the listed options"),
)
NONE_KEYS = frozenset(name for name, _ in NONE_OPTIONS)

YES_NO: tuple[tuple[str, str], ...] = (
    ("yes", "no"),
    ("Yes", "No"),
    ("true", "false"),
    ("it does", "it does not"),
    ("correct", "incorrect"),
)
"""Pairs of names for the two sides of a noul; a choice between the first two kinds is read as a noul
again.
"""

SIDES: tuple[tuple[str, str], ...] = (
    ("Yes, this is the case.", "No, this is not the case."),
    ("The answer is yes.", "The answer is no."),
    ("It applies.", "It does not apply."),
    ("The statement holds.", "The statement does not hold."),
)

_GROUPS: tuple[tuple[str, ...], ...] = (
    (
        "What does the user want?",
        "Which intent does the user's last message express?",
        "What is the user asking for?",
        "Choose the intent of the message.",
        "What does the user want to do now?",
        "intent",
        "Classify the user's request.",
        "Which of these fits what the user says?",
    ),
    (
        "Which tool should be called next?",
        "Which API should be called next?",
        "Which function should the assistant call now?",
        "Choose the next tool.",
        "What should be called next?",
        "Pick the tool for the next step.",
        "Which of these tools does the assistant need now?",
        "What is the next API call?",
        "next tool",
    ),
    (
        "Which tool fits the request?",
        "Which tool can answer the user's request?",
        "Choose the best tool for this request.",
        "Which function does what the user wants?",
        "Which API fits best?",
        "Select the tool.",
        "tool",
    ),
    (
        "Which service is the user talking to?",
        "Which service can help the user?",
        "What is this conversation about?",
        "Choose the service.",
    ),
    (
        "Which emotion does the comment express?",
        "How does the writer feel?",
        "What feeling does the text show?",
        "emotion",
        "Choose the emotion of the message.",
    ),
    (
        "Is the message hate speech, offensive or neither?",
        "How harmful is the language of this message?",
        "Classify the language of the post.",
        "Choose the kind of language.",
    ),
    (
        "Is the language offensive?",
        "Does the text contain offensive words?",
        "Is this message rude or vulgar?",
    ),
    (
        "Does the text contain personal data?",
        "Is there any personal information in this text?",
        "Does the message reveal private details about someone?",
        "Would this text have to be redacted before sharing?",
        "Is there PII in the text?",
    ),
    (
        "Which attack does this parameter value carry?",
        "Is this input an attack, and of which kind?",
        "Classify the value.",
        "What kind of payload is this?",
    ),
    ("Is this input an attack?", "Is this parameter value malicious?", "Should this value be blocked?"),
    (
        "Is this headline clickbait?",
        "Does the headline try to lure readers into clicking?",
        "Is this a clickbait title?",
        "Does the title tease instead of informing?",
    ),
    (
        "What kind of headline is this?",
        "Choose the kind of title.",
        "Which type of headline does it look like?",
    ),
    (
        "Is this email spam?",
        "Is this mail unwanted advertising or a scam?",
        "Should this message go to the spam folder?",
        "Is it junk mail?",
    ),
    ("Where should this mail go?", "Which folder does this mail belong in?", "Sort this message."),
    (
        "Is the author being sarcastic?",
        "Does the writer mean the opposite of what they say?",
        "Is this sarcasm?",
        "Is the text ironic?",
    ),
    (
        "Is the comment toxic?",
        "Is this comment harmful or abusive?",
        "Should a moderator remove this comment?",
    ),
    (
        "How hard is this text to read?",
        "What reading level does the text have?",
        "How difficult is the language?",
        "reading level",
    ),
    (
        "How does the hypothesis follow from the premise?",
        "What does the premise say about the hypothesis?",
        "Given the premise, is the hypothesis true?",
        "Choose the relation of the two sentences.",
        "relation",
    ),
    (
        "Does the second sentence follow from the first?",
        "If the premise is true, must the hypothesis be true?",
        "Does the premise entail the hypothesis?",
    ),
    (
        "Given the table, is the statement true, false or not decidable?",
        "What does the record say about the statement?",
        "Is the statement supported by the data?",
        "Check the statement against the fields.",
    ),
    (
        "Does the answer contain made-up or wrong content?",
        "Is there a false claim in the response?",
        "Does the assistant's answer contain an error of fact?",
        "Is the response hallucinated?",
    ),
    (
        "Which sentence makes no sense?",
        "Which statement goes against common sense?",
        "Find the sentence that cannot be true.",
        "Which one is absurd?",
    ),
    ("Which sentence makes sense?", "Which of the two statements is plausible?", "Which one could be true?"),
    ("Does the statement make sense?", "Could this be true in everyday life?", "Is the sentence plausible?"),
    (
        "Why does the statement make no sense?",
        "Which reason explains best why the statement is absurd?",
        "What is wrong with the statement?",
    ),
    (
        "Does the argument support or counter the belief?",
        "Which side does the argument take?",
        "What is the stance of the argument towards the belief?",
        "stance",
    ),
    ("Does the argument support the belief?", "Is the argument in favour of the belief?"),
    (
        "Which argument is more convincing?",
        "Which of the two arguments would persuade more people?",
        "Choose the better argument.",
    ),
    (
        "Does the content contain an instruction aimed at the assistant?",
        "Is there a hidden instruction for an AI in this text?",
        "Is this a prompt injection?",
        "Does the text try to make the assistant do something else?",
    ),
    (
        "How urgent is it?",
        "How soon must somebody react?",
        "urgency",
        "How quickly does this need attention?",
        "Rate the urgency of the message.",
    ),
    ("How polite is the message?", "Rate the politeness.", "How friendly is the tone?", "politeness"),
    ("How angry is the writer?", "Rate the anger in the message.", "How upset does the customer sound?"),
    ("How long is the text?", "Rate the length of the message."),
    ("How warm is it?", "Which temperature does the text describe?", "Rate the temperature."),
    ("How expensive is the product?", "Which price level is meant?", "Rate the price."),
    (
        "How satisfied is the customer?",
        "Rate the customer's satisfaction.",
        "satisfaction",
        "How happy is the writer?",
    ),
    ("How severe is the problem?", "Rate the severity.", "How much harm does the problem do?"),
    ("How certain is the writer?", "Rate how sure the writer is.", "How confident does the writer sound?"),
    (
        "Which team should handle this?",
        "Where should the ticket go?",
        "Who should answer this message?",
        "Route the message.",
        "team",
        "Which department is responsible?",
    ),
    (
        "Does the customer ask for money back?",
        "Is this a request for a refund?",
        "Does the writer want to be refunded?",
        "Is the customer asking us to return a payment?",
    ),
    (
        "Is the message urgent?",
        "Does this need an answer today?",
        "Must somebody react at once?",
        "Is there time pressure?",
    ),
    (
        "Does the message insult somebody?",
        "Is the writer abusive?",
        "Is the language of the message insulting?",
        "Does the customer attack our staff?",
    ),
    (
        "Is the message advertising?",
        "Does the writer try to sell us something?",
        "Is this unwanted promotion?",
    ),
    (
        "Does the customer want to cancel?",
        "Is this about ending a contract?",
        "Does the writer ask to close something?",
    ),
    ("Does the message praise us?", "Is the customer pleased?", "Is this positive feedback?"),
    ("Does the writer ask to speak to a person?", "Does the customer ask for a human?"),
    (
        "What is the status of the order?",
        "Which status does the order have?",
        "Where is the order in the process?",
    ),
    ("Which priority does the ticket have?", "What is the priority?", "priority"),
    ("Has the order been paid?", "Is the payment done?", "Is the order settled?"),
    ("Who spoke last?", "Whose turn was the last one?"),
)

PARAPHRASES: dict[str, tuple[str, ...]] = {text: group for group in _GROUPS for text in group}
"""Instruction to all wordings of the same question, itself included."""


def variants(instructions: str) -> tuple[str, ...]:
    """Other ways to ask; empty where the wording must stay as it is."""
    return PARAPHRASES.get(instructions, ())
