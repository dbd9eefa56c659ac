"""Who may speak to a server on this machine: checks that keep web pages from elsewhere out.

A page in a browser can reach a server on loopback, by a name of its own that resolves to 127.0.0.1 or by a plain
cross-site request. The first has a foreign ``Host``, the second a foreign ``Origin``.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from omniclef.errors import OmniclefError

__all__ = ["Foreign", "Gate", "is_loopback"]

NAMES = ("localhost", "127.0.0.1", "::1")


class Foreign(OmniclefError):
    """A request comes from a page, or for a host name, that is not this server's."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Gate:
    """Checks the headers ``Host`` and ``Origin`` on loopback. Elsewhere keys are required, which no page has.

    Args:
        host: what the server is bound to.
    """

    def __init__(self, host: str) -> None:
        self._names = {host, *NAMES} if is_loopback(host) else None

    def check(self, host: str | None, origin: str | None) -> None:
        """Raises `Foreign` where a header names something else than this server."""
        if self._names is None:
            return
        if _name(host or "") not in self._names:
            raise Foreign("Host: this server answers only on localhost; use http://localhost or http://127.0.0.1")
        # A browser sends an origin with every request that could change something; other clients send none.
        if origin is not None and origin != f"http://{host}":
            raise Foreign("Origin: pages from elsewhere may not ask; open the page that this server has at /")


def _name(host: str) -> str:
    """The name in ``name:port`` or ``[address]:port``."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
