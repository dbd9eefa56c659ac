"""Published clients, unmodified and each in an environment of its own, against one server process with nano.

What each of them does and expects is in ``calls/``. Environments are made once, in ``.venv-clients``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from serving import serve

pytestmark = pytest.mark.clients

ROOT = Path(__file__).parents[2]
CALLS = Path(__file__).parent / "calls"
HOMES = ROOT / ".venv-clients"
DEMO = str(resources.files("omniclef") / "demo")
KEY = "a-key-of-the-tests-alone"

PACKAGES = {
    "jevcompat": "jevcompat==0.1.1",
    "typesafe_sdk": "typesafe-sdk[zstd]==0.7.5",
    "openai": "openai==3.57.0",
    "openrouter": "openrouter==1.3.84",
    "litellm": "litellm==1.110.2",
    "cloudflare": "cloudflare==5.9.0",
    "clef_router": "clef-router==0.3.0",
    "clef_evals": "clef-evals==0.2.0",
    "clef_compactor": "clef-compactor==0.2.1",
}
NPM = ("@typesafe-ai/sdk@0.6.0", "@ai-sdk/typesafe-ai@3.0.0")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve("--rules", "listed") as server:
        yield server.address


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """Address of a server that wants a key."""
    with serve("--rules", "listed", environment={"OMNICLEF_API_KEYS": f"tests={KEY}"}) as server:
        yield server.address


@pytest.mark.parametrize("name", PACKAGES)
def test_python_client(name: str, address: str, request: pytest.FixtureRequest) -> None:
    python = _python(name)
    environment = {"PATH": os.environ["PATH"], "HOME": str(HOMES / name)}
    if name == "jevcompat":
        environment |= {"LOCKED": request.getfixturevalue("locked"), "KEY": KEY}
    # -P: the calls are named like the packages they import.
    command = [str(python), "-P", str(CALLS / f"{name}.py"), address, DEMO]
    _check(subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180))


def test_npm_clients(address: str) -> None:
    home = HOMES / "npm"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules" / "@ai-sdk" / "typesafe-ai").is_dir():
        install = ["npm", "install", "--no-audit", "--no-fund", *NPM]
        _check(subprocess.run(install, cwd=home, capture_output=True, text=True, timeout=300))
    # Node looks for packages from where the script lies.
    shutil.copy(CALLS / "npm.mjs", home / "call.mjs")
    _check(subprocess.run(["node", "call.mjs", address, DEMO], cwd=home, capture_output=True, text=True, timeout=60))


def _python(name: str) -> Path:
    home = HOMES / name
    python, stamp = home / "bin" / "python", home / "installed"
    if not (stamp.is_file() and stamp.read_text() == PACKAGES[name]):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGES[name]]
        _check(subprocess.run(pip, capture_output=True, text=True, timeout=600))
        stamp.write_text(PACKAGES[name])
    return python


def _check(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == 0, ran.stdout + ran.stderr
