"""How answers look: complete, within the width, and harmless whatever the words are."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from omniclef.answers import Decision, Evidence, Usage, answer
from omniclef.console import Heading, Sheet, one_line, print_json, terminal
from omniclef.records import Choice, Noul, Question, Score

TEAM = Choice({"billing": "payments", "technical": None, "sales": None}, "Which team?")
REFUND = Noul("Money back?")
URGENCY = Score(["can wait", "this week", "today"], "How urgent?")


def drawn(renderable: RenderableType, width: int = 60, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    Console(file=file, width=width, highlight=False, markup=False, emoji=False).print(renderable)
    file.flush()
    return raw.getvalue().decode(encoding)


def sheet(asked: dict[str, tuple[Question, Sequence[float]]], **more: object) -> Sheet:
    answers = {key: answer(question, p) for key, (question, p) in asked.items()}
    decision = Decision("nano", answers, Usage(1234), **more)  # type: ignore[arg-type]
    return Sheet(decision, {key: question for key, (question, _) in asked.items()}, 0.0124)


def test_one_block_a_question_at_60_columns() -> None:
    text = drawn(
        sheet(
            {
                "team": (TEAM, [0.75, 0.2, 0.05]),
                "refund": (REFUND, [0.25, 0.75]),
                "urgency": (URGENCY, [0.1, 0.3, 0.6]),
            }
        )
    )
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines == [
        "team  Which team?",
        f"❯ billing   {bar(22.5)}  75.0 %",
        f"  technical {bar(6)}  20.0 %",
        f"  sales     {bar(1.5)}   5.0 %",
        "  confidence 0.62",
        "",
        "refund  Money back?",
        f"  yes {bar(7.5)}  25.0 %",
        f"❯ no  {bar(22.5)}  75.0 %",
        "",
        "urgency  How urgent?",
        f"  0 can wait  {bar(3)}  10.0 %",
        f"  1 this week {bar(9)}  30.0 %",
        f"❯ 2 today     {bar(18)}  60.0 %",
        "  score 1.50 of 0 to 2, confidence 0.25",
        "",
        "nano: 1,234 tokens, 12 ms",
    ]


def bar(cells: float) -> str:
    return ("█" * int(cells) + "▌" * (cells % 1 > 0)).ljust(30)


def test_a_terminal_without_unicode_gets_plain_characters() -> None:
    text = drawn(sheet({"team": (TEAM, [0.5, 0.3, 0.2])}), encoding="ascii")
    assert "> billing   ###############  " in text
    assert "?" not in text.replace("Which team?", "")


def test_of_many_options_the_likeliest_are_drawn_and_the_rest_summed_up() -> None:
    p = [0.5] + [0.5 / 254] * 254
    text = drawn(sheet({"q": (Choice({f"option {i}": None for i in range(255)}), p)}))
    assert "❯ option 0 " in text
    assert "and 246 more with 48.4 % together" in text
    assert len(text.splitlines()) < 16


def test_the_answer_is_drawn_even_when_it_is_the_last_of_many() -> None:
    p = [0.5 / 254] * 254 + [0.5]
    text = drawn(sheet({"q": (Choice({f"option {i}": None for i in range(255)}), p)}))
    assert "❯ option 254 " in text


def test_evidence_of_the_answer_names_words_places_and_times() -> None:
    pieces = [
        Evidence("text", 0, (0, 13), 0.5, "charged\ntwice"),
        Evidence("image", 0, (0.0, 0.25, 0.5, 1.0), 0.25),
        Evidence("audio", 1, (2.0, 3.5), 0.2),
        Evidence("video", 0, (0.0, 0.5), 0.05),
    ]
    other = [Evidence("text", 0, (0, 5), 1.0, "wrong")]
    used = {"refund": {"true": other, "false": pieces}}
    text = drawn(sheet({"refund": (REFUND, [0.25, 0.75])}, evidence=used))
    assert 'looked at "charged twice" (50 %)' in text
    assert "looked at image 1, x 0-50 %, y 25-100 % (25 %)" in text
    assert "looked at audio 2, 2.0-3.5 s (20 %)" in text
    assert "video" not in text
    assert "wrong" not in text


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@example(["\U000e0000"], 24, True)
@given(st.lists(WORDS, min_size=1, max_size=14, unique=True), st.integers(24, 100), st.booleans())
def test_no_line_is_wider_than_the_terminal_and_none_steers_it(
    names: list[str], width: int, ascii_only: bool
) -> None:
    question = Choice(dict.fromkeys(names), " ".join(names))
    drawing = sheet({names[0]: (question, [1 / len(names)] * len(names))})
    text = drawn(drawing, width, "ascii" if ascii_only else "utf-8")
    assert "\x1b" not in text
    assert all(cell_len(line) <= width for line in text.split("\n"))


def test_a_state_cannot_colour_the_terminal() -> None:
    text = drawn(Heading("ticket", "\x1b[31mred\x07 [bold]plain[/bold] \u202eback"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]plain[/bold]" in text


def test_one_line_is_one_line() -> None:
    assert one_line("a\r\nb\tc\x00d\u2028e") == "a b c\N{REPLACEMENT CHARACTER}d e"


@pytest.mark.parametrize(
    ("variables", "escapes", "colours"),
    [
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colours_only_where_they_are_wanted(
    variables: dict[str, str],
    escapes: bool,
    colours: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **variables}.items():
        monkeypatch.setenv(name, value)
    terminal().print(sheet({"team": (TEAM, [0.5, 0.3, 0.2])}))
    out = capsys.readouterr().out
    assert ("\x1b[" in out) is escapes
    assert ("\x1b[1;36m" in out) is colours


def test_width_follows_the_terminal_up_to_what_can_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert terminal().width == 60
    monkeypatch.setenv("COLUMNS", "300")
    assert terminal().width == 100


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "ä"), ("ascii", "\\u00e4")])
def test_json_survives_any_encoding(encoding: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding, write_through=True))
    print_json({"a": "ä"})
    assert raw.getvalue().decode(encoding) == f'{{"a": "{shown}"}}\n'
