"""A server process with nano for tests, and small media and requests to ask it with."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Server:
    """address: as http://127.0.0.1:PORT. log: its standard error so far."""

    address: str
    process: subprocess.Popen[str]
    log_file: Path

    def log(self) -> str:
        return self.log_file.read_text("utf-8")


@contextmanager
def serve(*arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """``omniclef serve`` on a free port, until the context ends."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "omniclef.cli", "serve", "--port", "0", *arguments]
        with log.open("w") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **(environment or {})},
            )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, log.read_text("utf-8")
            yield Server(found[0], process, log)
        finally:
            process.terminate()
            process.wait(60)


@dataclass(frozen=True)
class Reply:
    """headers: names in lower case. body: the JSON value, or the text where it is none."""

    status: int
    headers: dict[str, str]
    body: Any


def ask(address: str, path: str, body: object = None, *, method: str = "", **headers: str) -> Reply:
    """Sends JSON, or bytes as they are; ``content_type`` is the header ``content-type``."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    sent = {"content-type": "application/json"} if data is not None else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method or ("GET" if data is None else "POST"), path, data, sent)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    names = {name.lower(): value for name, value in answer.getheaders()}
    try:
        return Reply(answer.status, names, json.loads(text))
    except ValueError:
        return Reply(answer.status, names, text.decode("utf-8", "replace"))
