"""A connection that came in by mailbox-port and has not said yet who it is: a node, or a mail process.

It becomes what its first line says. Not here: whether it may come in (pyrepl.mailbox.greeting).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, final

from pyrepl.daemon.mailbox.sockets import TalkSocket
from pyrepl.daemon.mailbox.talk_conn import TalkConn
from pyrepl.daemon.wires.handshakes import HANDSHAKE
from pyrepl.mailbox.talk import GREETING_S
from pyrepl.mailbox.talk_states import TalkState
from pyrepl.mailbox.verbs import Side

MOST_BYTES: Final = 4096
"""Of a first line."""
_NODE: Final = b" node="

Become: TypeAlias = Callable[[Side], TalkConn]


@final
class FirstLine:
    """The connection until then, and a pane of glass behind it."""

    def __init__(self, become: Become, speaks_tls: Callable[[], None], now: float) -> None:
        """`speaks_tls` is told when no line will come, as the other end begins a handshake of TLS."""
        self.until: Final = now + GREETING_S
        """When it must have said who it is."""
        self.conn: TalkConn | None = None
        """What it became."""
        self.is_over = False
        self._become: Final = become
        self._speaks_tls: Final = speaks_tls
        self._held = bytearray()
        self._transport: TalkSocket | None = None

    def enter(self, transport: TalkSocket) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self.conn is not None:
            self.conn.data_received(data)
            return
        self._held += data
        if self._held.startswith(HANDSHAKE):
            self._speaks_tls()
            self.cut()
            return
        end = self._held.find(b"\n")
        if end < 0 and len(self._held) <= MOST_BYTES:
            return
        if end < 0 or end > MOST_BYTES:
            self.cut()
            return
        assert self._transport is not None
        self.conn = self._become(Side.NODE if _NODE in self._held[:end] else Side.MAIL)
        self.conn.enter(self._transport)
        self.conn.data_received(bytes(self._held))
        self._held.clear()

    def is_stranger(self) -> bool:
        """Has it not proved who it is, and is it there still?"""
        has_proved = self.conn is not None and self.conn.talk.state is TalkState.OPEN
        return not self.is_over and not has_proved

    def cut(self) -> None:
        """It said nothing that could be a first line, or has to make room for others."""
        assert self._transport is not None
        self._transport.abort()

    def resume_writing(self) -> None:
        if self.conn is not None:
            self.conn.resume_writing()

    def connection_lost(self, why: str) -> None:
        self.is_over = True
        if self.conn is not None:
            self.conn.connection_lost(why)
