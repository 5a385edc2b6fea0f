"""Lines out of bytes in any pieces, commands out of lines, and back."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.changes.codec import LineSplitter, parse_line, render
from pyrepl.changes.verbs import Error, Name, Ping, Rdata, Replicate, Server, Side
from pyrepl.errors import PeerError

LINE = st.binary(min_size=1, max_size=20).map(lambda data: data.replace(b"\n", b".").replace(b"\r", b"."))


@given(st.lists(LINE, max_size=8), st.lists(st.integers(0, 200), max_size=8), st.sampled_from([b"\n", b"\r\n"]))
def test_any_cuts_give_the_same_lines(lines: list[bytes], cuts: list[int], end: bytes) -> None:
    wire = b"".join(line + end for line in lines)
    splitter = LineSplitter(20)
    places = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    found = [line for a, b in pairwise(places) for line in splitter.feed(wire[a:b])]
    assert found == [line for line in lines if not line.isspace()]


def test_blank_lines_are_ignored() -> None:
    assert LineSplitter(10).feed(b"\n\r\n  \nPING\n\n") == [b"PING"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_limit_is_inclusive_and_counts_no_line_end(end: bytes) -> None:
    assert LineSplitter(5).feed(b"12345" + end) == [b"12345"]
    splitter = LineSplitter(5)
    assert splitter.feed(b"12345\r") == []
    assert splitter.feed(b"\n") == [b"12345"]
    with pytest.raises(PeerError, match="at most 5 bytes"):
        LineSplitter(5).feed(b"123456" + end)


def test_a_line_without_end_is_refused_while_it_grows() -> None:
    splitter = LineSplitter(5)
    assert splitter.feed(b"123") == []
    with pytest.raises(PeerError, match="at most 5 bytes"):
        splitter.feed(b"4567")


def test_commands_of_a_client() -> None:
    assert parse_line(b"REPLICATE events 53", Side.CLIENT) == Replicate("events", 53)
    assert parse_line(b"  PING 5 ", Side.CLIENT) == Ping("5")
    assert parse_line("NAME Jörg".encode(), Side.CLIENT) == Name("Jörg")
    assert parse_line(b"REPLICATE", Side.CLIENT) == Replicate(is_bare=True)


def test_commands_of_a_server() -> None:
    assert parse_line(b"SERVER example.com", Side.SERVER) == Server("example.com")
    line = b'RDATA events 54 ["$foo1:bar.com", 1]'
    assert parse_line(line, Side.SERVER) == Rdata("events", 54, '["$foo1:bar.com", 1]')


@pytest.mark.parametrize(
    "line, sender, text",
    [
        (b"HELLO 3", Side.CLIENT, "unknown command 'HELLO'"),
        (b"replicate keys 5", Side.CLIENT, "unknown command 'replicate'"),
        (b"\x1b[2J", Side.CLIENT, r"unknown command '\x1b[2J'"),
        (b"RDATA keys 5 []", Side.CLIENT, "RDATA is no command of a client"),
        (b"NAME me", Side.SERVER, "NAME is no command of a server"),
        (b"NAME \xff", Side.CLIENT, "expected UTF-8"),
        (b"FEDERATION_ACK soon", Side.CLIENT, "expected a token"),
    ],
)
def test_bad_lines_say_what_is_wrong(line: bytes, sender: Side, text: str) -> None:
    with pytest.raises(PeerError) as caught:
        parse_line(line, sender)
    assert text in str(caught.value)
    assert str(caught.value).isprintable()


def test_rendering() -> None:
    assert render(Ping("")) == b"PING\n"
    assert render(Rdata("keys", None, "[1, 2]")) == b"RDATA keys batch [1, 2]\n"
    assert render(Error("two\r\nlines")) == b"ERROR two  lines\n"
    assert render(Name("lone \udcff")) == b"NAME lone \\udcff\n"


@given(st.text(max_size=30))
def test_whatever_a_text_holds_it_stays_one_line(text: str) -> None:
    line = render(Error(text))
    assert line.endswith(b"\n")
    assert len(LineSplitter(1000).feed(line)) == 1
