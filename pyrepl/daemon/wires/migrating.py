"""The connection on which MIGRATE sends keys to another server: made for one exchange, and the node waits for it.

Redis 7.0 does the same (`migrateCommand`), for a key must not change while it is under way; but it keeps a connection
for ten seconds for the next MIGRATE, which we do not.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final, final

from pyrepl.daemon.wires.tls import Tls
from pyrepl.errors import CommandError, PeerError
from pyrepl.node.migrating import CONNECTING, READING, WRITING, Exchanged
from pyrepl.resp.replies_in import ReplyParser
from pyrepl.resp.reply import Reply

_PIECE_BYTES: Final = 64 * 1024
_LONGEST_REPLY: Final = 64 * 1024
"""Bytes, inclusive. All answers to RESTORE are a status or an error."""


@final
class MigrateTarget:
    """Any server at all, reached by name or address; the `Target` of a node that runs."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls

    def exchange(
        self, host: str, port: int, opening: Sequence[bytes], requests: Sequence[bytes], timeout_ms: int
    ) -> Exchanged:
        """See `Target.exchange`."""
        try:
            sock = self._connected(host, port, timeout_ms / 1000)
        except (OSError, ValueError, OverflowError):
            # ValueError: a name that the resolver cannot even look up. OverflowError: no port has this number.
            return Exchanged([], [], CONNECTING)
        with sock:
            welcome, failure = _asked(sock, opening)
            if failure or any(isinstance(reply, CommandError) for reply in welcome):
                return Exchanged(welcome, [], failure)
            return Exchanged(welcome, *_asked(sock, requests))

    def _connected(self, host: str, port: int, timeout_s: float) -> socket.socket:
        """With tls-cluster by TLS, as in Redis. Raises OSError, ValueError, OverflowError."""
        context = self._tls.for_migrate
        sock = socket.create_connection((host, port), timeout_s)
        return sock if context is None else context.wrap_socket(sock, server_hostname=host)


def _asked(sock: socket.socket, requests: Sequence[bytes]) -> tuple[list[Reply], str]:
    """The replies that come to these requests, and what failed."""
    try:
        _send(sock, b"".join(requests))
    except OSError:
        return [], WRITING
    replies, is_whole = _replies(sock, len(requests))
    return replies, "" if is_whole else READING


def _send(sock: socket.socket, data: bytes) -> None:
    """Send in pieces, since the timeout of a socket bounds one whole call. Raises OSError."""
    view = memoryview(data)
    for start in range(0, len(data), _PIECE_BYTES):
        sock.sendall(view[start : start + _PIECE_BYTES])


def _replies(sock: socket.socket, count: int) -> tuple[list[Reply], bool]:
    """The replies that come, up to `count`, and whether all came."""
    parser = ReplyParser(_LONGEST_REPLY)
    replies: list[Reply] = []
    try:
        while len(replies) < count:
            data = sock.recv(_PIECE_BYTES)
            if not data:
                return replies, False
            replies += parser.feed(data)
    except (OSError, PeerError):
        return replies, False
    return replies, True
