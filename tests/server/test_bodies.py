"""Bodies: content types, compression, sizes, JSON and multipart, as one request each."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
import zstandard
from starlette.requests import Request

from omniclef.engine import Overloaded
from omniclef.server.bodies import Bodies, Body, BodyError, BodyLimits, write_json

SMALL = BodyLimits(body=4096, together=6000, values=100, parts=3, part_header=200, seconds=0.05, inline=64)


def request(*pieces: bytes, wait: float = 0.0, **headers: str) -> Request:
    """A request whose body comes in these pieces."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> dict[str, object]:
        await asyncio.sleep(wait)
        return messages.pop(0)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": named}, receive)


def read(*pieces: bytes, bodies: Bodies | None = None, **headers: str) -> Body:
    async def go() -> Body:
        async with (bodies or Bodies(SMALL)).read(request(*pieces, **headers)) as body:
            return body

    return asyncio.run(go())


def fault(*pieces: bytes, **headers: str) -> str:
    with pytest.raises(BodyError) as caught:
        read(*pieces, **headers)
    assert "\n" not in str(caught.value)
    return caught.value.fault


def multipart(*parts: tuple[str, bytes], end: bytes = b"--x--\r\n") -> bytes:
    heads = [f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + data for name, data in parts]
    return b"\r\n".join([*heads, end])


FORM = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=utf-8", "application/problem+json", ""]
)
def test_json_is_read_under_its_names(content_type: str) -> None:
    assert read(b'{"a"', b": 1}", content_type=content_type).payload == {"a": 1}


def test_both_compressions_and_parts_of_them_are_read() -> None:
    data = json.dumps({"text": "x" * 2000}).encode()
    halves = gzip.compress(data[:900]) + gzip.compress(data[900:])
    for packed, name in ((gzip.compress(data), "gzip"), (zstandard.compress(data), "zstd"), (halves, "gzip")):
        assert read(packed, content_encoding=name).payload == {"text": "x" * 2000}
    streamed = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    packed = streamed.compress(data) + streamed.flush()
    assert read(packed, content_encoding="zstd").size == len(data)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_what_unpacks_to_too_much_is_refused_before_it_is_there(name: str) -> None:
    bomb = b"0" * (64 << 20)
    packed = gzip.compress(bomb, 9) if name == "gzip" else zstandard.compress(bomb)
    bodies = Bodies(BodyLimits(body=1 << 20))
    with pytest.raises(BodyError, match="larger than 1,048,576 bytes") as caught:
        read(packed, bodies=bodies, content_encoding=name)
    assert caught.value.fault == "size"


@pytest.mark.parametrize(
    ("data", "headers", "wanted"),
    [
        (b"{", {}, "json"),
        (b"", {}, "json"),
        (b"[NaN]", {}, "json"),
        (b'"\xff"', {}, "json"),
        (b"[" * 99, {}, "json"),
        (b"[" * 101, {}, "size"),
        (b"1," * 101, {}, "size"),
        (b"x" * 5000, {}, "size"),
        (b"1", {"content_length": "99999999999999999999999"}, "size"),
        (b"1", {"content_type": "text/plain"}, "type"),
        (b"1", {"content_encoding": "br"}, "type"),
        (b"1", {"content_encoding": "gzip, gzip"}, "type"),
        (b"1", {"content_encoding": "gzip"}, "encoding"),
        (b"1", {"content_encoding": "zstd"}, "encoding"),
        (gzip.compress(b"12345")[:-6], {"content_encoding": "gzip"}, "encoding"),
        (zstandard.compress(b"12345")[:-2], {"content_encoding": "zstd"}, "encoding"),
        (b"1", {"content_type": "multipart/form-data"}, "encoding"),
        (b"1", {"content_type": FORM}, "encoding"),
        (multipart(("request", b"{}"), end=b""), {"content_type": FORM}, "encoding"),
        (multipart(("asset-0", b"{}")), {"content_type": FORM}, "encoding"),
        (multipart(("request", b"{}"), ("a", b""), ("a", b"")), {"content_type": FORM}, "encoding"),
        (multipart(("request", b"{}"), ("", b"")), {"content_type": FORM}, "encoding"),
        (multipart(("request", b"{}"), ("a", b""), ("b", b""), ("c", b"")), {"content_type": FORM}, "size"),
        (multipart(("request" * 50, b"{}")), {"content_type": FORM}, "size"),
        (multipart(("request", b"{")), {"content_type": FORM}, "json"),
    ],
)
def test_what_cannot_be_read_is_told(data: bytes, headers: dict[str, str], wanted: str) -> None:
    assert fault(data, **headers) == wanted


def test_parts_come_by_name_with_the_json_among_them() -> None:
    data = multipart(("request", b'{"a": 1}'), ("asset-0", b"\r\n--y\x00"))
    body = read(data[:30], data[30:], content_type=FORM)
    assert body.payload == {"a": 1}
    assert body.parts == {"asset-0": b"\r\n--y\x00"}


def test_a_slow_body_is_given_up() -> None:
    async def go() -> None:
        async with Bodies(SMALL).read(request(b"{}", wait=0.1)):
            pass

    with pytest.raises(BodyError, match=r"within 0\.05 s") as caught:
        asyncio.run(go())
    assert caught.value.fault == "slow"


def test_bodies_share_their_memory_and_give_it_back() -> None:
    bodies = Bodies(SMALL)

    async def go() -> None:
        async with bodies.read(request(json.dumps("x" * 3900).encode())):
            with pytest.raises(Overloaded, match="bytes of requests"):
                async with bodies.read(request(b"x" * 3000)):
                    pass
        async with bodies.read(request(json.dumps("x" * 3900).encode())) as body:
            assert body.size == 3902

    asyncio.run(go())


def test_json_is_written_whatever_it_holds() -> None:
    assert write_json({"ü": "\ud800"}) == b'{"\\u00fc":"\\ud800"}'
    assert write_json({"ü": 1}) == '{"ü":1}'.encode()
    with pytest.raises(ValueError):
        write_json(float("nan"))
