"""Request ids: one a request, in its answer's headers, in its log line and in error texts that have a place for one."""

from __future__ import annotations

import secrets
import uuid

__all__ = ["request_id", "uuid_of"]


def request_id() -> str:
    """32 random hexadecimal digits. Ids that callers send are not taken over: they end up in logs."""
    return secrets.token_hex(16)


def uuid_of(identity: str) -> str:
    """The same id as a UUID is written."""
    return str(uuid.UUID(identity))
