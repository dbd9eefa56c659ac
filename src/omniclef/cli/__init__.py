"""The command line: one verb per file, each thin.

Knows arguments, files and exit codes; knows nothing of a model's insides. Help texts are the documentation.
Every error is one line on standard error and exit code 2, and nothing is printed before all is known.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from omniclef import OmniclefError, __version__
from omniclef.cli.ask import ask
from omniclef.cli.demo import demo
from omniclef.cli.evaluate import evaluate
from omniclef.cli.keys import keys
from omniclef.cli.models import info, models
from omniclef.cli.serve import serve
from omniclef.cli.train import train
from omniclef.cli.usage import usage
from omniclef.console import one_line

__all__ = ["app", "main", "run"]

HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP)
app.command()(ask)
app.command()(demo)
app.command(name="eval")(evaluate)
app.command()(train)
app.command()(models)
app.command()(info)
app.command()(serve)
app.command()(usage)
app.add_typer(keys, name="keys")


@app.callback(invoke_without_command=True)
def verbs(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Typed decisions from text, images, sound and video, with probabilities.

    Exit codes: 0 answered, 2 wrong input, 130 interrupted, 1 anything else. An error is one line on standard
    error.
    """
    if version:
        typer.echo(f"omniclef {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The ``omniclef`` program."""
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command line (that of the process by default) and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without Unicode shows "?", which beats no answer
            stream.reconfigure(errors="replace")
    try:
        code = app(arguments, prog_name="omniclef", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _silence()
        return 1
    except OmniclefError as error:
        return _fail(error, 2)
    except typer.TyperException as error:
        return _fail(error.format_message(), 2)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
        return _fail(what, 2)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if os.environ.get("OMNICLEF_TRACEBACK"):
            raise
        remedy = "please report it; OMNICLEF_TRACEBACK=1 shows where it happened"
        return _fail(f"unexpected {type(error).__name__}: {error}; {remedy}", 1)


def _fail(message: object, code: int) -> int:
    print(f"omniclef: error: {one_line(str(message))}", file=sys.stderr)
    return code


def _silence() -> None:
    """Nobody reads standard output any more: without this the interpreter would say so when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
