"""The command line as a person and a script meet it: answers, files, errors, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_data import write_texts
from typer.testing import CliRunner

import omniclef
from omniclef.cli import app, run
from omniclef.cli.inputs import collect_questions, read_state
from omniclef.errors import InvalidInput
from omniclef.records import parse_questions

Cli = Callable[..., Any]

DEMO = Path(omniclef.__file__).parent / "demo"
STATE = "I was charged twice and nobody answers. I want my money back."
QUESTIONS = (
    "--choice",
    "team=Which team should handle this?|billing: payments, refunds|technical: bugs and outages|sales",
    "--noul",
    "refund=Does the customer ask for money back?",
    "--score",
    "urgency=How urgent is it?|can wait|this week|today",
)
WIRE = {
    "team": {
        "type": "choice",
        "instructions": "Which team should handle this?",
        "criteria": {"billing": "payments, refunds", "technical": "bugs and outages", "sales": None},
    },
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"},
    "urgency": {
        "type": "score",
        "instructions": "How urgent is it?",
        "criteria": ["can wait", "this week", "today"],
    },
}


# Short forms of questions.


def test_short_forms_are_the_wire_questions() -> None:
    _, team, _, refund, _, urgency = QUESTIONS
    questions = collect_questions(None, [team], [refund], [urgency])
    assert questions == WIRE
    assert list(questions) == list(WIRE)


@pytest.mark.parametrize(
    ("text", "key", "instructions", "criteria"),
    [
        ("a=|yes|no", "a", None, {"yes": None, "no": None}),
        (" a = Q |x:  y |z: ", "a", "Q", {"x": "y", "z": None}),
        ("a=Q|http://x|10:30|10:30: half past", "a", "Q", {"http://x": None, "10:30": "half past"}),
        ("a=x=y?|b=c: d=e", "a", "x=y?", {"b=c": "d=e"}),
        (r"a=this \| that?|p\|q: r\|s|t\: u: v", "a", "this | that?", {"p|q": "r|s", "t: u": "v"}),
        ("a=Q|name: with: colons", "a", "Q", {"name": "with: colons"}),
    ],
)
def test_bars_and_colons_of_a_choice(
    text: str, key: str, instructions: str | None, criteria: dict[str, str | None]
) -> None:
    if "10:30" in criteria:  # the same name twice is refused, so the bare one goes first
        text = text.replace("|10:30|", "|")
    assert collect_questions(None, [text], [], []) == {
        key: {"type": "choice", "instructions": instructions, "criteria": criteria}
    }


def test_a_noul_keeps_its_bars() -> None:
    question = collect_questions(None, [], ["a=x|y: z?"], [])["a"]
    assert question == {"type": "noul", "instructions": "x|y: z?"}


def test_questions_of_a_file_come_first_and_the_rest_by_kind(tmp_path: Path) -> None:
    path = write(tmp_path / "q.json", json.dumps({"file": WIRE["refund"]}))
    questions = collect_questions(str(path), ["c=|x"], ["n2=?", "n1=?"], ["s=|low"])
    assert list(questions) == ["file", "c", "n2", "n1", "s"]


# States.


@pytest.mark.parametrize(
    ("name", "content", "as_json", "state"),
    [
        ("s.txt", '{"a": 1}', False, '{"a": 1}'),
        ("s.json", '{"a": 1}', False, {"a": 1}),
        ("S.JSON", "[1, 2]", False, [1, 2]),
        ("s.txt", '{"a": 1}', True, {"a": 1}),
        ("s.txt", "\ufeffgrüße\n", False, "grüße\n"),
        ("s.txt", "", False, ""),
    ],
)
def test_state_files(tmp_path: Path, name: str, content: str, as_json: bool, state: object) -> None:
    path = write(tmp_path / name, content)
    assert read_state(None, str(path), as_json) == state


def test_a_state_argument_is_text_unless_it_is_called_json() -> None:
    assert read_state('{"a": 1}', None, False) == '{"a": 1}'
    assert read_state('{"a": 1}', None, True) == {"a": 1}
    assert read_state(None, None, False) is None


def test_a_key_that_occurs_twice_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="'a' occurs twice"):
        read_state('{"x": {"a": 1, "a": 2}}', None, True)


# Answers.


def test_ask_answers_the_issue_in_wire_shape(cli: Cli) -> None:
    ran = cli("ask", "--state", STATE, *QUESTIONS, "--json")
    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)
    body = json.loads(ran.out)
    assert list(body) == ["model", "answers", "usage"]
    assert body["model"] == "nano"
    assert list(body["answers"]) == ["team", "refund", "urgency"]
    team, refund, urgency = body["answers"].values()
    assert list(team) == ["type", "choice", "confidence", "probabilities"]
    assert list(team["probabilities"]) == ["billing", "technical", "sales"]
    assert sum(round(10_000 * p) for p in team["probabilities"].values()) == 10_000
    assert team["choice"] == "billing"
    assert refund["noul"] > 0.5
    assert urgency["legend"] == {"0": "can wait", "1": "this week", "2": "today"}
    assert 0 <= urgency["score"] <= 2
    assert body["usage"]["output_tokens"] == 0 < body["usage"]["input_tokens"]


def test_ask_is_readable_at_60_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    ran = cli("ask", "--state", STATE, *QUESTIONS)
    assert (ran.code, ran.err) == (0, "")
    assert "❯ billing" in ran.out
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 60
    assert "nano:" in ran.out.splitlines()[-1]


def test_every_way_in_gives_the_same_answer(cli: Cli, tmp_path: Path) -> None:
    request = json.dumps({"model": "nano", "state": STATE, "questions": WIRE})
    state = write(tmp_path / "state.txt", STATE)
    questions = write(tmp_path / "questions.json", json.dumps(WIRE))
    whole = write(tmp_path / "request.json", request)
    ways = [
        cli("ask", "--json", "--state", STATE, *QUESTIONS),
        cli("ask", "--json", "--state-file", state, "--questions", questions),
        cli("ask", "--json", "--state-file", "-", *QUESTIONS, stdin=STATE.encode()),
        cli("ask", "--json", "--state", STATE, "--questions", "-", stdin=json.dumps(WIRE).encode()),
        cli("ask", "--json", "--request", whole),
        cli("ask", "--json", "--request", "-", stdin=request.encode()),
    ]
    assert {ran.code for ran in ways} == {0}
    assert {ran.out for ran in ways} == {ways[0].out}


def test_ask_reads_images_sounds_and_clips(cli: Cli) -> None:
    media = ("--image", DEMO / "photo.jpg", "--audio", DEMO / "order.wav", "--video", DEMO / "clip.mp4")
    alone = cli("ask", "--json", "--image", DEMO / "photo.jpg", "--noul", "fruit=Is there fruit?")
    ran = cli("ask", "--json", *media, "--noul", "fruit=Is there fruit?")
    assert (ran.code, ran.err) == (0, "")
    tokens = [json.loads(r.out)["usage"]["input_tokens"] for r in (alone, ran)]
    assert 0 < tokens[0] < tokens[1]


def test_confidence_formulas(cli: Cli) -> None:
    values = {}
    for formula in ("typesafe", "simpson", "top", "entropy"):
        ran = cli("ask", "--json", "--state", STATE, *QUESTIONS, "--confidence", formula)
        values[formula] = json.loads(ran.out)["answers"]
    p = max(values["top"]["team"]["probabilities"].values())
    assert values["top"]["team"]["confidence"] == p
    assert values["typesafe"]["team"]["confidence"] == pytest.approx((3 * p - 1) / 2, abs=2e-4)
    assert len({(one["team"]["confidence"], one["urgency"]["confidence"]) for one in values.values()}) == 4


def test_evidence_names_words_of_the_state(cli: Cli) -> None:
    ran = cli("ask", "--json", "--evidence", "--state", STATE, *QUESTIONS)
    pieces = json.loads(ran.out)["x_evidence"]["refund"]["true"]
    assert pieces
    assert all(piece["text"] in STATE for piece in pieces)
    assert 'looked at "' in cli("ask", "--evidence", "--state", STATE, *QUESTIONS).out


# Errors.


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


ASK = ("ask", "--state", STATE)
NOUL = ("--noul", "a=Is it?")
MANY = "|".join(f"o{i}" for i in range(300))
LEVELS = "|".join(f"l{i}" for i in range(11))
Line = Callable[[Path], tuple[object, ...]]


def asked(question: Any) -> Line:
    return lambda t: (*ASK, "--questions", write(t / "q.json", json.dumps({"a": question})))


def requested(body: Any) -> Line:
    return lambda t: ("ask", "--request", write(t / "r.json", json.dumps(body)))


def state_of(content: bytes, name: str) -> Line:
    return lambda t: ("ask", "--state-file", write(t / name, content), *NOUL)


ERRORS: dict[str, tuple[Line, tuple[str, ...]]] = {
    "no verb of this name": (lambda t: ("aks",), ("aks",)),
    "no such option": (lambda t: (*ASK, *NOUL, "--imgae", "x"), ("--imgae", "--image")),
    "an option without its value": (lambda t: ("ask", "--state"), ("--state",)),
    "no question": (lambda t: ASK, ("questions", "--noul")),
    "nothing to decide about": (lambda t: ("ask", *NOUL), ("state", "--image")),
    "two states": (lambda t: (*ASK, *NOUL, "--state-file", "x"), ("--state", "--state-file")),
    "a state that is called JSON and is not there": (
        lambda t: ("ask", *NOUL, "--state-json"),
        ("--state-json",),
    ),
    "standard input twice": (lambda t: ("ask", "--state-file", "-", "--questions", "-"), ("only once",)),
    "a request beside a state": (lambda t: (*ASK, "--request", "x"), ("--request",)),
    "a missing state": (lambda t: ("ask", "--state-file", t / "x.txt", *NOUL), ("x.txt", "No such file")),
    "a folder as state": (lambda t: ("ask", "--state-file", t, *NOUL), ("--state-file", "directory")),
    "a picture as state": (
        lambda t: ("ask", "--state-file", DEMO / "photo.jpg", *NOUL),
        ("UTF-8", "--image"),
    ),
    "zero bytes in a state": (state_of(b"a\0b", "s.txt"), ("zero byte", "character 1")),
    "a number as state": (state_of(b"3", "s.json"), ("state", "3 (a number)")),
    "broken JSON as state": (state_of(b'{"a": 1,\n "b" 2}', "s.json"), ("line 2, column 6",)),
    "a state with NaN": (state_of(b"[NaN]", "s.json"), ("NaN",)),
    "a state with a doubled key": (state_of(b'{"a": 1, "a": 2}', "s.json"), ("'a'", "twice")),
    "missing questions": (lambda t: (*ASK, "--questions", t / "q.json"), ("--questions", "No such file")),
    "broken JSON as questions": (
        lambda t: (*ASK, "--questions", write(t / "q.json", '{"a": {"type": "noul",}}')),
        ("--questions", "line 1, column 23"),
    ),
    "questions as a list": (lambda t: (*ASK, "--questions", write(t / "q.json", "[]")), ("no JSON object",)),
    "an empty set of questions": (
        lambda t: (*ASK, "--questions", write(t / "q.json", "{}")),
        ("questions", "0 q"),
    ),
    "an unknown type": (asked({"type": "box", "instructions": "?"}), ("questions.a.type", '"box"', "noul")),
    "no type": (asked({"instructions": "?"}), ("questions.a.type", "missing")),
    "a question without words": (asked({"type": "noul"}), ("questions.a", "instructions")),
    "a number as instruction": (
        asked({"type": "noul", "instructions": 3}),
        ("questions.a.instructions", "3"),
    ),
    "a score of null": (asked({"type": "score", "criteria": [None]}), ("questions.a.criteria[0]", "null")),
    "a score as a map": (asked({"type": "score", "criteria": {"0": "x"}}), ("questions.a.criteria", "array")),
    "300 options": (lambda t: (*ASK, "--choice", f"a=Q|{MANY}"), ("questions.a.criteria", "300", "255")),
    "11 levels": (lambda t: (*ASK, "--score", f"a=Q|{LEVELS}"), ("questions.a.criteria", "11", "10")),
    "no option": (lambda t: (*ASK, "--choice", "a=Which?"), ("questions.a.criteria", "0 options")),
    "no level": (lambda t: (*ASK, "--score", "a=Which?"), ("questions.a.criteria", "0 levels")),
    "a nameless option": (lambda t: (*ASK, "--choice", "a=Q|x||y"), ("--choice a", "no name")),
    "an option that has only a description": (lambda t: (*ASK, "--choice", "a=Q|: y"), ("no name",)),
    "an option twice": (lambda t: (*ASK, "--choice", "a=Q|x|x: y"), ("--choice a", "'x'", "twice")),
    "an empty level": (lambda t: (*ASK, "--score", "a=Q|x||y"), ("--score a", "level is empty")),
    "no id": (lambda t: (*ASK, "--noul", "Is it?"), ("--noul", "'Is it?'", "id=Question")),
    "an empty id": (lambda t: (*ASK, "--noul", "=Is it?"), ("id is empty",)),
    "an empty noul": (lambda t: (*ASK, "--noul", "a="), ("questions.a", "instructions")),
    "an id twice": (lambda t: (*ASK, *NOUL, "--choice", "a=Q|x"), ("questions.a", "twice")),
    "an unknown formula": (
        lambda t: (*ASK, *NOUL, "--confidence", "hope"),
        ("--confidence", "hope", "simpson"),
    ),
    "an unknown model": (lambda t: (*ASK, *NOUL, "--model", "mega"), ("'mega'", "nano")),
    "a folder without a model": (lambda t: (*ASK, *NOUL, "--model", t), ("config.json",)),
    "a request that is a list": (requested([]), ("request", "object")),
    "a request without a state": (requested({"questions": WIRE}), ("state", "missing")),
    "a request without questions": (requested({"state": "x"}), ("questions", "missing")),
    "a request with a path": (
        requested({"state": "x", "questions": WIRE, "images": ["x.png"]}),
        ("images[0]",),
    ),
    "a request for another model": (requested({"model": "m9", "state": "x", "questions": WIRE}), ("'m9'",)),
    "a missing picture": (lambda t: ("ask", *NOUL, "--image", t / "x.png"), ("images[0]", "No such file")),
    "a folder as picture": (lambda t: ("ask", *NOUL, "--image", t), ("images[0]", "not a file")),
    "a PDF as picture": (
        lambda t: ("ask", *NOUL, "--image", write(t / "x.png", b"%PDF-1.7\n1 0 obj")),
        ("images[0]", "PDF", "PNG"),
    ),
    "a sound as picture": (lambda t: ("ask", *NOUL, "--image", DEMO / "order.wav"), ("images[0]", "WAV")),
    "an empty sound": (lambda t: ("ask", *NOUL, "--audio", write(t / "x.wav", b"")), ("audio[0]", "empty")),
    "half a picture": (
        lambda t: ("ask", *NOUL, "--image", write(t / "x.jpg", (DEMO / "photo.jpg").read_bytes()[:20_000])),
        ("images[0]",),
    ),
    "a picture from the network": (lambda t: ("ask", *NOUL, "--image", "http://x/y.png"), ("images[0]",)),
    "a clip that is a picture": (
        lambda t: ("ask", *NOUL, "--video", DEMO / "photo.jpg"),
        ("videos[0]", "JPEG"),
    ),
    "17 pictures": (lambda t: ("ask", *NOUL, *["--image", DEMO / "photo.jpg"] * 17), ("images", "17", "16")),
    "no suite": (lambda t: ("eval",), ("suite", "--list")),
    "an unknown suite": (lambda t: ("eval", "mmlu"), ("'mmlu'", "banking77")),
    "a suite without its data": (
        lambda t: ("eval", "sst5", "--data", t),
        ("sst5", "--data", "sst5_sentences"),
    ),
    "data that is not there": (lambda t: ("eval", "sst5", "--data", t / "x"), ("--data", "folder")),
    "no cases": (lambda t: ("eval", "sst5", "--limit", "0"), ("limit", "0")),
    "no number": (lambda t: ("eval", "sst5", "--limit", "few"), ("--limit", "integer")),
    "no recipe": (lambda t: ("train",), ("RECIPE",)),
    "a missing recipe": (lambda t: ("train", t / "x.yaml"), ("x.yaml",)),
    "info of nothing": (lambda t: ("info", "mega"), ("'mega'", "nano")),
    "a line that writes several": (lambda t: (*ASK, "--noul", "a\nb"), ("--noul",)),
    "half a character as id": (lambda t: (*ASK, "--noul", "\udc80=Is it?"), ("questions", "surrogate")),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_is_one_line_and_exit_code_2(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("OMNICLEF_CACHE", str(tmp_path / "cache"))
    line, words = ERRORS[case]
    ran = cli(*line(tmp_path))
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.startswith("omniclef: error: ")
    assert ran.err.endswith("\n")
    assert len(ran.err.splitlines()) == 1
    assert all(word in ran.err for word in words), ran.err


def test_a_folder_that_cannot_be_made_is_one_line(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "file", "")
    ran = cli("demo", "--copy-to", file / "below")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert str(file) in ran.err


def test_training_without_torch_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = cli("train", "recipes/nano.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'omniclef[torch]'" in ran.err


class Interrupted(io.RawIOBase):
    """Standard input at which somebody presses Ctrl-C."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        raise KeyboardInterrupt


def test_an_interrupt_is_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Interrupted()})())
    assert run(["ask", "--state-file", "-", *NOUL]) == 130
    assert capsys.readouterr() == ("", "")


def program(*arguments: object, **more: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "omniclef.cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(omniclef.__file__).parent.parent)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **more)


@pytest.mark.parametrize("arguments", [("ask", "--help"), ("eval", "--list")])
def test_a_reader_that_left_is_no_news(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = program(*arguments, stdout=writer)
    finally:
        os.close(writer)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (1, b"")


def test_the_program_itself_reports_one_line(tmp_path: Path) -> None:
    process = program("ask", "--state", "x", "--questions", tmp_path / "q.json", stdout=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, b"")
    assert err.startswith(b"omniclef: error: --questions: ")
    assert err.count(b"\n") == 1


# The other verbs.


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").out == f"omniclef {omniclef.__version__}\n"
    bare = cli()
    assert bare.code == 0
    assert bare.out == cli("--help").out
    for verb in ("ask", "demo", "eval", "train", "models", "info"):
        assert verb in bare.out
        shown = CliRunner().invoke(app, [verb, "--help"])
        assert shown.exit_code == 0
        assert f"Usage: omniclef {verb}" in shown.output.replace("root", "omniclef")


def test_models_and_info(cli: Cli, nano: omniclef.DecisionModel) -> None:
    listed, told = cli("models"), cli("info", "nano")
    assert (listed.code, listed.err, told.code, told.err) == (0, "", 0, "")
    for word in ("nano", "text", "image", "audio", "video", "MB", "Apache-2.0"):
        assert word in listed.out
        assert word in told.out
    assert nano.info.digest in told.out


def test_the_demo_answers_its_four_inputs(cli: Cli) -> None:
    ran = cli("demo")
    assert (ran.code, ran.err) == (0, "")
    for name in ("ticket", "photo.jpg", "order.wav", "clip.mp4"):
        assert name in ran.out
    for answer in ("❯ billing", "❯ oranges", "❯ cappuccino", "❯ train"):
        assert answer in ran.out


def test_the_demo_can_be_taken_along(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "new" / "demo"
    assert cli("demo", "--copy-to", target).code == 0
    assert cli("demo", "--copy-to", target).code == 0  # the same files again are no conflict
    assert (target / "photo.jpg").read_bytes() == (DEMO / "photo.jpg").read_bytes()
    for name in ("ticket", "photo", "order", "clip"):
        assert parse_questions(json.loads((target / f"{name}.questions.json").read_text("utf-8")))
    ticket = (
        "ask",
        "--state-file",
        target / "ticket.state.json",
        "--questions",
        target / "ticket.questions.json",
    )
    assert "❯ billing" in cli(*ticket).out


def test_the_demo_overwrites_nothing(cli: Cli, tmp_path: Path) -> None:
    own = write(tmp_path / "photo.jpg", b"mine")
    ran = cli("demo", "--copy-to", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "photo.jpg" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]
    assert own.read_bytes() == b"mine"


def test_eval_lists_measures_and_reports(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNICLEF_CACHE", str(tmp_path / "cache"))
    listed = cli("eval", "--list")
    assert listed.code == 0
    assert "banking77" in listed.out
    write_texts(tmp_path / "data")
    ran = cli("eval", "sst5", "--data", tmp_path / "data", "--report", tmp_path / "report", "--json")
    assert ran.code == 0, ran.err
    (result,) = json.loads(ran.out)["results"]
    assert (result["suite"], result["model"], result["unanswered"]) == ("sst5", "nano", 0)
    assert (tmp_path / "report" / "results.md").is_file()


# The README keeps its word.

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_commands_of_the_readme_work_in_an_empty_folder(tmp_path: Path) -> None:
    commands = [block for block in blocks("") if "omniclef ask" in block]
    assert len(commands) == 3
    function = f'set -euo pipefail; omniclef() {{ {sys.executable} -m omniclef.cli "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(Path(omniclef.__file__).parent.parent)}
    ran = subprocess.run(
        ["bash", "-c", function + "".join(commands)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ask, few, tools = blocks("python")
    exec(ask, {})
    assert capsys.readouterr().out.startswith("billing ")
    exec(few, {})
    assert capsys.readouterr().out == "card_lost\n"
    exec(tools, {})
    assert capsys.readouterr().out == "sign_in\n"
