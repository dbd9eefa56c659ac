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


def run(script: str, *options: object) -> str:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--tiny", *map(str, options)],
        env={**os.environ, "PYTHONPATH": str(Path(omniclef.__file__).parents[1]), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
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
