"""Tables of the benchmark, for a terminal and as Markdown, and what they were measured on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import omniclef

__all__ = ["Sheet", "cores", "hardware", "markdown", "show", "versions"]

PACKAGES = ("onnxruntime", "numpy", "tokenizers", "torch", "transformers", "sparrow-decider")


@dataclass
class Sheet:
    """One table: a title, columns, rows of text, and notes under it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        assert len(cells) == len(self.columns), cells
        self.rows.append(cells)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hardware() -> dict[str, Any]:
    info = _processor()
    flags = set(info.get("flags", "").split())
    told = {
        "avx2": "avx2" in flags,
        "avx512": any(flag.startswith("avx512") for flag in flags),
        "amx": any(flag.startswith("amx") for flag in flags),
    }
    return {
        "cpu": info.get("model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "flags": [name for name, there in told.items() if there],
        "system": platform.platform(),
        "load": [round(load, 1) for load in os.getloadavg()] if hasattr(os, "getloadavg") else [],
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "omniclef": omniclef.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def show(sheets: list[Sheet], console: Console) -> None:
    for sheet in sheets:
        table = Table(title=sheet.title, title_justify="left", caption="\n".join(sheet.notes), caption_justify="left")
        for number, column in enumerate(sheet.columns):
            table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table, "")


def markdown(sheets: list[Sheet]) -> str:
    parts = []
    for sheet in sheets:
        lines = [f"### {sheet.title}", "", _line(sheet.columns), _line(("---",) * len(sheet.columns))]
        lines += [_line(row) for row in sheet.rows]
        lines += ["", *sheet.notes] if sheet.notes else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _processor() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return {}
    lines = (line.partition(":") for line in path.read_text("utf-8").splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}
