"""Reports: every figure and every condition that makes a figure comparable is in them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from keyword_model import KeywordModel
from rich.console import Console
from small_data import write_sounds, write_texts

from omniclef.evaluation.calibration import Bin
from omniclef.evaluation.diagram import reliability_svg
from omniclef.evaluation.report import results_dict, results_markdown, results_table, write_report
from omniclef.evaluation.run import SuiteResult, evaluate

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def results(tmp_path: Path) -> list[SuiteResult]:
    write_texts(tmp_path)
    write_sounds(tmp_path)
    suites = ["sms_spam", "sst5", "coffee_orders"]
    return evaluate(KeywordModel(), suites, tmp_path, answers=tmp_path / "answers", limit=1)


def test_a_report_folder_holds_figures_conditions_and_diagrams(
    results: list[SuiteResult], tmp_path: Path
) -> None:
    paths = write_report(results, tmp_path / "report")
    names = {path.name for path in paths}
    assert names == {"results.json", "results.md", "sms_spam.svg", "sst5.svg", "coffee_orders.svg"}
    written = json.loads((tmp_path / "report/results.json").read_text())
    first = written["results"][0]
    assert first["model"] == "keywords"
    assert first["digest"] == "k1"
    assert (first["n"], first["total"], first["full"], first["seen"]) == (1, 2, False, True)
    assert first["measures"]["accuracy"] == results[0].measures.accuracy
    assert sum(b["count"] for b in first["reliability"]) == 1
    assert {"cpu", "cores", "system", "versions"} <= written["environment"].keys()
    assert written["environment"]["versions"].keys() >= {"python", "omniclef", "numpy", "onnxruntime"}


def test_json_on_the_terminal_is_the_json_of_the_folder(results: list[SuiteResult], tmp_path: Path) -> None:
    write_report(results, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(
        json.dumps(results_dict(results))
    )


def test_markdown_says_what_was_limited_and_what_was_seen(results: list[SuiteResult]) -> None:
    text = results_markdown(results)
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert rows["sms_spam"].endswith("| yes |")
    assert rows["sst5"].endswith("| no |")
    assert "1 of 2" in rows["sms_spam"]
    assert "a subsample of 1 of 2 cases, seed 0" in text
    assert "digest `k1`" in text
    assert "levels" in text
    assert len({line.count("|") for line in text.splitlines() if line.startswith("| ")}) == 1


def test_the_table_shows_slots_and_the_full_split(results: list[SuiteResult]) -> None:
    out = io.StringIO()
    Console(file=out, width=140).print(results_table(results))
    shown = out.getvalue()
    assert "coffeeDrink" in shown
    assert "1 of 2" in shown
    assert f"{results[0].measures.accuracy:.3f}" in shown


def test_figures_are_whole_on_a_narrow_terminal_that_takes_no_markup(results: list[SuiteResult]) -> None:
    out = io.StringIO()
    Console(file=out, width=80, markup=False).print(results_table(results))
    text = out.getvalue()
    assert "[" not in text
    assert "…" not in text
    assert text.count(f"{results[0].measures.accuracy:.3f}") >= 1


def test_a_suite_without_one_answer_has_figures_but_no_diagram(tmp_path: Path) -> None:
    write_texts(tmp_path)
    results = evaluate(KeywordModel(refuses=""), ["sms_spam"], tmp_path, answers=tmp_path / "answers")
    assert (results[0].measures.accuracy, results[0].unanswered) == (0.0, 2)
    assert {path.name for path in write_report(results, tmp_path / "report")} == {
        "results.json",
        "results.md",
    }
    assert "| - | - | - |" in results_markdown(results)


def test_the_diagram_has_a_bar_for_each_filled_bin_at_its_height() -> None:
    bins = [Bin(0.0, 0.5, 0, 0.0, 0.0), Bin(0.5, 0.9, 3, 0.8, 0.5), Bin(0.9, 1.0, 1, 0.95, 1.0)]
    root = ElementTree.fromstring(reliability_svg(bins, "a <b> & c", "ECE 0.1"))
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.get("class") == "accuracy"]
    assert [float(bar.get("height", "")) for bar in bars] == [150.0, 300.0]
    dots = list(root.iter(f"{SVG}circle"))
    assert [float(dot.get("cx", "")) - 52 for dot in dots] == pytest.approx([240, 285])
    assert any(text.text == "a <b> & c" for text in root.iter(f"{SVG}text"))
