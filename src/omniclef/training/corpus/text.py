"""The text corpora of nano's head as one stream: open sets, and decisions written by rule.

Only sets with a clear and open licence are opened, and of those no test part. The benchmarks that zero-shot
figures are claimed on are not opened at all. ``FAMILIES`` is the table of the model card.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from omniclef.training.corpus import business, dialogues, injections, intents, pairs, scales, sets, tools
from omniclef.training.corpus.reading import Grouped, bucket, rows
from omniclef.training.records import LabelledRecord

__all__ = ["FAMILIES", "VALID_FAMILIES", "VALID_PART", "Family", "build"]

VALID_FAMILIES = frozenset({"sgd_dev", "nlu_eval", "bookings", "tool_dialogues_unseen"})
"""Families that only validation sees: unseen services, corpora, records and fields of tools."""

VALID_PART = 20
"""One group in this many of every other family is for validation."""


@dataclass(frozen=True)
class Family:
    """Where a family comes from. ``n`` is its weight in the stream: the most records that ``build`` draws
    of it.
    """

    licence: str
    source: str
    n: int


_OURS = "Apache-2.0"
FAMILIES: dict[str, Family] = {
    "sgd": Family("CC BY-SA 4.0", "Schema-Guided Dialogue, train", 6000),
    "sgd_dev": Family("CC BY-SA 4.0", "Schema-Guided Dialogue, dev, services not in train", 600),
    "nlu_eval": Family("CC BY-SA 3.0", "NLU-Evaluation-Corpora, train", 183),
    "seal_tools": Family("Apache-2.0", "Seal-Tools, dev", 1500),
    "tool_dialogues": Family("Apache-2.0", "written by rule around Seal-Tools' catalogue", 5000),
    "tool_dialogues_unseen": Family("Apache-2.0", "the same, fields of tools left out of training", 400),
    "out_of_scope": Family("Apache-2.0, MIT, CC BY-SA 4.0",
                           "GoEmotions, clickbait, ComVE texts under SGD and "
                           "Seal-Tools options", 1600),
    "go_emotions": Family("Apache-2.0", "GoEmotions, train", 2200),
    "davidson": Family("MIT", "Davidson hate and offensive language, train", 1200),
    "presidio_pii": Family("MIT", "Presidio research, train", 1200),
    "http_params": Family("MIT", "HttpParamsDataset, train", 900),
    "clickbait": Family("MIT", "clickbait headlines, train", 1000),
    "spamassassin": Family("Apache-2.0", "SpamAssassin public corpus, train", 900),
    "isarcasm": Family("MIT", "iSarcasmEval, train", 1200),
    "surge_toxicity": Family("MIT", "Surge AI toxicity", 1000),
    "onestop_english": Family("CC BY-SA 4.0", "OneStopEnglish, train", 477),
    "conjnli": Family("MIT", "ConjNLI, train", 1200),
    "med_monotonicity": Family("CC BY-SA 4.0", "MED", 1000),
    "infotabs": Family("Apache-2.0", "InfoTabS, train", 2000),
    "halueval": Family("MIT", "HaluEval general, train", 800),
    "comve_a": Family("CC BY-SA 4.0", "ComVE task A, train", 1200),
    "comve_b": Family("CC BY-SA 4.0", "ComVE task B, train", 800),
    "explagraphs": Family("MIT", "ExplaGraphs, train", 1200),
    "convincing": Family("CC BY 4.0", "UKPConvArg1, train", 500),
    "bipia": Family("MIT", "BIPIA, train attacks and emails, and messages written by rule", 700),
    "legalbench": Family("CC BY 4.0, MIT", "LegalBench, few-shot rows of tasks under these licences", 500),
    "scales": Family(_OURS, "written by rule", 1800),
    "letters": Family(_OURS, "written by rule", 2200),
    "records": Family(_OURS, "written by rule", 1600),
    "bookings": Family(_OURS, "written by rule", 200),
}  # fmt: skip


def build(data: Path, seed: int, families: Collection[str] = FAMILIES) -> Iterator[LabelledRecord]:
    """All families, each up to its weight, in one seeded order; the same seed gives the same records.

    Records are complete: vary them anew in every epoch.
    """
    streams = _streams(data, seed)
    drawn = [record for name in FAMILIES if name in families for record in islice(streams[name], FAMILIES[name].n)]
    for index in np.random.default_rng([seed, len(drawn)]).permutation(len(drawn)):
        group, record = drawn[index]
        held = record.family in VALID_FAMILIES or bucket(group, VALID_PART, str(seed)) == 0
        yield replace(record, split="valid" if held else "train")


def _streams(data: Path, seed: int) -> dict[str, Iterator[Grouped]]:
    """A lazy stream for each family; each has a generator of its own, so that none disturbs another."""
    rng = {name: np.random.default_rng([seed, index]) for index, name in enumerate(FAMILIES)}
    n = {name: family.n for name, family in FAMILIES.items()}
    catalogue = tools.Catalogue(data, np.random.default_rng([seed, 1000]))
    letters = business.letter_texts(np.random.default_rng([seed, 1001]), 60)
    foreign = _foreign(data, rng["out_of_scope"], n["out_of_scope"])
    unseen = "tool_dialogues_unseen"
    return {
        "sgd": intents.sgd(data, "train", rng["sgd"], n["sgd"], catalogue),
        "sgd_dev": intents.sgd(data, "dev", rng["sgd_dev"], n["sgd_dev"], catalogue),
        "nlu_eval": intents.nlu_corpora(data),
        "seal_tools": tools.requests(catalogue, rng["seal_tools"]),
        "tool_dialogues": dialogues.dialogues(catalogue, catalogue.seen, "tool_dialogues",
                                              rng["tool_dialogues"],
                                              n["tool_dialogues"]),
        unseen: dialogues.dialogues(catalogue, catalogue.unseen, unseen, rng[unseen], n[unseen], grid=0.0),
        "out_of_scope": intents.nothing_fits(data, rng["out_of_scope"], foreign, catalogue),
        "go_emotions": sets.go_emotions(data, rng["go_emotions"], n["go_emotions"]),
        "davidson": sets.davidson(data, rng["davidson"], n["davidson"]),
        "presidio_pii": sets.presidio(data, rng["presidio_pii"]),
        "http_params": sets.http_params(data, rng["http_params"], n["http_params"]),
        "clickbait": sets.clickbait(data, rng["clickbait"], n["clickbait"]),
        "spamassassin": sets.spamassassin(data, rng["spamassassin"], n["spamassassin"]),
        "isarcasm": sets.isarcasm(data, rng["isarcasm"], n["isarcasm"]),
        "surge_toxicity": sets.surge(data),
        "onestop_english": sets.onestop(data),
        "conjnli": pairs.conjnli(data, rng["conjnli"], n["conjnli"]),
        "med_monotonicity": pairs.med(data, rng["med_monotonicity"], n["med_monotonicity"]),
        "infotabs": pairs.infotabs(data, rng["infotabs"], n["infotabs"]),
        "halueval": pairs.halueval(data, rng["halueval"], n["halueval"]),
        "comve_a": pairs.comve_sense(data, rng["comve_a"], n["comve_a"]),
        "comve_b": pairs.comve_reasons(data, rng["comve_b"], n["comve_b"]),
        "explagraphs": pairs.explagraphs(data, rng["explagraphs"], n["explagraphs"]),
        "convincing": pairs.convincing(data, rng["convincing"], n["convincing"]),
        "bipia": injections.bipia(data, rng["bipia"], letters, n["bipia"]),
        "legalbench": injections.legalbench(data, rng["legalbench"]),
        "scales": scales.scales(rng["scales"], n["scales"]),
        "letters": business.letters(rng["letters"], n["letters"]),
        "records": business.records(rng["records"], n["records"]),
        "bookings": business.bookings(rng["bookings"], n["bookings"]),
    }  # fmt: skip


def _foreign(data: Path, rng: np.random.Generator, count: int) -> list[str]:
    """Texts that ask no service for anything."""
    texts = [row["text"] for name in ("go_emotions", "clickbait") for row in rows(data / f"text/{name}.train.jsonl")]
    texts += [row["statement"] for row in rows(data / "text/comve_b.train.jsonl")]
    return [texts[i] for i in rng.permutation(len(texts))[:count]]
