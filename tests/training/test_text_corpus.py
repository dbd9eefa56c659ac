"""The text corpora, on a miniature of each set; with the real sets at hand also on those (slow)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omniclef.records import parse_questions, render
from omniclef.training.corpus import business, dialogues, scales, text, tools
from omniclef.training.corpus.sets import EMOTIONS
from omniclef.training.corpus.text import FAMILIES, VALID_FAMILIES
from omniclef.training.corpus.wordings import NONE_KEYS
from omniclef.training.records import LabelledRecord
from omniclef.training.variation import collect_examples, vary

REAL = Path(__file__).parents[3] / "shared/data"
FORBIDDEN = (
    "exam", "banking", "clinc", "api_bank", "bfcl", "when2call", "bbh", "hatecheck", "llmbar", "judgebench",
    "ag_news",
    "piqa", "anli", "sgd/test", ".test.", "test_in_domain", "test_out_domain", "metatool", "snips", "atis",
    "trec",
    "stackoverflow", "sst", "sms_spam", "github_issues", "dga", "tweeteval", "loghub", "bbc", "sick", "msr",
    "cola",
    "liar", "meld", "tuxpaint", "language_id", "phishing", "acos", "climate", "financial",
)  # fmt: skip

opened: list[str] = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def tool(index: int) -> dict[str, Any]:
    # A word of its own for each tool, so that no two count as near.
    word = "".join(chr(97 + int(d)) * 2 for d in f"{index:03d}") + "ing"
    needs = {"city": {"type": "str", "description": "The city (e.g., Rome, Oslo)"}}
    return {"api_name": word, "api_description": f"Give {word} of {word[::-1]}",
            "field": f"F{index % 60}/x",
            "parameters": needs, "required": ["city"], "responses": {"id": {}}}  # fmt: skip


def miniature(data: Path) -> Path:
    """Every file that the corpora read, with a few rows in its format."""
    many = range(40)
    services = {"Buses_1": ("FindBus", "find a bus"), "Music_1": ("PlaySong", "play a song"),
                "Banks_1": ("CheckBalance", "see the balance")}  # fmt: skip
    write(data / "bench/sgd/schemas.jsonl", [
        {"service": s if part == "train" else s + "d", "description": "", "splits": [part],
         "intents": {name: about}, "slots": {"kind": {"description": "Kind of it", "values": ["slow",
                                                                                              "quick"]}}}
        for part in ("train", "dev") for s, (name, about) in services.items()
    ])  # fmt: skip
    for part, suffix in (("train", ""), ("dev", "d")):
        write(data / f"bench/sgd/{part}.jsonl", [
            {"service": s + suffix, "context": [f"user: hello {i}", "system: Yes?"],
             "intent": name if i % 5 else "NONE",
             "utterance": f"I want you to {about} number {i}, a quick one", "slots": {"kind": "quick"}}
            for i in many for s, (name, about) in services.items()
        ])  # fmt: skip
    write(data / "bench/seal_tools/tool.jsonl", [tool(i) for i in range(300)])
    write(data / "bench/seal_tools/dev.jsonl", [
        {"id": f"d{i}", "query": f"Tell me figure {i}.", "calling": [{"api": tool(i)["api_name"],
                                                                      "parameters": {}}]}
        for i in range(120)
    ])  # fmt: skip
    pairs = [{"premise": f"All {i} birds sing.", "hypothesis": f"Bird {i} sings.",
              "label": ("entailment", "neutral")[i % 2], "genre": "g"} for i in many]  # fmt: skip
    files: dict[str, list[dict[str, Any]]] = {
        "go_emotions.train": [{"text": f"It is fine, {i}", "labels": [list(EMOTIONS)[i % 28]]} for i in many],
        "davidson_hate_offensive.train": [
            {"text": f"words {i}", "label": ("neither", "hate speech", "offensive language")[i % 3],
             "votes": [3, 0, 0]}
            for i in many
        ],
        "presidio_pii.train": [
            {"text": f"I am Bo {i}", "spans": [[5, 7, "PERSON"]] if i % 2 else []} for i in many
        ],
        "http_params.train": [
            {"payload": f"x{i}", "attack": "normal value" if i % 2 else "SQL injection",
             "label": "norm" if i % 2 else "anom"} for i in many
        ],
        "clickbait.train": [{"text": f"Title {i}", "label": ("clickbait", "news")[i % 2]} for i in many],
        "spamassassin.train": [
            {"sender": "a", "subject": f"s {i}", "body": "b " * 200, "label": ("spam",
                                                                               "ham")[i % 2]} for i in many
        ],
        "isarcasm.train": [{"text": f"Oh {i}", "label": ("sarcastic", "not sarcastic")[i % 2]} for i in many],
        "surge_toxicity": [{"text": f"You {i}", "label": ("toxic", "not toxic")[i % 2]} for i in many],
        "onestop_english.train": [
            {"doc": f"d{i}", "text": f"Words {i}", "label": ("elementary", "intermediate", "advanced")[i % 3]}
            for i in many
        ],
        "conjnli.train": pairs,
        "med_monotonicity": pairs,
        "infotabs_tables": [{"id": f"T{i}", "table": {"title": [f"N{i}"],
                                                      "Born": [f"19{i:02d}"]}} for i in many],
        "infotabs.train": [
            {"table": f"T{i}", "hypothesis": f"N{i} was born in 19{i:02d}.",
             "label": "entailment"} for i in many
        ],
        "halueval_general.train": [
            {"query": f"q {i}", "response": "r", "label": ("yes", "no")[i % 2]} for i in many
        ],
        "comve_a.train": [{"sent0": f"a {i}", "sent1": f"b {i}", "label": f"sent{i % 2}"} for i in many],
        "comve_b.train": [{"statement": f"s {i}", "options": ["p", "q", "r"], "label": i % 3} for i in many],
        "explagraphs_stance.train": [
            {"belief": f"b {i}", "argument": "a", "label": ("support", "counter")[i % 2]} for i in many
        ],
        "convincing_arguments.train": [
            {"topic": f"is-it-{i}_yes", "a1": "one", "a2": "two", "label": f"a{i % 2 + 1}"} for i in many
        ],
        "bipia_contexts": [
            {"split": ("train", "test")[i % 2], "domain": ("email", "table")[i % 3 == 2],
             "context": f"mail c{i} " * 9}
            for i in many
        ],
        "bipia_injections": [
            {"split": ("train", "test")[i % 2], "kind": "text", "category": "c",
             "instruction": f"attack-{i % 2} now"}
            for i in many
        ],
        "legalbench_fewshot": [
            {"task": f"t{i % 4}", "instructions": f"Is it so, {i % 4}?\n\nClause: z", "text": f"clause {i}",
             "answer": ("Yes", "No")[i // 4 % 2], "licence": ("CC By 4.0", "CC BY-NC 4.0", "MIT",
                                                              "CC BY-SA 4.0")[i % 4]}
            for i in many
        ],
        "nlu_eval_corpora.train": [{"corpus": "Chatbot", "text": f"go {i}",
                                    "label": "FindConnection"} for i in many],
    }  # fmt: skip
    for name, rows in files.items():
        write(data / f"text/{name}.jsonl", rows)
    return data


SOURCES = ["miniature", *([pytest.param("real", marks=pytest.mark.slow)] if REAL.is_dir() else [])]


def small(data: Path, seed: int) -> list[LabelledRecord]:
    """`build` on a miniature, with at most 150 records of a family."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "FAMILIES", {k: replace(f, n=min(f.n, 150)) for k, f in FAMILIES.items()})
        return list(text.build(data, seed))


@pytest.fixture(scope="module", params=SOURCES)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[LabelledRecord]:
    if request.param == "real":
        opened.clear()
        return list(text.build(REAL, 7))
    data = miniature(tmp_path_factory.mktemp("data"))
    opened.clear()
    return small(data, 7)


def test_every_family_is_there_within_its_weight(corpus: list[LabelledRecord]) -> None:
    counts = Counter(record.family for record in corpus)
    print("\n".join(f"{name:24}{counts[name]:6}" for name in FAMILIES))
    assert counts.keys() == FAMILIES.keys()
    assert all(0 < counts[name] <= family.n for name, family in FAMILIES.items())


def test_no_forbidden_file_was_opened(corpus: list[LabelledRecord]) -> None:
    files = [name for name in opened if name.endswith((".jsonl", ".csv", ".json", ".bin"))]
    assert len(files) > 25
    parts = ["/".join(Path(name).parts[-2:]) for name in files]
    assert [p for p in parts if any(word in p for word in FORBIDDEN)] == []


def test_every_record_is_a_valid_request_with_valid_labels(corpus: list[LabelledRecord]) -> None:
    for record in corpus:
        parsed = parse_questions(record.questions)
        assert record.state
        assert parsed.keys() == record.labels.keys()
        for name, question in parsed.items():
            label, keys = record.labels[name], {option.key for option in question.options()}
            assert isinstance(label, {"noul": bool, "choice": str, "score": int}[question.type])
            assert str(label).lower() in keys if question.type == "noul" else str(label) in keys
            assert len(keys) >= 2


def test_validation_takes_whole_families_and_a_few_of_the_others(corpus: list[LabelledRecord]) -> None:
    for family in FAMILIES:
        splits = {record.split for record in corpus if record.family == family}
        assert (splits == {"valid"}) if family in VALID_FAMILIES else ("train" in splits)
    others = [record.split for record in corpus if record.family not in VALID_FAMILIES]
    assert 0.02 < others.count("valid") / len(others) < 0.1


def test_states_stay_short_and_options_few_enough_to_cache(corpus: list[LabelledRecord]) -> None:
    states = {render(record.state) for record in corpus}
    lengths = [len(state.split()) for state in states]
    assert len(states) < 42_000
    assert np.mean(lengths) < 45
    assert np.mean(np.array(lengths) > 150) < 0.01
    options = {
        (option.key, option.text)
        for record in corpus
        for question in parse_questions(record.questions).values()
        for option in question.options()
    }
    assert len(options) < 15_000


def test_none_of_these_is_often_right_and_often_wrong(corpus: list[LabelledRecord]) -> None:
    for family in ("sgd", "seal_tools", "tool_dialogues"):
        right = wrong = 0
        for record in (r for r in corpus if r.family == family):
            name = "intent" if family == "sgd" else "tool"
            if name in record.labels and (NONE_KEYS & record.questions[name]["criteria"].keys()):
                right += record.labels[name] in NONE_KEYS
                wrong += record.labels[name] not in NONE_KEYS
        assert right > 0 and wrong > 0  # noqa: PT018  # both sides or the option itself gives the answer away
    outside = [r for r in corpus if r.family == "out_of_scope"]
    assert all(label in NONE_KEYS for r in outside for label in r.labels.values())


def test_variations_of_the_corpus_are_valid(corpus: list[LabelledRecord]) -> None:
    pools = collect_examples(corpus)
    rng = np.random.default_rng(0)
    for record in corpus[:3000]:
        varied = vary(record, rng, pools)
        for name, question in parse_questions(varied.questions).items():
            if question.type == "choice":
                assert varied.labels[name] in {option.key for option in question.options()}


def test_the_seed_decides_everything(tmp_path: Path) -> None:
    data = miniature(tmp_path)
    first, again, other = (small(data, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_bipia_uses_training_attacks_only_and_legalbench_open_licences_only(tmp_path: Path) -> None:
    made = small(miniature(tmp_path), 0)
    assert "attack-1" not in str([r.state for r in made])
    tasks = {name for r in made if r.family == "legalbench" for name in r.questions}
    assert tasks == {"t0", "t2"}
    assert all(
        "Clause" not in q["instructions"]
        for r in made
        if r.family == "legalbench"
        for q in r.questions.values()
    )


def test_a_talk_signs_in_once_and_before_its_goal(tmp_path: Path) -> None:
    catalogue = tools.Catalogue(miniature(tmp_path), np.random.default_rng(0))
    names = {t.name for t in dialogues.AUTH_TOOLS}
    signed = 0
    for _, record in dialogues.dialogues(catalogue, catalogue.seen, "talks", np.random.default_rng(5), 900):
        assert isinstance(record.state, list)
        called = [turn["api_name"] for turn in record.state if turn["role"] == "api"]
        assert sum(name in names for name in called) <= 1
        if record.labels["tool"] in names:
            signed += 1
            assert called == []
            assert record.state[-1]["role"] in ("user", "assistant")
        if record.labels["tool"] not in names | NONE_KEYS | {t.name for t in dialogues.SEARCH_TOOLS}:
            assert record.labels["tool"] in record.questions["tool"]["criteria"]
    assert signed > 100


def test_facts_of_generated_records_are_answered_from_the_record() -> None:
    for _, record in business.records(np.random.default_rng(0), 400):
        state, labels = record.state, record.labels
        assert isinstance(state, dict)
        if "over" in labels:
            assert labels["over"] == (state["total"] > state["limit"])
        if "late" in labels:
            assert labels["late"] == (state["hours_waiting"] > 48)
        if "status" in labels:
            assert labels["status"] == state["status"]
        if "contains" in labels:
            thing = record.questions["contains"]["instructions"].removesuffix("?").split()[-1]
            assert labels["contains"] == (thing in [item["name"] for item in state["items"]])


def test_levels_of_a_scale_are_all_drawn() -> None:
    drawn = Counter(
        (n, r.labels[n]) for _, r in scales.scales(np.random.default_rng(0), 900) for n in r.labels
    )
    for scale in scales.SCALES:
        assert all(drawn[scale.name, level] > 5 for level in range(len(scale.cues)))
        assert all(len(levels) == len(scale.cues) for levels in scale.levels)
