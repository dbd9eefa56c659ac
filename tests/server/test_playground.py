"""What the playground ships, and how it is served. `test_playground_page` opens it in a browser."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from omniclef.records import parse_questions, parse_state
from omniclef.server.playground import POLICY, routes

FILES = resources.files("omniclef.server.playground")
DEMO = Path(str(resources.files("omniclef"))) / "demo"
EXAMPLES = json.loads((FILES / "examples.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


def sources() -> dict[str, str]:
    ours = [entry for entry in FILES.iterdir() if entry.name.endswith((".html", ".css", ".js", ".svg", ".json"))]
    return {entry.name: entry.read_text("utf-8") for entry in ours}


def test_every_file_the_page_names_is_served_with_its_type(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    asked = set(re.findall(r'(?:src|href)="(playground/[^"]+)"', page.text))
    for name, text in sources().items():
        asked |= {f"playground/{part}" for part in re.findall(r'from "\./([^"]+)"', text)}
        asked |= set(re.findall(r'"(playground/[\w.]+)"', text)) if name.endswith(".js") else set()
    assert {f"playground/{name}" for name in sources() if name.endswith(".js")} == {
        path for path in asked if path.endswith(".js")
    }
    types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    for path in asked:
        answer = client.get(f"/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == types[path.rsplit(".", 1)[1]]


def test_the_policy_forbids_everything_from_elsewhere_and_everything_inline(client: TestClient) -> None:
    for path in ("/", "/playground/app.js", "/playground/demo/photo.jpg"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_no_file_names_another_host_or_holds_inline_code() -> None:
    for name, text in sources().items():
        found = set(re.findall(r"""(?:https?:)?//[\w.-]+\.\w+""", text)) - {"http://www.w3.org"}  # SVG's own name
        assert not found, (name, found)
        assert not re.search(r"\binnerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function|document\.write", text), (
            name
        )
    page = sources()["index.html"]
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]*src=)", page)
    assert not re.search(r"url\(|@import", sources()["style.css"])


def test_files_stay_short() -> None:
    assert {name: len(text.splitlines()) for name, text in sources().items() if len(text.splitlines()) > 600} == {}


def test_a_browser_asks_again_and_is_told_that_nothing_changed(client: TestClient) -> None:
    first = client.get("/playground/app.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/playground/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/playground/app.js", headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path", ["nothing.js", "..%2fapp.py", "%2e%2e/app.py", "__init__.py", "demo/README.md", "demo/"]
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/playground/{path}").status_code == 404


def test_examples_are_requests_and_their_media_are_served(client: TestClient) -> None:
    for example in EXAMPLES:
        parse_state(example["state"])
        parse_questions(example["questions"])
        for kind, wanted in (("images", "image/"), ("audio", "audio/"), ("videos", "video/")):
            for name in example.get(kind, ()):
                answer = client.get(f"/playground/demo/{name}")
                assert answer.headers["content-type"].startswith(wanted)
                assert answer.content == (DEMO / name).read_bytes()
