"""What is said over one connection: without a word, amid a word, and after it has ended."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.conversation import Conversation
from pyrepl.replication.events import LinkState, Lost
from pyrepl.replication.link_life import LinkLife
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.link_states import LinkTrigger
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)


def begun(position: Request = ASK_FOR_ALL) -> tuple[LinkLife[Conversation], Conversation]:
    life: LinkLife[Conversation] = LinkLife("master.example", 6379, LinkOptions(), position, lambda: 0.5)
    talk = Conversation(life, BufferUse(), 0.0)
    life.begin(LinkTrigger.START, talk, 0.0)
    return life, talk


def asked(position: Request = ASK_FOR_ALL) -> tuple[LinkLife[Conversation], Conversation]:
    """As far as the question for the sync."""
    life, talk = begun(position)
    talk.connected(0.0)
    talk.receive(b"+PONG\r\n" + b"+OK\r\n" * 2, 0.0, b"")
    assert talk.awaits_verdict
    life.out.clear()
    life.events.clear()
    return life, talk


def test_bytes_before_the_connection_was_reported() -> None:
    life, talk = begun()
    talk.receive(b"+PONG\r\n", 1.0, b"")
    lost = life.events[-2]
    assert isinstance(lost, Lost) and str(lost.reason) == "protocol (connecting)" and life.connection is None


def test_it_is_the_lifes_until_it_ends() -> None:
    life, talk = asked()
    assert life.connection is talk and life.state is LinkState.HANDSHAKE
    talk.receive(b"-ERR no\r\n", 1.0, b"")
    assert life.connection is None and life.state is LinkState.WAITING and not talk.awaits_verdict


def test_a_continued_stream_is_acknowledged() -> None:
    life, talk = asked(Request(A, Offset(57)))
    talk.receive(b"+CONTINUE\r\n*1\r\n$4\r\nPING\r\n", 1.0, b"")
    assert life.state is LinkState.CONNECTED and talk.read_offset == 57 + 14
    talk.applied(71)
    assert life.held == 71
    with pytest.raises(PeerError, match="applied up to 70, but the stream goes from 71 to 71"):
        talk.applied(70)
    life.out.clear()
    talk.tick(3.0)
    assert b"".join(life.out) == b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$2\r\n71\r\n"


def test_old_data_goes_with_the_snapshots_first_byte() -> None:
    life, talk = asked(Request(A, Offset(57)))
    talk.receive(b"+FULLRESYNC %b 100\r\n" % (b"b" * 40), 1.0, b"")
    assert talk.announced is not None and not talk.old_data_is_gone
    talk.receive(b"$3\r\nx", 1.0, b"")
    assert talk.old_data_is_gone
    life.lose(Reason(Cause.CONNECTION_LOST), "reset", 2.0, disconnect=False)
    assert life.held is None and life.position == ASK_FOR_ALL


def test_what_has_ended_holds_nothing() -> None:
    _, talk = asked(Request(A, Offset(57)))
    talk.receive(b"+FULLRESYNC %b 100\r\n$3\r\nx" % (b"b" * 40), 1.0, b"")
    assert not talk.end(), "there is no second connection"
    assert talk.announced is None and talk.buffer_bytes == 0 and not talk.uses_two_channels
    assert talk.rdb_data_to_send() == [] and talk.read_offset == 57
