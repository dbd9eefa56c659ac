"""The benchmarks of the released models run on tiny sizes, and what they compare agrees."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omniclef

ROOT = Path(__file__).parent.parent


def run(script: str, *options: object, timeout: float = 120) -> str:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--tiny", *map(str, options)],
        env={**os.environ, "PYTHONPATH": str(Path(omniclef.__file__).parents[1]), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=True,
    )
    return ran.stdout


@pytest.mark.slow
def test_the_head_beside_the_publishers() -> None:
    shown = run("head.py", "--threads", 1)
    for shape in ("1 x 3", "16 x 8", "64 x 16", "8 x 255"):
        assert shape in shown
    apart = [float(number) for number in re.findall(r"\de[-+]\d\d", shown)]
    assert len(apart) == 4
    assert max(apart) <= 1e-5


@pytest.mark.slow
def test_clef_omni_on_a_device(tmp_path: Path) -> None:
    shown = run("gpu.py", "--repeats", 1, "--json", tmp_path / "gpu.json")
    figures = json.loads((tmp_path / "gpu.json").read_text("utf-8"))
    assert abs(figures["cases"]["text, about 800 tokens"]["tokens"] - 800) <= 8
    for case, measured in figures["cases"].items():
        assert case in shown
        assert len(measured["seconds"]) == 1


@pytest.mark.soak
def test_the_engine(tmp_path: Path) -> None:
    shown = run("engine.py", "--threads", 2, "--json", tmp_path / "engine.json", timeout=600)
    figures = json.loads((tmp_path / "engine.json").read_text("utf-8"))
    for title in ("32 mixed records", "Another schema", "plain matrix product", "Memory of reading one state"):
        assert title in shown
    assert figures["mixed"]["apart"] <= 1e-4
    assert figures["schemas"]["cached"] > 600
    beyond = {(row["how"], row["tokens"] // 1000): row["beyond"] for row in figures["streaming"]}
    assert beyond["pieces", 8] <= 1.25 * beyond["pieces", 2]
    assert beyond["whole", 8] >= 3 * beyond["whole", 2]


@pytest.mark.soak
def test_memory_of_reading_does_not_grow_with_the_state() -> None:
    """32,000 tokens in pieces, beside 4,000 and beside 4,000 and 16,000 as a whole."""
    found = {}
    for how, tokens in (("pieces", 4096), ("pieces", 32768), ("whole", 4096), ("whole", 16384)):
        told = run("streaming.py", "--tokens", tokens, "--how", how, timeout=600)
        found[how, tokens] = json.loads(told.splitlines()[-1])
    assert found["pieces", 32768]["tokens"] > 32_000
    beyond = {key: row["beyond"] for key, row in found.items()}
    assert beyond["pieces", 32768] <= 1.25 * beyond["pieces", 4096]
    assert beyond["whole", 16384] >= 3.5 * beyond["whole", 4096]
    # A square mask, of one byte for each pair of tokens, has no room in either.
    assert beyond["whole", 16384] < 16384**2
