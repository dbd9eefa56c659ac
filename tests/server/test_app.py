"""One real server process with nano: routes, headers, media, access, metrics, logs, and how it stops."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import signal
import threading
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard
from jsonschema import Draft202012Validator
from serving import Reply, Server, ask, serve

DEMO = Path(str(resources.files("omniclef"))) / "demo"
RUN = "/client/v4/accounts/acc/ai/run/@cf%2Fcloudflare%2Fclef-omni"
REFUND = {"refund": {"type": "noul", "instructions": "Does the customer ask for money back?"}}
SECRET = "I was charged twice. I want my money back."
ASKED = {"model": "jev-latest", "state": SECRET, "questions": REFUND}
CLOUDFLARE = {"model": "clef-omni", "state": SECRET, "questions": REFUND}
LISTED = {"model": "nano", "input": SECRET, "questions": [{"type": "predicate", "instructions": "Money back?"}]}


def data_url(kind: str, name: str) -> str:
    return f"data:{kind};base64," + base64.b64encode((DEMO / name).read_bytes()).decode()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture(scope="module")
def spec(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = ask(server.address, "/openapi.json").body
    return found


def post(server: Server, path: str, body: object, **headers: str) -> Reply:
    return ask(server.address, path, body, method="POST", **headers)


@pytest.mark.parametrize(
    ("path", "template", "body"),
    [
        ("/v1/systemone", "/v1/systemone", ASKED),
        ("/v1/systemone", "/v1/systemone", {**ASKED, "x_states": ["a", "b"], "x_evidence": True}),
        ("/v1/systemone/input_tokens", "/v1/systemone/input_tokens", ASKED),
        (RUN, "/client/v4/accounts/{account}/ai/run/{model}", CLOUDFLARE),
        ("/accounts/acc/ai/run/@cf/cloudflare/clef-omni", "/accounts/{account}/ai/run/{model}", CLOUDFLARE),
        ("/v1/decisions", "/v1/decisions", LISTED),
        ("/api/alpha/decisions", "/api/alpha/decisions", ASKED),
        ("/alpha/decisions", "/alpha/decisions", ASKED),
        ("/api/v1/systemone", "/api/v1/systemone", ASKED),
    ],
)
def test_every_route_answers_and_refuses_as_its_document_says(
    server: Server, spec: dict[str, Any], path: str, template: str, body: dict[str, Any]
) -> None:
    responses = spec["paths"][template]["post"]["responses"]
    request = spec["paths"][template]["post"]["requestBody"]["content"]["application/json"]["schema"]
    Draft202012Validator({**request, "components": spec["components"]}).validate(body)
    for sent, method in ((body, "POST"), ({}, "POST"), (b"{", "POST"), (body, "PUT"), (None, "GET")):
        told = ask(server.address, path, sent, method=method)
        assert told.headers["content-type"] == "application/json"
        assert len(told.headers["x-request-id"]) == 32
        schema = responses[str(told.status)]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": spec["components"]}).validate(told.body)
        assert (told.status == 200) == (sent is body and method == "POST")
        if method != "POST":
            assert (told.status, told.headers["allow"]) == (405, "POST")
    assert post(server, path, b"x", content_type="text/plain").status in (400, 415)


def test_media_of_all_kinds_are_read_on_every_route_that_has_a_place(server: Server) -> None:
    media = {
        "images": [data_url("image/jpeg", "photo.jpg")],
        "audio": [{"content_type": "audio/wav", "base64": data_url("", "order.wav").split(",")[1]}],
        "videos": [data_url("video/mp4", "clip.mp4")],
    }
    for path, body in (("/v1/systemone", ASKED), (RUN, CLOUDFLARE), ("/api/alpha/decisions", ASKED)):
        told = post(server, path, {**body, **media})
        assert told.status == 200, told.body
        tokens = told.body.get("result", told.body)["x_tokens"]
        assert all(tokens[kind] > 0 for kind in ("text", "image", "audio", "video"))
    parts = [{"type": "input_image", "image_url": media["images"][0]}]
    told = post(server, "/v1/decisions", {**LISTED, "input": [{"role": "user", "content": parts}]})
    assert told.body["x_tokens"]["image"] > 0
    counted = post(server, "/v1/systemone/input_tokens", {**ASKED, **media}).body
    assert counted["input_tokens"] == post(server, "/v1/systemone", {**ASKED, **media}).body["usage"]["input_tokens"]


def test_a_multipart_picture_is_the_same_as_one_in_base64(server: Server) -> None:
    photo = (DEMO / "photo.jpg").read_bytes()
    sent = {**ASKED, "state": "see <p>"}
    inline = {"type": "image", "format": "jpg", "data_base64": base64.b64encode(photo).decode()}
    whole = post(server, "/v1/systemone", {**sent, "assets": {"<p>": inline}})
    body = json.dumps({**sent, "assets": {"<p>": {"type": "image", "part": "asset-0"}}}).encode()
    form = (
        b'--b\r\nContent-Disposition: form-data; name="request"\r\nContent-Type: application/json\r\n\r\n' + body
    ) + (
        b'\r\n--b\r\nContent-Disposition: form-data; name="asset-0"; filename="asset-0"\r\n'
        b"Content-Type: image/jpeg\r\n\r\n" + photo + b"\r\n--b--\r\n"
    )
    parted = post(server, "/v1/systemone", form, content_type="multipart/form-data; boundary=b")
    assert whole.status == parted.status == 200, (whole.body, parted.body)
    assert whole.body["answers"] == parted.body["answers"]
    assert whole.body["x_tokens"]["image"] > 0


def test_broken_media_are_named_and_cost_nothing_else(server: Server) -> None:
    broken = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 64).decode()
    told = post(server, "/v1/systemone", {**ASKED, "images": [data_url("image/jpeg", "photo.jpg"), broken]})
    assert (told.status, told.body["detail"]["error_type"]) == (400, "api_usage_error")
    assert told.body["detail"]["message"].startswith("images[1]: ")
    told = post(server, RUN, {**CLOUDFLARE, "images": [broken]})
    assert told.status == 422
    assert '"fieldErrors":{"images":["images[0]: ' in told.body["errors"][0]["message"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_bodies(server: Server, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zstandard.compress
    assert post(server, "/v1/systemone", pack(json.dumps(ASKED).encode()), content_encoding=encoding).status == 200
    told = post(server, "/v1/systemone", pack(b" " * (33 << 20)), content_encoding=encoding)
    assert (told.status, told.body["detail"]["error_type"]) == (413, "request_too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"state":' + b'{"a":' * 60_000,
        json.dumps({**ASKED, "state": "\ud800"}).encode(),
        json.dumps({**ASKED, "model": "\ud800"}).encode(),
        json.dumps({**ASKED, "questions": {"\ud800": REFUND["refund"]}}).encode(),
        json.dumps({**ASKED, "state": [float("nan")]}).encode(),
        b'{"model":"nano","state":[' + b"9" * 5000 + b"]}",
        b'{"model":"nano","state":[' + b"9" * 2000 + b'],"questions":{"a":{"type":"noul","instructions":"?"}}}',
        b'{"model":"nano","state":[1e999],"questions":{"a":{"type":"noul","instructions":"?"}}}',
        json.dumps({**ASKED, "state": json.loads("[" * 70 + "]" * 70)}).encode(),
        json.dumps(
            {**ASKED, "assets": {"<a>": {"type": "image"}}, "state": json.loads("[" * 400 + "]" * 400)}
        ).encode(),
        json.dumps({**ASKED, "questions": json.loads('{"a":' * 400 + "1" + "}" * 400)}).encode(),
        json.dumps({**ASKED, "images": [None, 5, {}, "/etc/passwd", "http://127.0.0.1:1/x.png"]}).encode(),
    ],
)
def test_nothing_makes_the_server_break(server: Server, body: bytes) -> None:
    for path in ("/v1/systemone", RUN, "/v1/decisions", "/api/alpha/decisions", "/v1/systemone/input_tokens"):
        told = post(server, path, body)
        assert told.status < 500, (path, told)
        assert isinstance(told.body, dict)
        assert "Traceback" not in json.dumps(told.body)


def test_health_models_and_documents(server: Server) -> None:
    for path in ("/health", "/healthz"):
        assert ask(server.address, path).body == {"status": "ok"}
    assert ask(server.address, "/ready").body == {"status": "ready", "models": {"nano": True}}
    listed = ask(server.address, "/v1/models").body
    assert [model["name"] for model in listed["models"]] == [model["id"] for model in listed["data"]] == ["nano"]
    assert {"text", "image", "audio", "video"} == set(listed["models"][0]["x_modalities"])
    assert ask(server.address, "/api/v1/models?output_modalities=decisions").body == listed
    told = ask(server.address, "/docs")
    assert told.headers["content-type"].startswith("text/html")
    assert "/v1/systemone" in told.body
    assert ask(server.address, "/").status == 200
    assert ask(server.address, "/nothing").body == {"detail": "Not Found"}
    assert ask(server.address, "/api/nothing").body["error"]["code"] == 404
    assert ask(server.address, "/client/v4/nothing").body["errors"][0]["code"] == 7000


def test_the_document_is_valid_and_every_reference_leads_somewhere(spec: dict[str, Any]) -> None:
    assert spec["openapi"] == "3.1.0"
    schemas = spec["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    text = json.dumps(spec)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= schemas.keys()
    assert schemas.keys() - named == set()


def test_pages_and_names_from_elsewhere_are_refused(server: Server) -> None:
    for headers in (
        {"host": "evil.example"},
        {"host": "evil.example:80"},
        {"host": ""},
        {"host": "[::1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": server.address.replace("http:", "https:")},
    ):
        for path in ("/v1/systemone", RUN):
            assert post(server, path, ASKED, **headers).status in (400, 403), headers
        assert ask(server.address, "/v1/models", **headers).status in (400, 403), headers
    own = {"host": urlsplit(server.address).netloc, "origin": server.address}
    assert post(server, "/v1/systemone", ASKED, **own).status == 200
    assert post(server, "/v1/systemone", ASKED, host="localhost").status == 200


def test_metrics_and_logs_tell_of_requests_but_not_what_they_held(server: Server) -> None:
    told = post(server, "/v1/systemone", ASKED, authorization="Bearer a-very-secret-key")
    assert told.status == 200
    metrics = ask(server.address, "/metrics").body
    assert 'omniclef_requests_total{model="nano",route="/v1/systemone",status="200"}' in metrics
    for stage in ("decode", "queue", "run", "total", "request"):
        assert f'omniclef_seconds_count{{modality="text",model="nano",stage="{stage}"}}' in metrics
    assert 'omniclef_input_tokens_total{modality="text",model="nano",tenant=""}' in metrics
    assert 'omniclef_ready{model="nano"} 1.0' in metrics
    lines = [json.loads(line) for line in server.log().splitlines()]
    (line,) = [line for line in lines if line.get("id") == told.headers["x-typesafe-request-id"]]
    assert (line["event"], line["route"], line["status"], line["model"]) == ("request", "/v1/systemone", 200, "nano")
    assert line["tokens"] == told.body["usage"]["input_tokens"]
    for private in ("money", "refund", "a-very-secret-key", "base64"):
        assert private not in server.log()
    assert [line for line in lines if line["event"] == "broken"] == []


def test_keys_limits_and_usage(tmp_path: Path) -> None:
    log = tmp_path / "usage.jsonl"
    key = {"authorization": "Bearer a-key-of-the-tests"}
    environment = {"OMNICLEF_API_KEYS": "team=a-key-of-the-tests"}
    with serve("--usage-log", str(log), environment=environment) as server:
        told = post(server, "/v1/systemone", ASKED)
        assert (told.status, told.body["detail"]["message"]) == (403, "Must supply an API key!")
        assert post(server, "/v1/systemone", ASKED, authorization="Bearer wrong").status == 401
        assert post(server, RUN, CLOUDFLARE).body["errors"] == [{"message": "Authentication error", "code": 10000}]
        assert post(server, "/v1/systemone", ASKED, **key).status == 200
        assert ask(server.address, "/v1/models").status == 403
        assert ask(server.address, "/metrics").status == 403
        assert 'tenant="team"' in ask(server.address, "/metrics", **key).body
        assert ask(server.address, "/health").status == 200
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["tenant"], line["status"]) for line in lines] == [("", 403), ("", 401), ("", 401), ("team", 200)]
    assert lines[-1]["tokens"]["text"] > 0


def test_sigterm_finishes_what_was_accepted_and_exits_with_0() -> None:
    told: list[Reply] = []
    with serve() as server:
        slow = {**ASKED, "x_states": [f"ticket {number}: " + "money back " * 200 for number in range(24)]}
        thread = threading.Thread(target=lambda: told.append(post(server, "/v1/systemone", slow)))
        thread.start()
        running = 'omniclef_running{model="nano"} 1.0'
        while running not in ask(server.address, "/metrics").body:
            assert not told, "the request is too short for this test"
        server.process.send_signal(signal.SIGTERM)
        thread.join(60)
        assert server.process.wait(60) == 0
        assert told[0].status == 200
        assert len(told[0].body["x_answers"]) == 24
        assert '"event": "stopped", "drained": true' in server.log()


def test_a_caller_that_goes_away_is_noticed(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc)
    slow = {**ASKED, "x_states": [f"letter {number}: " + "money back " * 200 for number in range(24)]}
    connection.request("POST", "/v1/systemone", json.dumps(slow), {"content-type": "application/json"})
    connection.close()
    deadline = time.monotonic() + 30
    while '"status": 499' not in server.log():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_model_that_cannot_be_loaded_ends_the_server(cli: Any, tmp_path: Path) -> None:
    told = cli("serve", "--model", tmp_path / "nothing", "--port", 0)
    assert told.code == 2
    assert "nothing" in told.err.splitlines()[-1]


def test_others_may_not_reach_a_server_without_keys(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMNICLEF_API_KEYS", raising=False)
    told = cli("serve", "--host", "0.0.0.0", "--port", 0)
    assert told.code == 2
    assert "there are no keys" in told.err
