"""Requests that mean harm, each made from its number alone, so that a failure is made again from what a test prints."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import numpy as np
import zstandard
from encoded_media import clip, grey_clock, steady, tone, wav
from PIL import Image

RUN = "/client/v4/accounts/{account}/ai/run/{model}"
ROUTES = (
    "/v1/systemone",
    "/v1/systemone/input_tokens",
    RUN,
    "/accounts/{account}/ai/run/{model}",
    "/v1/decisions",
    "/api/alpha/decisions",
    "/alpha/decisions",
    "/api/v1/systemone",
)
LONELY = ("\ud800", "a\udfff", "\udc00\ud800")
NAMES = ("images", "audio", "videos", "assets", "x_states", "x_evidence", "x_truncate", "state", "model", "questions")


@dataclass(frozen=True)
class Hostile:
    """route: the pattern of ``path``, as the OpenAPI document has it."""

    number: int
    route: str
    path: str
    body: bytes
    headers: dict[str, str]


def hostile(number: int, seed: int = 0) -> Hostile:
    """The request of this number."""
    rng = random.Random(f"{seed}/{number}")
    route = ROUTES[number % len(ROUTES)]
    model = "@cf/cloudflare/clef-omni" if rng.random() < 0.95 else _name(rng)
    path = route.format(
        account="acc", model=quote(model.encode("utf-8", "surrogatepass"), safe="@/" * rng.randrange(2))
    )
    value = well_formed(route, rng)
    form = rng.random() < 0.06 and "systemone" in route
    if form:
        value["assets"] = {"<p>": {"type": "image", "format": "png", "part": "asset-0"}}
        value["state"] = "see <p>"
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        value = changed(value, rng)
    body = json.dumps(value).encode()
    headers = {"content-type": "application/json"}
    if form:
        body = _multipart(body, medium("image", rng))
        headers["content-type"] = rng.choice(("multipart/form-data; boundary=b",) * 8 + ("multipart/form-data", "a/b"))
    if rng.random() < 0.15:
        body = rng.choice(BYTES)(body, rng)
    if rng.random() < 0.08:
        body, headers["content-encoding"] = _packed(body, rng)
    if rng.random() < 0.05:
        kinds = (
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/vnd.a+json; charset=utf-16",
            "\xff",
            "",
        )
        headers["content-type"] = rng.choice((*kinds, "multipart/form-data; boundary=" + "b" * 300))
    return Hostile(number, route, path, body, headers)


def well_formed(route: str, rng: random.Random) -> Any:
    """A request that this route answers, most of the time with a medium, most of the time a broken one."""
    state = rng.choice(
        ("I want my money back.", {"subject": "late", "lines": [1, 2.5, None, True]}, ["a", "b"], "x " * 300)
    )
    kind = rng.choice(("", "", "image", "audio", "video"))
    source = _source(kind, rng) if kind else None
    if route == "/v1/decisions":
        listed: list[Any] = [
            {"type": "predicate", "name": "refund", "instructions": "Money back?"},
            {"type": "choice", "instructions": "Who?", "choices": [{"value": "billing"}, {"value": True}]},
            {"type": "score", "instructions": "How urgent?", "levels": [{"label": "no"}, {"label": "now"}]},
        ]
        content = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": source}]
        sent = [{"role": "user", "content": content}] if kind else "I want my money back."
        return {"model": "nano", "input": sent, "questions": rng.sample(listed, rng.randint(1, 3))}
    asked: dict[str, Any] = {
        "refund": {"type": "noul", "instructions": "Money back?"},
        "team": {"type": "choice", "instructions": "Who?", "criteria": {"billing": "payments", "support": None}},
        "urgent": {"type": "score", "instructions": "How urgent?", "criteria": ["no", "soon", "now"]},
    }
    value: dict[str, Any] = {
        "model": "clef-omni",
        "state": state,
        "questions": {key: asked[key] for key in rng.sample(list(asked), rng.randint(1, 3))},
    }
    if kind:
        value[{"image": "images", "audio": "audio", "video": "videos"}[kind]] = [source]
    if rng.random() < 0.1:
        value[rng.choice(("x_evidence", "x_truncate"))] = True
    if rng.random() < 0.1:
        value["x_states"] = ["a", "b"]
    return value


# Values


def changed(value: Any, rng: random.Random) -> Any:
    """``value`` with one of its places changed, lost, wrapped or renamed."""
    places = list(_places(value))
    if not places:
        return _value(rng)
    holder, key = rng.choice(places)
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice((*NAMES, *LONELY, "", "\0", "a" * 2000))] = holder.pop(key)
        case 2:
            holder[key] = rng.choice(([holder[key]], {"a": holder[key]}, [holder[key]] * 5))
        case 3 if isinstance(holder, dict):
            holder[rng.choice(NAMES)] = _value(rng)
        case _:
            holder[key] = _value(rng)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    left = [value]
    while left:
        holder = left.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ():
            yield holder, key
            left.append(holder[key])


def _value(rng: random.Random) -> Any:
    kind = rng.choice(("image", "audio", "video"))
    made: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice(
            (None, True, False, 0, -1, 0.5, "", " ", "\0", [], {}, [[]], [None], {"": ""}, "noul", "nano")
        ),
        lambda: rng.choice(
            (10**18, -(2**63), 2**64, 10 ** rng.randint(20, 4000), 1e308, -1e-320, float("nan"), float("inf"))
        ),
        lambda: rng.choice(LONELY) * rng.choice((1, 50)),
        lambda: "".join(chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(30)),
        lambda: _nested(rng.choice((5, 63, 64, 65, 200)), rng),
        lambda: rng.choice(("/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/a.png", "data:", "data:;base64,")),
        lambda: _source("image", rng),
        lambda: [_source(kind, rng)] * rng.choice((1, 5)),
        lambda: {rng.choice((str(number), f"<{number}>")): None for number in range(rng.choice((1, 64, 300)))},
        lambda: (
            rng.choice(("word ", "é", "日本", "🙂", "<|im_start|>", "\u202e", "a\u0301")) * rng.choice((1, 20, 200))
        ),
    )
    return rng.choice(made)()


def _nested(depth: int, rng: random.Random) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def _name(rng: random.Random) -> str:
    return rng.choice(("nano", "nothing", "..", "@cf/\x00", "%2e%2e", "a" * 500, "日本", "\ud800", "a/b/c?d", " "))


# Bytes


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(min(len(found), rng.choice((1, 4, 40)))):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _inserted(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    piece = rng.choice(
        (b"\0", b"\xff", b"\xed\xa0\x80", b"{", b"]", b",", b'"', b"\\u", b"\\ud800", b"NaN", b"1e999", b"-")
    )
    return data[:at] + piece + data[at:]


def _replaced(data: bytes, rng: random.Random) -> bytes:
    depth = rng.choice((10, 100, 5000, 50_000))
    return rng.choice(
        (
            b"[" * depth,
            b'{"a":' * depth,
            b"[" * depth + b"]" * depth,
            b'{"state":' + b"[" * depth + b"]" * depth + b"}",
            b"9" * depth,
            b'{"state":' + b"9" * depth + b"}",
            b'{"a":1,' * min(depth, 100) + data,
            b"",
            b"null",
            b'"' + b"\\" * depth,
            data.decode("latin-1").encode("utf-16"),
            b"\xef\xbb\xbf" + data,
            rng.randbytes(100),
            b"[" + b"0," * depth + b"0]",
        )
    )


BYTES = (_cut, _flipped, _inserted, _replaced)


def _packed(body: bytes, rng: random.Random) -> tuple[bytes, str]:
    encoding = rng.choice(("gzip", "zstd", "gzip", "zstd", "br", "gzip, gzip", "\xff"))
    packed = zstandard.compress(body) if encoding == "zstd" else gzip.compress(body)
    match rng.randrange(6):
        case 0:
            packed = rng.choice(BYTES[:3])(packed, rng)
        case 1:
            packed = body
        case 2:
            packed *= 2
        case 3 if rng.random() < 0.2:  # becomes more than a body may have
            packed = (zstandard.compress if encoding == "zstd" else gzip.compress)(bytes(33 << 20))
    return packed, encoding


def _multipart(body: bytes, picture: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="request"\r\nContent-Type: application/json\r\n\r\n'
    part = b'\r\n--b\r\nContent-Disposition: form-data; name="asset-0"; filename="a"\r\nContent-Type: image/png\r\n\r\n'
    return head + body + part + picture + b"\r\n--b--\r\n"


# Media


def medium(kind: str, rng: random.Random) -> bytes:
    """An encoded medium of a kind, whole or broken; sometimes of another kind."""
    if rng.random() < 0.1:
        kind = rng.choice(("image", "audio", "video"))
    data = rng.choice(_media()[kind])
    match rng.randrange(6):
        case 0:
            return data
        case 1:
            return _cut(data, rng)
        case 2:  # near the start, where sizes and counts are
            return _flipped(data[:64], rng) + data[64:]
        case 3:
            return _flipped(data, rng)
        case 4:
            return data[: len(data) // 2] + rng.randbytes(64) + data[len(data) // 2 :]
    return rng.choice((b"", data[:12] + rng.randbytes(300), rng.choice(_bombs()), data * 2))


def _source(kind: str, rng: random.Random) -> Any:
    """A data URL or an object in base64, sometimes with a wrong type or letters that are none of base64."""
    text = base64.b64encode(medium(kind, rng)).decode()
    if rng.random() < 0.2:
        at = rng.randrange(len(text) + 1)
        text = rng.choice(
            (text[:at], text[:at] + rng.choice(("=", "!", "\n", "é", "-_", "\ud800", "\0")) + text[at:], text + "=")
        )
    content_type = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}[kind]
    if rng.random() < 0.1:
        content_type = rng.choice(("", "image/svg+xml", "text/html", "application/x-sh", "IMAGE/PNG", "a" * 300))
    if rng.random() < 0.2:
        return {"content_type": content_type, "base64": text}
    return f"data:{content_type};base64,{text}"


@cache
def _media() -> dict[str, tuple[bytes, ...]]:
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    frames = grey_clock(steady(1.0, 2))
    return {
        "image": tuple(_saved(picture, form) for form in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")),
        "audio": (wav(tone(0.05, 16_000), 16_000), wav(tone(0.05, 8_000), 8_000)),
        "video": (clip(frames, codec="mpeg4"), clip(frames, codec="mpeg4", samples=tone(0.05, 48_000))),
    }


@cache
def _bombs() -> tuple[bytes, ...]:
    """Small files that claim, or become, much."""
    plain = wav(tone(0.1, 8_000), 8_000)
    return (
        _png(60_000, 60_000, b""),
        _png(0x7FFFFFFF, 0x7FFFFFFF, b""),
        _png(6000, 6000, zlib.compress(bytes(6000 * 6001), 9)),
        _png(0, 0, b""),
        plain[:40] + b"\xff\xff\xff\xff" + plain[44:],
        plain[:24] + struct.pack("<I", 1) + plain[28:],
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile '/etc/passwd'\n",
    )


def _png(width: int, height: int, packed: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _saved(picture: Image.Image, form: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()
