"""The playground: one page that asks this server, and the files it is made of. Knows nothing of models or wires.

The page is plain HTML, CSS and ES modules, served as they are. It loads nothing from elsewhere, and its policy forbids
the browser to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

__all__ = ["POLICY", "routes"]

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
"""The Content-Security-Policy: nothing from elsewhere, nothing inline, no markup from strings."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
    ".wav": "audio/wav",
    ".mp4": "video/mp4",
}

HEADERS = {
    # The files have no version in their names, so a browser asks whether its copy is still right.
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    content_type: str
    etag: str


def routes() -> list[BaseRoute]:
    """``/``, the files of the page under ``/playground``, and the media of its examples under ``/playground/demo``."""
    return [
        Route("/", _page, name="playground"),
        Route("/playground/{name}", _part),
        Route("/playground/demo/{name}", _medium),
    ]


async def _page(request: Request) -> Response:
    return _answer(request, _parts(), "index.html")


async def _part(request: Request) -> Response:
    return _answer(request, _parts(), request.path_params["name"])


async def _medium(request: Request) -> Response:
    return _answer(request, _media(), request.path_params["name"])


def _answer(request: Request, files: Mapping[str, _File], name: str) -> Response:
    file = files.get(name)
    if file is None:
        raise HTTPException(404)
    headers = {**HEADERS, "etag": file.etag}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers={**headers, "content-type": file.content_type})


@cache
def _parts() -> dict[str, _File]:
    return _read(resources.files(__name__))


@cache
def _media() -> dict[str, _File]:
    """The media of the demo, which the examples share."""
    return _read(resources.files("omniclef") / "demo")


def _read(folder: Traversable) -> dict[str, _File]:
    """Every file of a folder whose type is known, whole: together they are a few hundred kilobytes."""
    files = {}
    for entry in folder.iterdir():
        content_type = TYPES.get(PurePath(entry.name).suffix)
        if content_type is not None:
            body = entry.read_bytes()
            files[entry.name] = _File(body, content_type, f'"{sha256(body).hexdigest()[:16]}"')
    return files
