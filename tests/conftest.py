"""What all tests share: the command line in this process, and the embedded model."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import omniclef
from omniclef.cli import run


@dataclass(frozen=True)
class Ran:
    """What a command line left: its exit code and both streams."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs ``omniclef`` with these arguments, and with ``stdin`` as its standard input."""

    def call(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return call


@pytest.fixture(scope="session")
def nano() -> omniclef.DecisionModel:
    """The embedded model, opened once."""
    return omniclef.load("nano")
