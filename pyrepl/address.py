"""Where something listens: a host and a port, as people write and read them."""

from __future__ import annotations

from typing import NamedTuple, Self


class Address(NamedTuple):
    """`host`: a name or an IP address without brackets. `port`: 0 where it is not known."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `host:port` or `[ip6]:port`, the port from 1 to 65535. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
            raise ValueError(f"expected HOST:PORT, for example 127.0.0.1:7379, got {text!r:.100}")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
