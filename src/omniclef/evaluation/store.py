"""Answers that survive an interruption: JSON lines, one a case.

Knows lines and keys; knows nothing of models or metrics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["AnswerStore", "Distributions"]

Distributions = dict[str, list[float]]
"""Probabilities in option order by question id."""


class AnswerStore:
    """Answers of one model to one suite in ``path``, keyed by suite digest, model digest and case id.

    resume: keep what is there and answer only the rest; otherwise the file starts anew. A line that was cut
    off when a run was killed is dropped. Lines of another wording of the suite or another model are never
    used.
    """

    def __init__(self, path: Path, suite: str, model: str, *, resume: bool) -> None:
        self._key = {"suite": suite, "model": model}
        self.answers: dict[str, Distributions] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume and path.exists():
            self._read(path)
        else:
            path.write_bytes(b"")
        self._out: IO[str] = path.open("a", encoding="utf-8")

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            path.write_bytes(whole)
        for line in whole.splitlines():
            entry = json.loads(line)
            if all(entry[name] == value for name, value in self._key.items()):
                self.answers[entry["case"]] = entry["answers"]

    def add(self, answered: Sequence[tuple[str, Mapping[str, Sequence[float]]]]) -> None:
        """Writes (case id, distributions) pairs so that they outlive this process."""
        for case, distributions in answered:
            exact = {name: [float(f"{p:.9g}") for p in values] for name, values in distributions.items()}
            entry: dict[str, Any] = {**self._key, "case": case, "answers": exact}
            self._out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
            self.answers[case] = exact
        self._out.flush()

    def close(self) -> None:
        self._out.close()
