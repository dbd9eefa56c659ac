"""Who may ask: API keys, stored as hashes, each with a name that is the tenant's, and limits.

Keys are 256 random bits, which nobody can guess one by one, so a single SHA-256 is enough: slow hashes are for
passwords that people choose. The salt, one a file, hides that two files have the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omniclef.errors import InvalidInput, OmniclefError
from omniclef.server.access import is_loopback
from omniclef.server.limits import Limits
from omniclef.server.logs import event

__all__ = ["VARIABLE", "Key", "Keys", "KeysRequired", "add_key", "require", "required"]

VARIABLE = "OMNICLEF_API_KEYS"
SHORTEST = 16  # characters of a key that somebody brings along: fewer could be guessed
REMEDY = f"make one with: omniclef keys new NAME --file keys.json, then pass --keys keys.json; or set {VARIABLE}"


class KeysRequired(OmniclefError):
    """Others can reach the server, and it has no keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """name: the tenant's. hash: hexadecimal SHA-256 of salt and key."""

    name: str
    hash: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Set:
    """salt: bytes before the key when it is hashed."""

    salt: bytes
    keys: tuple[Key, ...] = ()


class Keys:
    """The keys of a file and of the environment. A file that changed is read again with the next request.

    Args:
        file: as `add_key` writes it, or None.
        environment: its ``OMNICLEF_API_KEYS`` holds plain keys, ``name=key`` or ``key`` with commas between; they are
            hashed at once. Keys without a name are called ``key-1``, ``key-2`` by their place.

    Raises:
        InvalidInput: the file or the variable is not what it should be, or a name is in both.
        OSError: the file cannot be read.
    """

    def __init__(self, file: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._file = file
        plain = (os.environ if environment is None else environment).get(VARIABLE, "")
        self._given = _from_environment(plain)
        self._read = _Set(b"")
        self._stamp: tuple[int, int, int] | None = None
        if file is not None:
            self._stamp = _stamp(file)
            self._take(file)
        else:
            self._limits = _limits_of(self._given)

    def __len__(self) -> int:
        return len(self._given.keys) + len(self._read.keys)

    def names(self) -> tuple[str, ...]:
        return tuple(self._limits)

    def tenant(self, key: str) -> str | None:
        """The name of ``key``, None where there is no such key. Takes as long for every key of the same length: all
        are compared, whichever is the right one."""
        self._refresh()
        found = None
        for each in (self._given, self._read):
            wanted = _hash(each.salt, key)
            for known in each.keys:
                if hmac.compare_digest(known.hash, wanted):
                    found = known.name
        return found

    def limits(self, tenant: str) -> Limits:
        """Those of a key's name; none for one that is not there."""
        return self._limits.get(tenant, Limits())

    def _refresh(self) -> None:
        """Reads a changed file. One that became unreadable leaves the keys as they are, and a line in the log: a
        half-edited file must not lock everybody out."""
        if self._file is None:
            return
        try:
            stamp = _stamp(self._file)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._take(self._file)
            event("keys_read", file=str(self._file), keys=len(self))
        except (OSError, InvalidInput) as error:
            event("keys_unreadable", level=logging.ERROR, file=str(self._file), problem=str(error), kept=len(self))

    def _take(self, file: Path) -> None:
        read = _from_file(file)
        both = {key.name for key in read.keys} & {key.name for key in self._given.keys}
        if both:
            raise InvalidInput(str(file), f"{min(both)!r} is also in {VARIABLE}", "give one of them another name")
        if file.stat().st_mode & 0o004:
            remedy = f"chmod 600 {file}"
            event("keys_readable_by_everybody", level=logging.WARNING, file=str(file), remedy=remedy)
        self._read = read
        self._limits = _limits_of(self._given, read)


def required(host: str) -> bool:
    """Whether a server bound to ``host`` must have keys: unless only this machine can reach it."""
    return not is_loopback(host)


def require(host: str, keys: Keys) -> None:
    """Raises `KeysRequired` where ``host`` is not on loopback and there is no key."""
    if required(host) and not len(keys):
        raise KeysRequired(f"--host: {host} can be reached from elsewhere, and there are no keys; {REMEDY}")


def add_key(file: Path, name: str, limits: Limits | None = None) -> str:
    """Makes a key, adds its hash to ``file``, which is made where there is none, and returns the key: it is nowhere
    else. The file is replaced in one step and readable by its owner alone.

    Raises:
        InvalidInput: the name is taken or cannot be one, or the file is not a file of keys.
    """
    old = _from_file(file) if file.exists() else _Set(secrets.token_bytes(16))
    if any(key.name == name for key in old.keys):
        raise InvalidInput("NAME", f"{name!r} has a key in {file}", "choose another name, or take its line out")
    plain = f"oc-{secrets.token_urlsafe(32)}"
    new = Key(_name("NAME", name), _hash(old.salt, plain), limits or Limits())
    rows = [
        {
            "name": key.name,
            "hash": key.hash,
            "requests_per_minute": key.limits.requests,
            "tokens_per_minute": key.limits.tokens,
        }
        for key in (*old.keys, new)
    ]
    content = json.dumps({"salt": old.salt.hex(), "keys": rows}, indent=2) + "\n"
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # mode 600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(content)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink()
        raise
    return plain


def _hash(salt: bytes, key: str) -> str:
    # Headers may hold anything; what is no Unicode must not be an error.
    return hashlib.sha256(salt + key.encode("utf-8", "surrogatepass")).hexdigest()


def _stamp(file: Path) -> tuple[int, int, int]:
    """Differs after every change, replacement included."""
    about = file.stat()
    return about.st_mtime_ns, about.st_size, about.st_ino


def _limits_of(*sets: _Set) -> dict[str, Limits]:
    return {key.name: key.limits for each in sets for key in each.keys}


def _from_environment(text: str) -> _Set:
    salt, keys = secrets.token_bytes(16), {}
    for place, entry in enumerate(filter(None, map(str.strip, text.split(","))), 1):
        name, _, key = entry.partition("=") if "=" in entry.rstrip("=") else ("", "", entry)
        name = _name(VARIABLE, name.strip() or f"key-{place}")
        if len(key.strip()) < SHORTEST:  # the text of the error must not hold the key
            raise InvalidInput(VARIABLE, f"the key of {name!r} has fewer than {SHORTEST} characters", REMEDY)
        if name in keys:
            raise InvalidInput(VARIABLE, f"{name!r} occurs twice", "give one of them another name")
        keys[name] = Key(name, _hash(salt, key.strip()), Limits())
    return _Set(salt, tuple(keys.values()))


def _from_file(file: Path) -> _Set:
    remedy = "make one with: omniclef keys new NAME --file FILE"
    try:
        content = json.loads(file.read_text("utf-8"))
        salt = bytes.fromhex(content["salt"])
        keys = tuple(_key(file, row) for row in content["keys"])
    except InvalidInput:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput(str(file), "is not a file of keys", remedy) from None
    names = [key.name for key in keys]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInput(str(file), f"{twice[0]!r} occurs twice", "give one of them another name")
    return _Set(salt, keys)


def _key(file: Path, row: Mapping[str, Any]) -> Key:
    name = _name(str(file), row["name"])
    if len(bytes.fromhex(row["hash"])) != hashlib.sha256().digest_size:
        raise InvalidInput(str(file), f"the hash of {name!r} is not a SHA-256", "make the key again")
    limits = {}
    for limit in ("requests", "tokens"):
        value = row.get(f"{limit}_per_minute")
        if value is not None and (type(value) is not int or value < 1):
            raise InvalidInput(f"{file}: {name}", f"{limit}_per_minute is {value!r}", "write 1 or more, or null")
        limits[limit] = value
    return Key(name, row["hash"].lower(), Limits(**limits))


def _name(field: str, name: Any) -> str:
    """Names are seen in logs, metrics and terminals."""
    if not isinstance(name, str) or not 1 <= len(name) <= 64 or not name.isprintable() or "," in name or "=" in name:
        raise InvalidInput(field, f"{name!r} cannot be a name", "write 1 to 64 printable characters without , and =")
    return name
