"""``omniclef ask``: one record, its questions, their answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from omniclef import InvalidInput, Request, load, parse_request
from omniclef.answers import Confidence
from omniclef.cli.inputs import STDIN, collect_questions, read_object, read_state
from omniclef.console import Sheet, print_json, terminal
from omniclef.records import TextLike, parse_questions
from omniclef.release import Precision

__all__ = ["ask"]

Paths = list[Path] | None
Texts = list[str] | None


def ask(
    state: Annotated[str | None, typer.Option(metavar="TEXT", help="What to decide about.")] = None,
    state_file: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="The same from a file; a .json file is read as JSON.")
    ] = None,
    state_json: Annotated[bool, typer.Option("--state-json", help="Read the state as JSON.")] = False,
    image: Annotated[Paths, typer.Option(metavar="FILE", help="PNG, JPEG, WebP or GIF. Repeatable.")] = None,
    audio: Annotated[
        Paths, typer.Option(metavar="FILE", help="WAV, MP3, FLAC, Ogg or M4A. Repeatable.")
    ] = None,
    video: Annotated[Paths, typer.Option(metavar="FILE", help="MP4, MOV, WebM or MKV. Repeatable.")] = None,
    choice: Annotated[
        Texts, typer.Option(metavar="TEXT", help="'id=Question|name: description|name'. Repeatable.")
    ] = None,
    noul: Annotated[
        Texts, typer.Option(metavar="TEXT", help="Yes or no: 'id=Question?'. Repeatable.")
    ] = None,
    score: Annotated[
        Texts, typer.Option(metavar="TEXT", help="'id=Question|lowest|...|highest'. Repeatable.")
    ] = None,
    questions: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="JSON object of questions by id, as on the wire.")
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="A whole System One request."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME|FOLDER", help="The request's own, or nano, if not given.")
    ] = None,
    precision: Annotated[
        Precision | None, typer.Option(help="Of a release's weights; its default if not given.")
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda|cuda:N|mps", help="Where a release computes.")
    ] = "cpu",
    confidence: Annotated[Confidence, typer.Option(help="Formula of the confidences.")] = "typesafe",
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also tell what each answer looked at.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the System One response, 4 decimals, on one line.")
    ] = False,
) -> None:
    """Answer questions about a text, images, sounds and clips.

    A choice has 1 to 255 options, a score 1 to 10 levels from lowest to highest; both come after the
    question, divided by bars. Write \\| for a bar and \\: for a colon that are meant as they are. The
    question may be empty.

    Questions are answered in this order: those of --questions, then --choice, --noul and --score, each in the
    order given. "-" stands for standard input. Option names and descriptions are what the model reads: write
    them as you would for a person.

    \b
    omniclef ask --state "I was charged twice. I want my money back." \\
      --choice 'team=Which team?|billing: payments, refunds|technical|sales' \\
      --noul 'refund=Does the customer ask for money back?' \\
      --score 'urgency=How urgent is it?|can wait|this week|today'
    """
    media = (image or [], audio or [], video or [])
    short = (choice or [], noul or [], score or [])
    if [state_file, questions, request].count(STDIN) > 1:
        raise InvalidInput("-", "standard input can be read only once", "put one of them into a file")
    if request is None:
        asked = _request(
            read_state(state, state_file, state_json), collect_questions(questions, *short), media
        )
    elif state_json or any((*media, *short)) or {state, state_file, questions} != {None}:
        raise InvalidInput("--request", "is given with other input", "put everything into the request")
    else:
        asked = parse_request(read_object(request, "--request"))
    started = time.perf_counter()
    decision = load(model or asked.model or "nano", precision=precision, device=device).decide(
        asked.state,
        asked.questions,
        images=asked.images,
        audio=asked.audio,
        videos=asked.videos,
        confidence=confidence,
        evidence=evidence,
    )
    seconds = time.perf_counter() - started
    if as_json:
        print_json(decision.to_dict())
    else:
        terminal().print(Sheet(decision, asked.questions, seconds))


def _request(state: TextLike | None, questions: object, media: tuple[list[Path], ...]) -> Request:
    if state is None and not any(media):
        remedy = "add --state, --state-file, --image, --audio or --video"
        raise InvalidInput("state", "there is nothing to decide about", remedy)
    images, audio, videos = map(tuple, media)
    return Request("" if state is None else state, parse_questions(questions), images, audio, videos)
