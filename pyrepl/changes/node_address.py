"""Where the stream port of a node is."""

from __future__ import annotations

from typing import NamedTuple, Self


class NodeAddress(NamedTuple):
    """Where a node's stream port listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `host:port` or `[ip6]:port`. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
            raise ValueError(f"expected HOST:PORT, for example 127.0.0.1:7379, got {text!r:.100}")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
