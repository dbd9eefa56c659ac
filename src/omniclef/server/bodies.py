"""Request bodies: from what came over the wire to one plain JSON value, every size and kind checked on the way.

Knows content types, compression and multipart; knows nothing of what a body means.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import python_multipart
import zstandard
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from omniclef.engine import Overloaded
from omniclef.errors import InvalidInput
from omniclef.records import read_json

__all__ = ["Bodies", "Body", "BodyError", "BodyLimits", "write_json"]

Fault: TypeAlias = Literal["json", "size", "type", "encoding", "slow"]

PIECE = 1 << 16


class BodyError(InvalidInput):
    """A body that cannot be read.

    Attributes:
        fault: ``json`` it is none, ``size`` more bytes, values or parts than allowed, ``type`` a content type or an
            encoding that is not read, ``encoding`` compressed or multipart data are broken, ``slow`` it did not come.
    """

    def __init__(self, fault: Fault, problem: str, remedy: str = "", field: str = "request") -> None:
        self.fault: Fault = fault
        super().__init__(field, problem, remedy)


@dataclass(frozen=True, slots=True)
class Body:
    """payload: the JSON value. parts: bytes of multipart parts by name. size: bytes when decoded."""

    payload: Any
    parts: dict[str, bytes] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Bounds on bodies.

    Attributes:
        body: bytes of one, both as sent and decoded.
        together: bytes of all bodies that are held at a time; more are refused for now.
        values: JSON values of one body, by its commas, colons and brackets: what makes parsing slow and its result big.
        parts: multipart parts of one body.
        part_header: bytes of the headers of a part.
        seconds: in which a body has to arrive.
        inline: bytes up to which a plain body is parsed at once, larger ones beside the event loop.
    """

    body: int = 32 << 20
    together: int = 512 << 20
    values: int = 1_000_000
    parts: int = 64
    part_header: int = 8 << 10
    seconds: float = 30.0
    inline: int = 256 << 10


class Bodies:
    """Reads bodies within their limits, which hold for all of them together too."""

    def __init__(self, limits: BodyLimits | None = None) -> None:
        self.limits = limits or BodyLimits()
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[Body]:
        """The body of ``request``, accounted for until the context ends.

        Raises:
            BodyError: see there.
            Overloaded: other bodies take the memory there is.
            ClientDisconnect: the caller went away.
        """
        held = 0
        try:
            pieces: list[bytes] = []
            declared = request.headers.get("content-length", "")
            if declared.isdecimal() and int(declared[:20]) > self.limits.body:
                raise self._too_large()
            parse = self._parser(request)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    async for piece in request.stream():
                        held += len(piece)
                        self._held += len(piece)
                        pieces.append(piece)
                        if held > self.limits.body:
                            raise self._too_large()
                        if self._held > self.limits.together:
                            raise Overloaded(self._held, self.limits.together, 1.0, "bytes of requests")
            except TimeoutError:
                raise BodyError("slow", f"did not arrive within {self.limits.seconds:g} s", "send it faster") from None
            data = b"".join(pieces)
            if held <= self.limits.inline and not request.headers.get("content-encoding"):
                body = parse(data)
            else:
                body = await asyncio.to_thread(parse, data)
            unpacked = max(0, body.size - held)
            held += unpacked
            self._held += unpacked
            yield body
        finally:
            self._held -= held

    def _parser(self, request: Request) -> Callable[[bytes], Body]:
        """What makes a `Body` of the bytes, chosen by the headers before the bytes are there."""
        content_type, options = parse_options_header(request.headers.get("content-type", "application/json"))
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "zstd"):
            raise BodyError("type", f"content-encoding {encoding[:40]!r} is not read", "use gzip, zstd or none")
        name = content_type.decode("latin-1").lower()
        if name == "multipart/form-data":
            boundary = options.get(b"boundary", b"")
            return lambda data: self._parts(self._decoded(data, encoding), boundary)
        if name in ("", "application/json") or (name.startswith("application/") and name.endswith("+json")):
            return lambda data: self._json(self._decoded(data, encoding))
        remedy = "send application/json or multipart/form-data"
        raise BodyError("type", f"content-type {name[:80]!r} is not read", remedy)

    def _decoded(self, data: bytes, encoding: str) -> bytes:
        if encoding == "identity":
            return data
        try:
            return self._gunzipped(data) if encoding == "gzip" else self._unzstded(data)
        except (zlib.error, zstandard.ZstdError) as error:
            reason = " ".join(str(error).split())[:120]
            raise BodyError("encoding", f"is not {encoding} ({reason})", "compress it again") from None

    def _gunzipped(self, data: bytes) -> bytes:
        out, rest, size = [], data, 0
        while rest:  # a file may have several members
            reader = zlib.decompressobj(wbits=31)
            piece = reader.decompress(rest, self.limits.body + 1 - size)
            size += len(piece)
            if size > self.limits.body:
                raise self._too_large()
            if not reader.eof:
                raise BodyError("encoding", "is gzip that is cut short", "send all of it")
            out.append(piece)
            rest = reader.unused_data
        return b"".join(out)

    def _unzstded(self, data: bytes) -> bytes:
        # A frame may ask for a window of gigabytes; what has to fit into the limit needs none larger than it.
        reader = zstandard.ZstdDecompressor(max_window_size=max(self.limits.body, 1 << 23))
        size = 0
        with reader.stream_reader(data, read_across_frames=True) as stream:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > self.limits.body:
                    raise self._too_large()
        # The stream does not tell a whole frame from one that is cut short; this does, but has no limit.
        out, rest = [], data
        while rest:
            frame = reader.decompressobj()
            out.append(frame.decompress(rest))
            if not frame.eof:
                raise BodyError("encoding", "is zstd that is cut short", "send all of it")
            rest = frame.unused_data
        return b"".join(out)

    def _json(self, data: bytes) -> Body:
        values = sum(map(data.count, (b",", b":", b"[", b"{")))
        if values > self.limits.values:
            problem = f"has {values:,} commas, colons and brackets, the limit is {self.limits.values:,}"
            raise BodyError("size", problem, "send less in one request")
        try:
            return Body(read_json(data), {}, len(data))
        except InvalidInput as error:
            raise BodyError("json", error.problem, error.remedy) from None

    def _parts(self, data: bytes, boundary: bytes) -> Body:
        parts = _multipart(data, boundary, self.limits)
        if "request" not in parts:
            raise BodyError("encoding", 'has no part named "request"', "send the JSON body as that part")
        asked = self._json(parts.pop("request"))
        return Body(asked.payload, parts, len(data))

    def _too_large(self) -> BodyError:
        return BodyError("size", f"is larger than {self.limits.body:,} bytes", "send a smaller one")


def write_json(value: object) -> bytes:
    """Compact JSON in UTF-8; half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _multipart(data: bytes, boundary: bytes, limits: BodyLimits) -> dict[str, bytes]:
    """Parts by name; a name that comes twice is refused, since nobody could tell which one is meant."""
    collector = _Collector(limits)
    try:
        parser = python_multipart.MultipartParser(boundary, collector.callbacks())
        parser.write(data)
        parser.finalize()
    except (python_multipart.exceptions.FormParserError, ValueError) as error:
        if isinstance(error, BodyError):
            raise
        raise BodyError("encoding", "is not multipart/form-data", "check its boundary and parts") from None
    if not collector.ended:
        raise BodyError("encoding", "is multipart/form-data that is cut short", "send all of it")
    return collector.parts


class _Collector:
    def __init__(self, limits: BodyLimits) -> None:
        self.parts: dict[str, bytes] = {}
        self.ended = False
        self._limits = limits
        self._pieces: list[bytes] = []
        self._header, self._value, self._disposition = b"", b"", b""
        self._header_size = 0

    def callbacks(self) -> Any:
        names = ("part_begin", "header_field", "header_value", "header_end", "part_data", "part_end", "end")
        return {f"on_{name}": getattr(self, name) for name in names}

    def part_begin(self) -> None:
        if len(self.parts) >= self._limits.parts:
            raise BodyError("size", f"has more than {self._limits.parts} parts", "send fewer")
        self._pieces, self._disposition, self._header_size = [], b"", 0

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += self._counted(data[start:end])

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += self._counted(data[start:end])

    def header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def part_data(self, data: bytes, start: int, end: int) -> None:
        self._pieces.append(data[start:end])

    def part_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if not name or name in self.parts:
            raise BodyError("encoding", f"has a part whose name is {name[:40]!r} or comes twice", "name each part")
        self.parts[name] = b"".join(self._pieces)

    def end(self) -> None:
        self.ended = True

    def _counted(self, piece: bytes) -> bytes:
        self._header_size += len(piece)
        if self._header_size > self._limits.part_header:
            limit = self._limits.part_header
            raise BodyError("size", f"has a part with more than {limit:,} bytes of headers", "shorten them")
        return piece
