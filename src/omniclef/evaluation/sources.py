"""Where the files of a suite are, and how they get there.

Knows paths, addresses and checksums; knows nothing of what is in a file. The network is used only by
``DataFolder.cached``, which a person asks for by running a suite without a data folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from omniclef.errors import InvalidInput

__all__ = ["DataFolder", "SourceFile", "cache_folder", "fetch"]

_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 20


def cache_folder() -> Path:
    """``$OMNICLEF_CACHE``, or ``omniclef`` in the user's cache folder."""
    own = os.environ.get("OMNICLEF_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(shared) if shared else Path.home() / ".cache") / "omniclef"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """path: relative to the data folder. url and sha256 are given together, or both are None: then the file
    has to be put in place by hand, because its publisher ships it in another shape."""

    path: str
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The root of all data files. ``download`` allows missing files to be fetched into it."""

    root: Path
    download: bool = False

    @classmethod
    def cached(cls) -> DataFolder:
        return cls(cache_folder() / "data", download=True)

    def file(self, source: SourceFile, suite: str, origin: str) -> Path:
        """The path of ``source`` on this machine, fetched first where that is allowed and possible.

        Raises InvalidInput: the file is missing; says which file to put where, and what it comes from.
        """
        path = self.root / source.path
        if path.is_file():
            return path
        if self.download and source.url and source.sha256:
            fetch(source.url, source.sha256, path, field=suite)
            return path
        raise InvalidInput(
            suite,
            f"needs {source.path}, which is not in {self.root}",
            f"put it at {path} or name the folder that has it with --data; it comes from {origin}",
        )

    def media(self, path: str, suite: str) -> Path:
        """The path of a picture, a sound or a clip named in a list. Raises InvalidInput when it is
        missing."""
        found = self.root / path
        if not found.is_file():
            raise InvalidInput(
                suite,
                f"needs {path}, which is not in {self.root}",
                f"put it at {found} or name the folder that has it with --data",
            )
        return found


def fetch(url: str, sha256: str, target: Path, *, field: str) -> None:
    """Downloads ``url`` to ``target``, which appears only when it is whole and its checksum is right.

    Raises InvalidInput (on ``field``) without a network, and when the checksum differs.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    part, digest = Path(name), hashlib.sha256()
    try:
        with os.fdopen(handle, "wb") as out, urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            while chunk := response.read(_CHUNK):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != sha256:
            raise InvalidInput(
                field,
                f"{url} has SHA-256 {digest.hexdigest()}, expected {sha256}",
                f"the publisher changed it; put the expected file at {target}",
            )
        part.replace(target)
    except (urllib.error.URLError, OSError) as error:
        raise InvalidInput(
            field,
            f"cannot fetch {url}: {getattr(error, 'reason', error)}",
            f"put that file at {target}, or name the folder that has {target.name} with --data",
        ) from error
    finally:
        part.unlink(missing_ok=True)
