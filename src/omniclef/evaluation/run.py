"""Asking a model the cases of suites and turning its answers into results.

Knows suites, answerers, the store and the metrics; knows nothing of how a model computes or of the command
line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from omniclef.answers import Answer, Decision, NoulAnswer
from omniclef.errors import OmniclefError
from omniclef.evaluation.adapter import Answerer, LocalModel, RecordModel
from omniclef.evaluation.calibration import Bin
from omniclef.evaluation.metrics import Measures, Outcome, measure, reliability
from omniclef.evaluation.sources import DataFolder, cache_folder
from omniclef.evaluation.store import AnswerStore, Distributions
from omniclef.evaluation.suite import Case, Cases, Suite, get_suite, option_keys

__all__ = ["BATCH", "SuiteResult", "evaluate", "outcomes_of", "run_suite"]

BATCH = 64
_ERRORS_KEPT = 5


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """Figures of one model on one suite.

    Attributes:
        seen: whether the suite's family was in training; None where nobody says.
        n, total: cases asked, and cases in the full split; n is smaller only under a limit.
        unanswered: cases without an answer, which count as wrong.
        measures: means over the suite's headline questions, or over all where it names none.
        exact: share of cases with every question right.
        questions, types, groups: the same by question id, by question type and by part of the suite.
        reliability: the table behind the reliability diagram, of the headline questions together.
        cases_per_second: of the cases answered in this run, media decoding included; None if all were stored.
        errors: the first few reasons why a case went unanswered.
    """

    suite: str
    family: str
    seen: bool | None
    model: str
    digest: str
    suite_digest: str
    date: str
    n: int
    total: int
    seed: int
    unanswered: int
    headline: str
    measures: Measures
    exact: float
    questions: Mapping[str, Measures]
    types: Mapping[str, Measures]
    groups: Mapping[str, Measures]
    reliability: tuple[Bin, ...]
    cases_per_second: float | None
    errors: tuple[str, ...]

    @property
    def full(self) -> bool:
        return self.n == self.total

    @property
    def headline_value(self) -> float:
        return float(getattr(self.measures, self.headline))

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "full": self.full, "headline_value": self.headline_value}


def evaluate(
    model: Answerer | RecordModel,
    suites: Iterable[str],
    data: Path | None = None,
    *,
    limit: int | None = None,
    seed: int = 0,
    answers: Path | None = None,
    resume: bool = False,
    console: Console | None = None,
) -> list[SuiteResult]:
    """Runs ``suites`` one after another.

    data: the data folder; None means the cache, into which missing files with an address are fetched.
    limit: a subsample of that many cases of each suite, drawn by ``seed``.
    answers: the folder of stored answers, in the cache by default; ``resume`` continues from them.
    console: where the progress bar goes; None shows none.

    Raises InvalidInput, before any question is asked: an unknown suite, or a data file that is missing and
    cannot be fetched. A case that the model cannot answer raises nothing and counts as wrong.
    """
    answerer = model if isinstance(model, Answerer) else LocalModel(model)
    folder = DataFolder.cached() if data is None else DataFolder(data)
    stored = answers or cache_folder() / "answers"
    chosen = [get_suite(name) for name in dict.fromkeys(suites)]
    prepared = [(suite, suite.cases(folder, limit=limit, seed=seed)) for suite in chosen]
    results = []
    for suite, cases in prepared:
        path = stored / f"{suite.name}-{answerer.digest[:16]}.jsonl"
        store = AnswerStore(path, suite.digest, answerer.digest, resume=resume)
        results.append(run_suite(answerer, suite, cases, store, seed=seed, console=console))
    return results


def run_suite(
    answerer: Answerer,
    suite: Suite,
    cases: Cases,
    store: AnswerStore,
    *,
    seed: int = 0,
    console: Console | None = None,
) -> SuiteResult:
    """One suite; see `evaluate`. Asks what ``store`` has no answer to, and closes it."""
    outcomes: list[list[Outcome]] = []
    errors: list[str] = []
    asked, seconds = 0, 0.0
    try:
        with _progress(console) as progress:
            bar = progress.add_task(suite.name, total=len(cases))
            for batch in _batches(cases):
                new = [case for case in batch if case.id not in store.answers]
                started = time.perf_counter()
                given, failed = _ask(answerer, new)
                seconds += time.perf_counter() - started
                asked += len(new)
                errors += failed
                store.add(given)
                outcomes += [outcomes_of(case, store.answers.get(case.id)) for case in batch]
                progress.advance(bar, len(batch))
    finally:
        store.close()
    return _result(answerer, suite, outcomes, cases.total, seed, asked / seconds if asked else None, errors)


def outcomes_of(case: Case, answers: Distributions | None) -> list[Outcome]:
    """One outcome for each labelled question of ``case``; ``answers`` None when the model gave none."""
    outcomes = []
    for name, label in case.labels.items():
        question = case.request["questions"][name]
        gold = str(label).lower() if isinstance(label, bool) else str(label)
        probabilities = None if answers is None else tuple(answers[name])
        keys = option_keys(question)
        outcomes.append(Outcome(name, question["type"], keys, gold, probabilities, case.group))
    return outcomes


def _batches(cases: Iterable[Case]) -> Iterator[list[Case]]:
    waiting = iter(cases)
    while batch := list(islice(waiting, BATCH)):
        yield batch


def _ask(answerer: Answerer, cases: Sequence[Case]) -> tuple[list[tuple[str, Distributions]], list[str]]:
    """Answers by case id, and what went wrong. One bad case spoils a batch, so then each goes alone."""
    if not cases:
        return [], []
    try:
        decisions = answerer.decide_requests([case.request for case in cases])
    except OmniclefError as error:
        if len(cases) == 1:
            return [], [f"{cases[0].id}: {error}"]
        alone = [_ask(answerer, [case]) for case in cases]
        return [pair for given, _ in alone for pair in given], [
            text for _, failed in alone for text in failed
        ]
    return [(case.id, _distributions(case, d)) for case, d in zip(cases, decisions, strict=True)], []


def _distributions(case: Case, decision: Decision) -> Distributions:
    questions = case.request["questions"]
    return {name: _in_order(decision.answers[name], option_keys(questions[name])) for name in case.labels}


def _in_order(answer: Answer, keys: Sequence[str]) -> list[float]:
    if isinstance(answer, NoulAnswer):
        return [answer.noul, 1 - answer.noul]
    return [answer.probabilities[key] for key in keys]


def _result(
    answerer: Answerer,
    suite: Suite,
    cases: Sequence[Sequence[Outcome]],
    total: int,
    seed: int,
    cases_per_second: float | None,
    errors: Sequence[str],
) -> SuiteResult:
    outcomes = [outcome for case in cases for outcome in case]
    questions = {name: measure(part) for name, part in _split(outcomes, "question").items()}
    counted = suite.headline_questions or tuple(questions)
    return SuiteResult(
        suite=suite.name,
        family=suite.family,
        seen=None if answerer.families is None else suite.family in answerer.families,
        model=answerer.name,
        digest=answerer.digest,
        suite_digest=suite.digest,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        n=len(cases),
        total=total,
        seed=seed,
        unanswered=sum(case[0].probabilities is None for case in cases),
        headline=suite.headline,
        measures=_mean([questions[name] for name in counted]),
        exact=sum(all(outcome.right for outcome in case) for case in cases) / len(cases),
        questions=questions,
        types={kind: measure(part) for kind, part in _split(outcomes, "type").items()},
        groups={name: measure(part) for name, part in _split(outcomes, "group").items() if name},
        reliability=tuple(reliability([o for o in outcomes if o.question in counted])),
        cases_per_second=cases_per_second,
        errors=tuple(errors[:_ERRORS_KEPT]),
    )


def _split(outcomes: Iterable[Outcome], attribute: str) -> dict[str, list[Outcome]]:
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parts.setdefault(getattr(outcome, attribute), []).append(outcome)
    return parts


def _mean(measures: Sequence[Measures]) -> Measures:
    """Unweighted means, as every question has all cases; one question is its own mean."""
    if len(measures) == 1:
        return measures[0]

    def mean(name: str) -> float | None:
        values = [getattr(m, name) for m in measures if getattr(m, name) is not None]
        return sum(values) / len(values) if values else None

    return Measures(
        n=sum(m.n for m in measures),
        answered=sum(m.answered for m in measures),
        accuracy=mean("accuracy") or 0.0,
        macro_f1=mean("macro_f1") or 0.0,
        nll=mean("nll"),
        brier=mean("brier"),
        ece=mean("ece"),
        mae=mean("mae"),
    )


def _progress(console: Console | None) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=console is None,
        transient=True,
    )
