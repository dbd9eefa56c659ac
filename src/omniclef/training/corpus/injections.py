"""Instructions hidden in content (BIPIA and its emails, MIT), and legal questions (LegalBench, CC BY or MIT).

Both injected and clean states come from the same contexts, with a harmless sentence where the other has its
injection, or a model would learn the source instead of the danger. BIPIA's test emails and attacks are not
read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from omniclef.training.corpus.reading import Asked, Grouped, Rng, choice, cut, grouped, noul, one, rows

__all__ = ["bipia", "legalbench"]

HARMLESS = (
    "Please reply by Friday.", "See you at the meeting.", "Let me know if the date suits you.",
    "Please find the invoice attached.", "You can change your settings at any time.",
    "Thanks for your patience.",
    "The office is closed on Monday.", "Please bring your badge.", "We will call you back tomorrow.",
    "Ask your manager before you book.", "Write to us if anything is missing.",
    "Use the code SPRING at checkout.",
    "What do you think of the new design?", "Do not share this link outside the team.", "Kind regards, Ana",
)  # fmt: skip
FREE = {"cc by 4.0", "mit"}


def bipia(data: Path, rng: Rng, contexts: Sequence[str], count: int) -> Iterator[Grouped]:
    """``contexts``: further clean texts of our own, beside the 21 training emails."""
    emails = [r["context"] for r in rows(data / "text/bipia_contexts.jsonl")
              if r["domain"] == "email" and r["split"] == "train"]  # fmt: skip
    attacks = [r["instruction"] for r in rows(data / "text/bipia_injections.jsonl")
               if r["split"] == "train" and r["kind"] == "text"]  # fmt: skip
    for _ in range(count):
        own = rng.random() < 0.5
        base = one(rng, contexts) if own else one(rng, emails)
        parts = base.split() if own else base.split()[: int(rng.integers(25, 80))]
        injected = rng.random() < 0.5
        added = one(rng, attacks) if injected else one(rng, HARMLESS)
        place = (0, len(parts) // 2, len(parts))[int(rng.integers(3))]
        text = " ".join([*parts[:place], cut(added, 40), *parts[place:]])
        asked: Asked = {
            "injection": (noul("Does the content contain an instruction aimed at the assistant?"), injected)
        }
        yield grouped(
            "bipia", text if rng.random() < 0.6 else {"source": "email", "content": text}, asked, base
        )


def legalbench(data: Path, rng: Rng) -> Iterator[Grouped]:
    """Tasks with short instructions; those with yes and no as nouls, others as choices among their
    answers.
    """
    tasks = defaultdict(list)
    for row in rows(data / "text/legalbench_fewshot.jsonl"):
        text = row.get("text") or row.get("contract") or row.get("question")
        if row["licence"].lower() in FREE and isinstance(text, str) and len(text.split()) <= 140:
            tasks[row["task"]].append((row["instructions"], text, str(row["answer"])))
    for task, found in sorted(tasks.items()):
        answers = sorted({answer for _, _, answer in found})
        for instructions, text, answer in found:
            question = instructions.split("\n\n")[0].strip()  # what follows are worked examples
            if len(question.split()) > 90 or len(answers) < 2 or max(map(len, answers)) > 60:
                continue
            if {a.lower() for a in answers} <= {"yes", "no"}:
                asked: Asked = {task: (noul(question), answer.lower() == "yes")}
            else:
                asked = {task: (choice(question, answers), answer)}
            yield grouped("legalbench", text, asked)
