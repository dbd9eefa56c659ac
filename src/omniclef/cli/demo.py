"""``omniclef demo``: four inputs that come with the package, and their answers."""

from __future__ import annotations

import json
import time
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from omniclef import InvalidInput, load
from omniclef.console import Heading, Sheet, terminal
from omniclef.records import parse_questions

__all__ = ["demo"]

MEDIA = ("images", "audio", "videos")


def demo(
    copy_to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Put the demo's files there instead, to try them with ask."),
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME|FOLDER", help="Who answers.")] = "nano",
) -> None:
    """Answer questions about a ticket, a photo, a spoken order and a clip with sound.

    All four come with the package; nothing is fetched. --copy-to writes them and their questions to a folder:

    \b
    omniclef ask --image FOLDER/photo.jpg --questions FOLDER/photo.questions.json
    """
    folder = Path(str(resources.files("omniclef"))) / "demo"
    inputs: dict[str, Any] = json.loads((folder / "questions.json").read_text("utf-8"))
    if copy_to is not None:
        for path in _copy(folder, inputs, copy_to):
            typer.echo(path)
        return
    answering = load(model)
    sheets = []
    for name, entry in inputs.items():
        media = [[folder / file for file in entry.get(kind, ())] for kind in MEDIA]
        asked = parse_questions(entry["questions"])
        started = time.perf_counter()
        images, audio, videos = media
        decision = answering.decide(entry["state"], asked, images=images, audio=audio, videos=videos)
        seconds = time.perf_counter() - started
        files = ", ".join(path.name for paths in media for path in paths)
        sheets += [
            Heading(name, files or entry["state"]),
            Sheet(decision, asked, seconds),
        ]
    console = terminal()
    for sheet in sheets:
        console.print(sheet)


def _copy(folder: Path, inputs: dict[str, Any], target: Path) -> list[Path]:
    """Media as they are; states and questions of each input as files that ``ask`` reads."""
    files: dict[str, bytes] = {}
    for name, entry in inputs.items():
        files |= {file: (folder / file).read_bytes() for kind in MEDIA for file in entry.get(kind, ())}
        files[f"{name}.questions.json"] = _pretty(entry["questions"])
        if entry["state"]:
            files[f"{name}.state.json"] = _pretty(entry["state"])
    for name, data in files.items():
        path = target / name
        if path.exists() and not (path.is_file() and path.read_bytes() == data):
            raise InvalidInput("--copy-to", f"'{path}' exists and is another file", "name an empty folder")
    target.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (target / name).write_bytes(data)
    return [target / name for name in files]


def _pretty(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
