"""A link that syncs on two connections, brought to any phase by the bytes that lead there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    Apply,
    LinkEvent,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.psync import ASK_FOR_ALL, Request
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
MARK = b"0123456789" * 4
SET = encode_command([b"SET", b"k", b"v"])
REDIS, VALKEY = "redis", "valkey"
E = TypeVar("E", bound=LinkEvent)


class Bench:
    """A link that offers one dialect (or both), and what it says on either connection."""

    def __init__(self, dialect: str = REDIS, position: Request = ASK_FOR_ALL, **options: Any) -> None:
        self.dialect = dialect
        self.options = LinkOptions(
            Introduction(listening_port=6380),
            60.0,
            frozenset(one for one in DIALECTS if one.name == dialect),
            **options,
        )
        self.use = BufferUse()
        self.link = Link("master", 6379, self.options, position, lambda: 0.5, self.use)
        self.now = 1000.0
        self.seen: list[LinkEvent] = []
        self.applied = b""

    def look(self) -> None:
        """As the shell does: Apply events are carried out in their order."""
        for event in self.link.events():
            self.seen.append(event)
            if isinstance(event, Apply) and self.link.may_apply:
                self.applied += event.raw
                self.link.applied(event.end)

    def of(self, kind: type[E]) -> list[E]:
        self.look()
        return [event for event in self.seen if isinstance(event, kind)]

    def receive(self, data: bytes) -> None:
        self.link.receive(data, self.now)
        self.look()

    def rdb(self, data: bytes) -> None:
        self.link.rdb_receive(data, self.now)
        self.look()

    def said(self) -> list[str]:
        return _words(self.link.data_to_send())

    def rdb_said(self) -> list[str]:
        return _words(self.link.rdb_data_to_send())

    def tick(self) -> None:
        self.link.tick(self.now)
        self.look()

    def drain(self) -> int:
        """Ticks as a loop does as long as something is due at once; how many it took."""
        ticks = 0
        while (at := self.link.next_deadline()) is not None and at <= self.now and self.link.may_apply:
            self.tick()
            ticks += 1
            assert ticks < 10_000
        return ticks

    # ------------------------------------------------------------------ phases, each with what comes before it

    def asked(self) -> None:
        """PSYNC is out."""
        self.link.start(self.now)
        self.link.connected(self.now)
        self.receive(b"+PONG\r\n+OK\r\n+OK\r\n")

    def sent_away(self) -> None:
        """The second connection is to be opened."""
        self.asked()
        self.said()
        self.receive(b"+RDBCHANNELSYNC 7\r\n" if self.dialect == REDIS else b"+DUALCHANNELSYNC\r\n")

    def introduced(self) -> None:
        """It stands, and waits for the snapshot."""
        self.sent_away()
        self.link.rdb_connected(self.now)
        self.rdb(b"+OK\r\n")

    def announced(self) -> None:
        """The cut is known: 100."""
        self.introduced()
        redis = b"+FULLRESYNC " + A.encode() + b" 100\r\n"
        self.rdb(redis if self.dialect == REDIS else b"$ENDOFF:100 " + A.encode() + b" 0 9\r\n")

    def begun(self) -> None:
        """The snapshot comes; the stream may."""
        self.announced()
        self.rdb(encode_mark_header(MARK) + b"SNAP")
        if self.dialect == VALKEY:
            self.receive(b"+OK\r\n+CONTINUE " + A.encode() + b"\r\n")

    def whole(self) -> None:
        """The snapshot is whole and being loaded."""
        self.begun()
        self.rdb(b"SHOT" + MARK)

    def catching_up(self) -> None:
        """It is loaded, four commands are buffered, nothing of them is applied."""
        self.whole()
        self.receive(SET * 4)
        self.link.loaded(self.now)
        self.look()

    def up(self) -> None:
        self.catching_up()
        self.drain()


PHASES: list[Callable[[Bench], None]] = [
    Bench.sent_away,
    Bench.introduced,
    Bench.announced,
    Bench.begun,
    Bench.whole,
    Bench.catching_up,
]
WHILE_IT_COMES = PHASES[:4]


def _words(pieces: list[bytes]) -> list[str]:
    data = b"".join(pieces)
    return [b" ".join(argv).decode() for argv in Parser().feed(data).commands] or ([repr(data)] if data else [])


both = pytest.mark.parametrize("dialect", [REDIS, VALKEY])
