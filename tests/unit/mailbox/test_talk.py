"""What all connections have in common: time, limits, texts, and what the other end is told in the end."""

from __future__ import annotations

from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.outgoing import LINE_BYTES, PieceWanted, TextWanted
from pyrepl.mailbox.peer_link import PeerLink
from pyrepl.mailbox.talk import GREETING_S, PING_S, SILENCE_S, Came, Lost, TalkOptions, TextCame
from pyrepl.mailbox.verbs import Ping, Save
from pyrepl.mailbox.words import Box
from tests.unit.mailbox.talks import exchange, introduction, opened

SAVE = Save(user="alice", box=Box("INBOX"), guid="G1", size=6, received=1)


def test_a_greeting_that_never_comes() -> None:
    link = PeerLink(introduction("a"), "", TalkOptions(), 100.0)
    assert link.next_deadline() == 100.0 + GREETING_S
    link.tick(100.0 + GREETING_S - 0.01)
    assert link.events() == []
    link.tick(100.0 + GREETING_S)
    assert link.data_to_send() == [b"* BAD why=expected%20HELLO%20and%20AUTH%20within%2010%20s\n"]
    assert link.events() == [Lost("expected HELLO and AUTH within 10 s", True)]
    assert link.next_deadline() is None


def test_signs_of_life() -> None:
    a, b = opened()
    assert a.next_deadline() == PING_S
    a.tick(PING_S)
    assert a.data_to_send() == [b"* PING\n"]
    b.receive(b"* PING\n", 4.0)
    assert b.events() == []
    b.tick(4.0 + SILENCE_S)
    assert b.events() == [Lost("expected a sign of life within 15 s", True)]


def test_a_ping_with_a_tag_is_answered_at_once() -> None:
    a, _ = opened()
    a.receive(b"7 PING\n", 1.0)
    assert a.data_to_send() == [b"7 OK\n"]


def test_a_text_goes_across_in_pieces() -> None:
    a, b = opened()
    a.say(SAVE, "o1", 1.0, ("alice", "G1"))
    assert a.data_to_send() == [] and a.events() == [TextWanted(("alice", "G1"))]
    a.text_is(6)
    b.receive(b"".join(a.data_to_send()), 1.0)
    assert b.events() == [Came("o1", SAVE, True)]
    for piece in (b"abc", b"def"):
        [wish] = a.events()
        assert isinstance(wish, PieceWanted)
        a.add_piece(piece)
        b.receive(b"".join(a.data_to_send()), 1.0)
    assert b.events() == [TextCame(b"abc", False), TextCame(b"def", True)]


def test_who_does_not_read_is_cut_off() -> None:
    a, _ = opened(TalkOptions(output_bytes=100 + LINE_BYTES))
    a.unsent = 90
    a.say(Ping(), "1", 1.0)
    assert a.events() == []
    a.say(Ping(), "2", 1.0)
    assert a.events() == [Lost(f"{104 + 2 * LINE_BYTES} bytes wait: the other end does not read", True)]


def test_no_more_is_handed_out_than_leaves() -> None:
    a, _ = opened()
    a.unsent = 1 << 20
    a.say(Ping(), "1", 1.0)
    assert a.data_to_send() == []
    a.unsent = 0
    assert a.data_to_send() == [encode(Ping(), "1")]


def test_a_text_that_cannot_be_read_on_ends_the_connection() -> None:
    a, _ = opened()
    a.say(SAVE, "o1", 1.0, ("alice", "G1"))
    a.data_to_send()
    a.text_is(6)
    a.data_to_send()
    a.events()
    a.add_piece(b"")
    assert a.events() == [Lost("a text became shorter while it was sent", True)]
    assert a.data_to_send() == []
    a.add_piece(b"abc")
    a.text_is(3)
    a.no_text(Reason.NOUID)
    assert a.data_to_send() == [] and a.events() == []


def test_an_end_in_good_order_and_what_comes_behind_it() -> None:
    a, b = opened()
    a.receive(b"* QUIT\n* PING\n", 1.0)
    assert a.events() == [Lost("QUIT", False)] and a.data_to_send() == []
    a.receive(b"* CHECK\n", 1.0)
    a.close("again")
    a.refuse("again")
    a.tick(1000.0)
    assert a.events() == []
    b.refuse("BUSY")
    exchange(a, b)
    assert b.events() == [Lost("BUSY", True)]
