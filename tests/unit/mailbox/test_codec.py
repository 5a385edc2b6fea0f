"""Lines and texts out of bytes in any pieces, commands out of lines, and back. Requirement S5: tags."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.codec import BadLine, Decoder, Heard, Line, Piece, encode
from pyrepl.mailbox.verbs import Command, Ping, Quit, Save, Side
from pyrepl.mailbox.words import Box
from tests.unit.mailbox.wire_strategies import commands

TAGS = st.just("*") | st.from_regex(r"[A-Za-z0-9]{1,16}", fullmatch=True)


def joined(heard: list[Heard]) -> list[object]:
    """Commands with their tags, each followed by its text in one piece."""
    found: list[object] = []
    for each in heard:
        if isinstance(each, Piece):
            assert isinstance(found[-1], bytes)
            found[-1] += each.data
        else:
            assert isinstance(each, Line)
            found += [(each.tag, each.command), *([b""] if each.text_size is not None else [])]
    return found


def decoder(command: Command) -> Decoder:
    return Decoder(next(iter(command.SENDERS)), line_limit=1 << 20)


@given(st.lists(st.tuples(commands(), TAGS, st.binary(max_size=30)), max_size=4), st.lists(st.integers(0, 3000)))
def test_any_cuts_give_the_same_commands(said: list[tuple[Command, str, bytes]], cuts: list[int]) -> None:
    said = [each for each in said if Side.NODE in each[0].SENDERS]
    wire, wanted = b"", []
    for command, tag, text in said:
        has_text = command.HAS_TEXT
        wire += encode(command, tag, len(text) if has_text else None) + (text if has_text else b"")
        wanted += [(tag, command), *([text] if has_text else [])]
    hearer = Decoder(Side.NODE, line_limit=1 << 20)
    places = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    heard = [each for a, b in pairwise(places) for each in hearer.feed(wire[a:b])]
    assert joined(heard) == wanted


@given(st.binary(max_size=300), st.sampled_from(Side))
def test_whatever_comes_is_heard_or_refused(data: bytes, sender: Side) -> None:
    hearer = Decoder(sender, line_limit=100, text_limit=50)
    try:
        heard = list(hearer.feed(data))
    except PeerError:
        return
    assert sum(len(each.data) for each in heard if isinstance(each, Piece)) <= len(data)


def test_what_came_before_a_line_that_is_none_is_heard() -> None:
    heard = Decoder(Side.NODE).feed(b"* PING\n* PI\x00NG\n")
    assert next(heard) == Line("*", Ping())
    with pytest.raises(PeerError, match="control characters"):
        next(heard)


def test_a_text_is_handed_on_as_it_comes() -> None:
    hearer = Decoder(Side.MAIL)
    save = Save(user="alice", box=Box("INBOX"), guid="G1", size=6, received=1)
    assert list(hearer.feed(encode(save, "1", 6) + b"abc")) == [Line("1", save, 6), Piece(b"abc", False)]
    assert list(hearer.feed(b"def* QUIT\r\n")) == [Piece(b"def", True), Line("*", Quit())]
    assert list(hearer.feed(encode(save, "2", 0))) == [Line("2", save, 0), Piece(b"", True)]


def test_the_line_limit_is_inclusive_and_counts_no_line_end() -> None:
    line = encode(Ping(at=12)).rstrip()
    for end in (b"\n", b"\r\n"):
        hearer = Decoder(Side.NODE, line_limit=len(line))
        assert list(hearer.feed(line + end)) == [Line("*", Ping(at=12))]
    with pytest.raises(PeerError, match=f"at most {len(line) - 1} bytes"):
        list(Decoder(Side.NODE, line_limit=len(line) - 1).feed(line + b"\n"))
    endless = Decoder(Side.NODE, line_limit=10)
    assert list(endless.feed(b"0123456789")) == []
    with pytest.raises(PeerError, match="at most 10 bytes"):
        list(endless.feed(b"0"))


def test_a_text_beyond_the_limit_is_refused_before_it_comes() -> None:
    save = Save(user="alice", box=Box("INBOX"), guid="G1", size=6, received=1)
    with pytest.raises(PeerError, match="texts of at most 10 bytes, got one of 9999999999"):
        list(Decoder(Side.MAIL, text_limit=10).feed(encode(save, "1", 9999999999)))


@pytest.mark.parametrize(
    ("line", "tag", "why"),
    [
        (b"1 FROB x", "1", "unknown command 'FROB'"),
        (b"1", "1", "expected <tag> <verb>"),
        (b"no-tag PING", "*", "expected <tag> <verb>"),
        (b"1 LOCK alice", "1", "LOCK needs box"),
        (b"1 LOCK alice  INBOX", "1", "one space between words"),
        (b"1 PING {3}", "1", "PING has no text"),
        (b"1 ROOT-PING epoch=1", "1", "ROOT-PING is no command of a mail process"),
    ],
)
def test_a_line_that_is_no_command(line: bytes, tag: str, why: str) -> None:
    [bad] = [each for each in Decoder(Side.MAIL).feed(line + b"\n") if not isinstance(each, Piece)]
    assert isinstance(bad, BadLine) and bad.tag == tag and why in bad.why


@pytest.mark.parametrize("line", [b"1 PI\x00NG", b"1 PING\ttab", b"1 PING \xff"])
def test_bytes_that_are_no_line_end_the_connection(line: bytes) -> None:
    with pytest.raises(PeerError):
        list(Decoder(Side.NODE).feed(line + b"\n"))


def test_answers_have_tags_too() -> None:
    assert list(Decoder(Side.NODE).feed(b"a1 OK uid=57\n")) == [Line("a1", Ok(uid=57))]
