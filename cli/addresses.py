"""Where a node is, as the command line names it: `host:port`, or a URL as redis-cli and client libraries take it; and
where its IMAP server is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyrepl.address import Address

EXPECTED: Final = "expected HOST:PORT, for example 127.0.0.1:6379, or a URL, redis://HOST:PORT or rediss://HOST:PORT"
_REDIS_PORTS: Final = {"redis": 6379, "rediss": 6379}
_IMAP_PORTS: Final = {"imap": 143, "imaps": 993}
_WITH_TLS: Final = ("rediss", "imaps")


class Target(NamedTuple):
    """A node. `repr` hides the password."""

    host: str
    port: int
    tls: bool = False
    user: str = ""
    password: str = ""

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)

    def __repr__(self) -> str:
        return f"Target({self.host!r}, {self.port!r}, tls={self.tls!r}, ...)"


def parse_target(text: str) -> Target | None:
    """The node that is meant by `host:port`, `[ip6]:port`, or `redis[s]://[[user]:password@]host[:port]`; None if it is
    none of them."""
    if "://" in text:
        return _from_url(text, _REDIS_PORTS)
    try:
        return Target(*Address.parse(text))
    except ValueError:
        return None


def parse_imap(text: str) -> Target | None:
    """The IMAP server that is meant by `imap[s]://[user[:password]@]host[:port]`; None if it is no such URL."""
    return _from_url(text, _IMAP_PORTS)


def _from_url(text: str, ports: Mapping[str, int]) -> Target | None:
    """`ports`: scheme -> port that it means without one."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return None
    is_more = url.path.strip("/") or url.query or url.fragment
    if url.scheme not in ports or not url.hostname or is_more or port == 0:
        return None
    secrets = unquote(url.username or ""), unquote(url.password or "")
    return Target(url.hostname, ports[url.scheme] if port is None else port, url.scheme in _WITH_TLS, *secrets)
