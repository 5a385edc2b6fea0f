"""Where a node is, as the command line names it: `host:port`, or a URL as redis-cli and client libraries take it."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyrepl.address import Address

EXPECTED: Final = "expected HOST:PORT, for example 127.0.0.1:6379, or a URL, redis://HOST:PORT or rediss://HOST:PORT"
_DEFAULT_PORT: Final = 6379


class Target(NamedTuple):
    """A node. `repr` hides the password."""

    host: str
    port: int
    tls: bool = False
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Target({self.host!r}, {self.port!r}, tls={self.tls!r}, ...)"


def parse_target(text: str) -> Target | None:
    """The node that is meant by `host:port`, `[ip6]:port`, or `redis[s]://[[user]:password@]host[:port]`; None if it is
    none of them."""
    if "://" in text:
        return _from_url(text)
    try:
        return Target(*Address.parse(text))
    except ValueError:
        return None


def _from_url(text: str) -> Target | None:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return None
    if url.scheme not in ("redis", "rediss") or not url.hostname or url.path.strip("/") or port == 0:
        return None
    secrets = unquote(url.username or ""), unquote(url.password or "")
    return Target(url.hostname, _DEFAULT_PORT if port is None else port, url.scheme == "rediss", *secrets)
