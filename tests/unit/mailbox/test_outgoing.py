"""Lines go out in order; a text is asked for when its turn comes, piece by piece, and nothing overtakes it."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Ok, Reason
from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.outgoing import LINE_BYTES, PIECE_BYTES, Outgoing, PieceWanted, TextWanted
from pyrepl.mailbox.verbs import Ping, Quit, RootPing, Save
from pyrepl.mailbox.words import Box

ROOM = 1 << 20
SAVE = Save(user="alice", box=Box("INBOX"), guid="G1", size=6, received=1)
FETCHED = Ok(received=1)
PING = encode(Ping())


def test_a_text_comes_when_it_is_its_turn() -> None:
    out = Outgoing()
    out.add(Ping())
    out.add(SAVE, "7", ("alice", "G1"))
    out.add(Quit())
    assert out.take(ROOM) == [PING]
    assert out.wishes() == [TextWanted(("alice", "G1"))]
    assert out.take(ROOM) == [] and out.wishes() == []
    out.text_is(6)
    assert out.take(ROOM) == [encode(SAVE, "7", 6)]
    assert out.wishes() == [PieceWanted(6)]
    out.add_piece(b"abcd")
    assert out.take(ROOM) == [b"abcd"]
    assert out.wishes() == [PieceWanted(2)]
    out.add_piece(b"ef")
    assert out.take(ROOM) == [b"ef", encode(Quit())]
    assert out.waiting_bytes == 0


def test_a_text_is_wanted_with_the_mailbox_that_it_was_put_into() -> None:
    out = Outgoing()
    out.add(SAVE.replaced(box=Box("1" * 32, is_guid=True)), "7", ("alice", "G1"))
    assert out.take(ROOM) == [] and out.wishes() == [TextWanted(("alice", "G1"), "1" * 32)]
    out.no_text(Reason.NOUID)
    out.add(FETCHED, "8", ("alice", "G1"))
    out.take(ROOM)
    assert out.wishes() == [TextWanted(("alice", "G1"))]


def test_what_leases_are_about_overtakes_all_but_the_text_that_is_under_way() -> None:
    ping, answer = RootPing(epoch=4, node="a", root="a"), Ok(epoch=4, left=10)
    out = Outgoing()
    out.add(SAVE, "7", ("alice", "G1"))
    out.add(Quit())
    out.add(ping, "r1")
    assert out.take(ROOM) == [encode(ping, "r1")]
    out.text_is(6)
    out.add(answer, "r2")
    assert out.take(ROOM) == [encode(SAVE, "7", 6)]
    out.add_piece(b"abcdef")
    assert out.take(ROOM) == [b"abcdef", encode(answer, "r2"), encode(Quit())]
    assert out.waiting_bytes == 0


def test_pieces_and_room_are_bounded() -> None:
    out = Outgoing()
    for _ in range(10):
        out.add(Ping())
    assert len(out.take(1)) == 1
    assert out.take(0) == []
    assert len(out.take(2 * len(PING))) == 2
    assert out.waiting_bytes == 7 * (len(PING) + LINE_BYTES)
    out.take(ROOM)
    out.add(FETCHED, "7", ("alice", "G1"))
    out.take(ROOM)
    out.text_is(10 * PIECE_BYTES)
    out.take(ROOM)
    assert out.wishes()[-1] == PieceWanted(PIECE_BYTES)


def test_an_empty_text_is_no_text_to_wait_for() -> None:
    out = Outgoing()
    out.add(FETCHED, "7", ("alice", "G1"))
    out.add(Ping())
    out.take(ROOM)
    out.text_is(0)
    assert out.take(ROOM) == [encode(FETCHED, "7", 0), PING]


def test_a_message_that_is_gone() -> None:
    out = Outgoing()
    out.add(SAVE, "7", ("alice", "G1"))
    out.add(Ok(size=6), "f1", ("alice", "G1"))
    out.take(ROOM)
    out.no_text(Reason.NOUID)
    assert out.take(ROOM) == [encode(SAVE, "7")]
    out.text_is(5)
    assert out.take(ROOM) == [b"f1 NO NOUID\n"]
    out.add(Ok(size=6), "f2", ("alice", "G1"))
    out.take(ROOM)
    out.no_text(Reason.FAILED)
    assert out.take(ROOM) == [b"f2 NO FAILED\n"]


def test_half_a_text_cannot_be_taken_back() -> None:
    out = Outgoing()
    out.add(SAVE, "7", ("alice", "G1"))
    out.take(ROOM)
    out.text_is(6)
    out.take(ROOM)
    with pytest.raises(PeerError, match="shorter"):
        out.add_piece(b"")


@pytest.mark.parametrize("is_within", [False, True])
def test_the_last_line_stands_in_no_text(is_within: bool) -> None:
    out = Outgoing()
    out.add(Ping())
    out.add(SAVE, "7", ("alice", "G1"))
    out.add(Ping())
    if is_within:
        out.take(ROOM)
        out.text_is(6)
        out.take(ROOM)
    out.end_with(Quit())
    assert out.take(ROOM) == ([] if is_within else [PING, encode(Quit())])
    assert out.wishes() == []
