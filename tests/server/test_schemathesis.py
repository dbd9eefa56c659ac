"""schemathesis reads /openapi.json of a real server process and asks what follows from it: the server never breaks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from serving import serve

pytestmark = pytest.mark.soak

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def test_what_the_document_allows_and_what_it_forbids_breaks_nothing() -> None:
    with serve("--threads", "1") as server:
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
        options = ["--checks", CHECKS, "--seed", "1", "--max-examples", "50", "--no-color"]
        ran = subprocess.run(
            [*command, f"{server.address}/openapi.json", *options], capture_output=True, text=True, timeout=900
        )
        assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
        assert "Traceback" not in server.log()
