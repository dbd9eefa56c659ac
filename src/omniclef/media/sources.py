"""Where encoded bytes come from: memory, a file, a data URL, or the caller's own fetcher. Never the network.

Every way is measured against the byte budget before the bytes are read or decoded.
"""

from __future__ import annotations

import base64
import binascii
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from omniclef.errors import MediaError
from omniclef.media.signatures import Kind, Signature, missing_bytes, sniff

__all__ = ["Fetch", "Source", "identify", "read_source"]

Fetch = Callable[[str], bytes]
Source = bytes | bytearray | memoryview | str | Path | Mapping[str, Any]

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)
READ: dict[Kind, str] = {
    "image": "PNG, JPEG, WebP or GIF",
    "audio": "WAV, MP3, FLAC, Ogg or M4A",
    "video": "MP4, MOV, WebM or MKV",
}
ARTICLE: dict[Kind, str] = {"image": "an image", "audio": "a sound", "video": "a video"}
FIELDS = {"image": "images", "audio": "audio", "video": "videos"}


def read_source(source: Source, *, field: str, limit: int, fetch: Fetch | None = None) -> bytes:
    """The encoded bytes of one medium, at most ``limit`` of them and at least one.

    Args:
        source: bytes; a path; a ``data:`` URL, base64 or percent-encoded; ``{"content_type", "base64"}`` as
            on the wire; an ``http(s):`` URL, which is only ever handed to ``fetch``. Declared types are not
            believed.
        field: path of the medium in the request, for errors.
        limit: most bytes allowed.
        fetch: what to call with an http(s) URL; its own exceptions become ``MediaError``.

    Raises:
        MediaError: the source is missing, empty, unreadable, malformed or too large.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        check_size(memoryview(source).nbytes, limit, field)
        data = bytes(source)
    elif isinstance(source, Path):
        data = read_file(source, field, limit)
    elif isinstance(source, str):
        data = read_text(source, field, limit, fetch)
    elif isinstance(source, Mapping):
        payload = source.get("base64")
        if not isinstance(payload, str):
            raise MediaError(
                field, 'an object without a string "base64"', 'send {"content_type": ..., "base64": ...}'
            )
        data = decode_base64(payload, field, limit)
    else:
        what = type(source).__name__
        raise MediaError(field, f"cannot read media from {what}", "pass bytes, a path or a data URL")
    if not data:
        raise MediaError(field, "is empty (0 bytes)", "send the encoded file")
    return data


def read_text(source: str, field: str, limit: int, fetch: Fetch | None) -> bytes:
    scheme = SCHEME.match(source)  # two letters or more, so that a drive letter stays a path
    match scheme[1].lower() if scheme else None:
        case None:
            return read_file(Path(source), field, limit)
        case "data":
            return read_data_url(source, field, limit)
        case "http" | "https" if fetch:
            return fetch_url(source, field, limit, fetch)
        case "http" | "https":
            raise MediaError(
                field, "is a URL, and URLs are not fetched", "pass fetch=..., the bytes or a data URL"
            )
        case other:
            if Path(source).is_file():  # a file may be called "take:1.wav"
                return read_file(Path(source), field, limit)
            raise MediaError(
                field, f"the scheme {other!r} is not read", "pass a path, the bytes or a data URL"
            )


def fetch_url(url: str, field: str, limit: int, fetch: Fetch) -> bytes:
    try:
        data = fetch(url)
    except Exception as error:  # the caller's own code: anything may come out of it
        reason = one_line(error)
        raise MediaError(field, f"the URL could not be fetched ({reason})", "check the address") from error
    if not isinstance(data, bytes):
        raise MediaError(field, f"fetch returned {type(data).__name__}", "return the body as bytes")
    check_size(len(data), limit, field)
    return data


def read_file(path: Path, field: str, limit: int) -> bytes:
    """Only regular files: a pipe or a device has no size to check and may never end."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise MediaError(field, f"{str(path)!r} is not a file", "pass the path of an encoded file")
        check_size(status.st_size, limit, field)
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except MediaError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        shown = str(path) if len(str(path)) <= 120 else str(path)[:117] + "..."
        raise MediaError(field, f"{shown!r} cannot be read ({reason})", "check the path") from error
    check_size(len(data), limit, field)
    return data


def read_data_url(url: str, field: str, limit: int) -> bytes:
    head, comma, payload = url.partition(",")
    if not comma:
        raise MediaError(field, "a data URL without a comma", "write data:<type>;base64,<data>")
    if head.lower().endswith(";base64"):
        if "%" in payload:
            # An escaped character stands for one of base64's, so three times its length bounds the rest.
            check_size(len(payload) // 4, limit, field)
            payload = unquote_to_bytes(payload).decode("latin-1")
        return decode_base64(payload, field, limit)
    check_size(len(payload) - 2 * payload.count("%"), limit, field)
    return unquote_to_bytes(payload)


def decode_base64(payload: str, field: str, limit: int) -> bytes:
    """Line breaks and missing padding are forgiven, as browsers do; any other stray character is not."""
    if len(payload) > 2 * limit + 64:  # far over, even if every second character were a line break
        check_size(len(payload) * 3 // 4, limit, field)
    compact = "".join(payload.split()).rstrip("=")
    check_size(len(compact) * 3 // 4, limit, field)
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise MediaError(
            field, f"is not valid base64 ({one_line(error)})", "encode the file's bytes"
        ) from error


def check_size(size: int, limit: int, field: str) -> None:
    if size > limit:
        raise MediaError(
            field, f"{size:,} bytes, the limit is {limit:,}", "send a smaller or more compressed file"
        )


def identify(data: bytes, kind: Kind, field: str) -> Signature:
    """The format of ``data``, which must be one that is read as ``kind`` and must not be visibly cut short.

    Sound is also read out of a video container; everything else has to be of its own kind.
    """
    found = sniff(data)
    if found is None:
        raise MediaError(field, f"is no {kind} format we know", f"send {READ[kind]}")
    if kind == "video" and found.reader == "mp4":
        allowed = True  # only its streams tell whether an M4A has pictures
    else:
        allowed = found.kind == kind or (kind == "audio" and found.kind == "video")
    if not allowed:
        where = (
            f"; a {found.name} goes under {FIELDS[found.kind]}"
            if found.kind in FIELDS and found.reader
            else ""
        )
        raise MediaError(field, f"is {found.name}, not {ARTICLE[kind]} we read", f"send {READ[kind]}{where}")
    if not found.reader:
        raise MediaError(field, f"{found.name} is not read", f"send {READ[kind]}")
    missing = missing_bytes(data, found)
    if missing:
        whole = len(data) + missing
        raise MediaError(
            field, f"is cut short: {len(data):,} of {whole:,} bytes are here", "send the whole file"
        )
    return found


def one_line(error: BaseException) -> str:
    """An exception as a short phrase for the inside of a message."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
