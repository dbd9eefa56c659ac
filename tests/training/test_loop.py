"""The loop on a small real backbone: it learns, it resumes exactly, it reports."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from rich.console import Console
from word_backbone import SIZE, WordBackbone

from omniclef.head import HeadConfig, TorchHead
from omniclef.training.loop import Plan, fit, held_out_answers, validate
from omniclef.training.nano import fresh_head
from omniclef.training.objective import Weights
from omniclef.training.records import LabelledRecord

CONFIG = HeadConfig(hidden_size=SIZE, width=32, routing_layers=1, layers=1, heads=2, feedforward=32, dropout=0.1)
PLAN = Plan(steps=120, batch=16, rate=3e-3, warmup=10, average=0.9, every=40, threads=1)
KINDS = {"fruit": ["apple", "pear", "plum"], "tool": ["hammer", "saw", "drill"], "pet": ["cat", "dog", "hamster"]}


def records(split, count, seed):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        kind = str(rng.choice(list(KINDS)))
        word = str(rng.choice(KINDS[kind]))
        asked = str(rng.choice(list(KINDS)))
        made.append(
            LabelledRecord(
                family=kind,
                state=f"there is a {word} here",
                questions={
                    "kind": {"type": "choice", "instructions": "which kind", "criteria": dict.fromkeys(KINDS)},
                    "is": {"type": "noul", "instructions": f"is it {asked}"},
                },
                labels={"kind": kind, "is": asked == kind},
                split=split,
            )
        )
    return made


TRAIN, VALID = records("train", 200, 0), records("valid", 60, 1)


def same(record, rng):
    return record


def run(folder, plan=PLAN):
    quiet = Console(quiet=True)
    return fit(fresh_head(CONFIG, 3), WordBackbone(), TRAIN, VALID, same, plan, folder, quiet)


def test_a_fresh_head_is_its_prior():
    head = fresh_head(CONFIG, 0)
    for parameter in head.residual_scorer[3].parameters():
        assert not parameter.any()
    assert torch.sigmoid(head.residual_gate).item() < 0.15


def test_it_learns_and_writes_down_how_it_went(tmp_path):
    before = validate(fresh_head(CONFIG, 3), WordBackbone(), VALID, Weights())
    head = run(tmp_path)
    after = validate(head, WordBackbone(), VALID, Weights())
    assert before["mean"] < 0.75 < 0.9 < after["mean"]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [40, 80, 120]
    assert lines[-1]["valid_loss"] < before["valid_loss"]
    assert set(lines[-1]["accuracy"]) == set(KINDS)


def test_a_run_cut_in_two_equals_a_run_in_one(tmp_path):
    whole = run(tmp_path / "whole")
    short = replace(PLAN, steps=120)

    class Cut(RuntimeError):
        pass

    calls = 0

    def cutting(record, rng):
        nonlocal calls
        calls += 1
        if calls > 70 * PLAN.batch:
            raise Cut
        return record

    with pytest.raises(Cut):
        fit(fresh_head(CONFIG, 3), WordBackbone(), TRAIN, VALID, cutting, short, tmp_path / "cut", Console(quiet=True))
    resumed = run(tmp_path / "cut")
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=0, rtol=0)


def test_held_out_answers_line_up_with_their_labels(tmp_path):
    held = held_out_answers(TorchHead(run(tmp_path)), WordBackbone(), VALID)
    choices = [one for one in held if one.kind == "choice"]
    assert len(choices) == len(VALID)
    assert np.mean([int(np.argmax(one.probabilities)) == one.gold for one in choices]) > 0.9
    assert sum(one.kind == "noul" for one in held) == len(VALID)
    assert {one.kind for one in held} == {"choice", "noul"}
    assert {one.trust for one in held} == {1.0}
