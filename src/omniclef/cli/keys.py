"""``omniclef keys``: API keys of a server, in a file of hashes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from omniclef.console import key_table, terminal
from omniclef.errors import InvalidInput
from omniclef.server.keys import Keys, add_key
from omniclef.server.limits import Limits

__all__ = ["keys"]

File = Annotated[Path, typer.Option(metavar="FILE", help="The file of keys.")]
KEYS = Path("keys.json")

keys = typer.Typer(rich_markup_mode=None, help="Make and check the API keys of a server.", no_args_is_help=True)


@keys.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is, as usage tells it.")],
    file: File = KEYS,
    requests: Annotated[int | None, typer.Option(min=1, metavar="N", help="Most requests a minute.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Most input tokens a minute.")] = None,
) -> None:
    """Make a key, print it this once, and add its hash to the file. A running server takes it with the next request."""
    print(add_key(file, name, Limits(requests, tokens)))


@keys.command(name="list")
def listed(file: File = KEYS) -> None:
    """List the names of the file's keys and their limits."""
    known = Keys(file, {})
    terminal().print(key_table({name: known.limits(name) for name in known.names()}))


@keys.command()
def check(file: File = KEYS) -> None:
    """Read a key from standard input and print the name it has in the file."""
    name = Keys(file, {}).tenant(sys.stdin.readline().strip())
    if name is None:
        raise InvalidInput("key", f"it is not in {file}", "make one with: omniclef keys new NAME")
    print(name)
