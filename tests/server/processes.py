"""The processes of a running server, as Linux tells of them under /proc."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


def children(pid: int) -> dict[int, str]:
    """``worker`` or ``decoder`` by process id, of those that live."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if int(parent) == pid and state != "Z":
            found.update({int(folder.name): role for role in ("worker", "decoder") if role.encode() in command})
    return found


def resident(pid: int) -> dict[str, int]:
    """Bytes in memory of the ``server`` that ``pid`` is, and of its workers and decoders, each kind together."""
    found = {"server": _resident(pid), "worker": 0, "decoder": 0}
    for child, role in children(pid).items():
        found[role] += _resident(child)
    return found


def open_files(pid: int) -> int:
    """Of ``pid`` and its children."""
    return sum(_entries(PROC / str(each) / "fd") for each in (pid, *children(pid)))


def _resident(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _entries(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return 0
