"""The server that MIGRATE moves keys to, as commands see it; the daemon connects to it (`daemon/wires/migrating`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, final

from pyrepl.resp.reply import Reply

CONNECTING: Final = "connecting to the client"
WRITING: Final = "writing to target instance"
READING: Final = "reading to target instance"


class Exchanged(NamedTuple):
    """What became of an exchange."""

    welcome: list[Reply]
    """The replies to the opening that came, in order; an error reply is a CommandError."""
    replies: list[Reply]
    """The same of the requests. Empty when a part of the opening was refused."""
    failure: str
    """What failed, in the words that follow `error or timeout` in MIGRATE's error; empty when what was sent was
    answered."""


class Target(Protocol):
    """Another server."""

    def exchange(
        self, host: str, port: int, opening: Sequence[bytes], requests: Sequence[bytes], timeout_ms: int
    ) -> Exchanged:
        """Connect to a server, send the encoded commands of `opening`, and if none of them is refused those of
        `requests`; read the replies. The node waits for it: nobody else is served. `timeout_ms`, at least 1, bounds
        each wait for the network."""


@final
class NoTarget:
    """Outside of a node that has no process around it: no server can be reached."""

    def exchange(
        self, host: str, port: int, opening: Sequence[bytes], requests: Sequence[bytes], timeout_ms: int
    ) -> Exchanged:
        return Exchanged([], [], CONNECTING)
