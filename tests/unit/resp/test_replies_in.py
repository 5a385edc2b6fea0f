"""Replies from bytes: each kind, in any pieces, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import CommandError, PeerError
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.replies_in import LONGEST_LINE, MOST_DEPTH, ReplyParser
from pyrepl.resp.reply import NULL_ARRAY, Push, Reply, Simple, Verbatim

KINDS = [
    (b"+OK\r\n", Simple(b"OK")),
    (b"+\r\n", Simple(b"")),
    (b":-5\r\n", -5),
    (b":+5\r\n", 5),
    (b"(3492890328409238509324850943850943825024385\r\n", 3492890328409238509324850943850943825024385),
    (b"$-1\r\n", None),
    (b"_\r\n", None),
    (b"$0\r\n\r\n", b""),
    (b"$4\r\na\r\nb\r\n", b"a\r\nb"),
    (b"*-1\r\n", NULL_ARRAY),
    (b"*0\r\n", []),
    (b"*2\r\n*1\r\n:1\r\n*-1\r\n", [[1], NULL_ARRAY]),
    (b"~2\r\n$1\r\na\r\n*0\r\n", [b"a", []]),
    (b"%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*1\r\n_\r\n", {Simple(b"a"): 1, b"b": [None]}),
    (b"%0\r\n", {}),
    (b">2\r\n+message\r\n:1\r\n", Push([Simple(b"message"), 1])),
    (b"#t\r\n", True),
    (b"#f\r\n", False),
    (b",1.5\r\n", 1.5),
    (b",-inf\r\n", -math.inf),
    (b"=7\r\ntxt:abc\r\n", Verbatim(b"abc")),
    (b"|1\r\n+ttl\r\n:3600\r\n:7\r\n", 7),
    (b"|0\r\n:7\r\n", 7),
    (b"*2\r\n|1\r\n+ttl\r\n*1\r\n:1\r\n:7\r\n:8\r\n", [7, 8]),
]


@pytest.mark.parametrize(("data", "expected"), KINDS)
def test_each_kind_in_one_piece_and_byte_by_byte(data: bytes, expected: Reply) -> None:
    parser = ReplyParser()
    assert parser.feed(data) == [expected]
    assert parser.is_idle
    for byte in data[:-1]:
        assert parser.feed(bytes((byte,))) == []
        assert not parser.is_idle
    assert parser.feed(data[-1:]) == [expected]
    assert parser.is_idle


@pytest.mark.parametrize("data", [b"-ERR no such key\r\n", b"!15\r\nERR no such key\r\n"])
def test_an_error_is_a_value(data: bytes) -> None:
    (error,) = ReplyParser().feed(data)
    assert isinstance(error, CommandError) and str(error) == "ERR no such key"


def test_several_at_once_and_the_rest_later() -> None:
    parser = ReplyParser()
    assert parser.feed(b"+a\r\n:1\r\n*2\r\n:2\r\n$3\r\nx") == [Simple(b"a"), 1]
    assert parser.feed(b"yz\r\n") == [[2, b"xyz"]]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"hello\r\n", "expected a reply, got b'hello'"),
        (b"\r\n", "empty line"),
        (b":x\r\n", "expected a reply, got b':x'"),
        (b"#x\r\n", "expected a reply"),
        (b"_x\r\n", "expected a reply"),
        (b"$x\r\n", "expected a length behind"),
        (b"$-2\r\n", "expected a length behind"),
        (b"$?\r\n", "expected a length behind"),
        (b"*?\r\n", "expected a length behind"),
        (b"$1\r\nab\r\n", "does not end with CRLF"),
        (b"=1\r\na\r\n", "expected a format"),
        (b"%1\r\n*0\r\n:1\r\n", "no plain value"),
        (b"*1\r\n" * (MOST_DEPTH + 1), "nests more than"),
        (b"+" + b"x" * (LONGEST_LINE + 1), "longer than"),
    ],
)
def test_what_is_no_reply(data: bytes, why: str) -> None:
    with pytest.raises(PeerError, match=why):
        ReplyParser().feed(data)


def test_the_deepest_that_is_taken() -> None:
    assert len(ReplyParser().feed(b"*1\r\n" * MOST_DEPTH + b":1\r\n")) == 1


class TestMemory:
    def test_a_string_too_long_is_refused_by_its_header(self) -> None:
        with pytest.raises(PeerError, match="a string of 101 bytes in a reply, more than 100"):
            ReplyParser(most_bytes=100).feed(b"$101\r\n")

    def test_a_list_too_long_is_refused_by_its_header(self) -> None:
        with pytest.raises(PeerError, match="101 items"):
            ReplyParser(most_bytes=100).feed(b"*101\r\n")

    def test_small_items_add_up(self) -> None:
        parser = ReplyParser(most_bytes=100)
        parser.feed(b"*99\r\n")
        with pytest.raises(PeerError, match="a reply is longer than 100 bytes"):
            for _ in range(50):
                parser.feed(b":1\r\n")

    def test_each_reply_counts_for_itself(self) -> None:
        parser = ReplyParser(most_bytes=100)
        assert sum(len(parser.feed(b"*2\r\n:1\r\n:2\r\n")) for _ in range(50)) == 50


plain = st.none() | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=40)
replies = st.recursive(plain, lambda inner: st.lists(inner, max_size=5), max_leaves=20)


@given(st.lists(replies, min_size=1, max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_what_we_encode_we_read_whatever_the_pieces(sent: list[Reply], cuts: list[int]) -> None:
    out = b"".join(encode_reply(reply, 2) for reply in sent)
    edges = sorted({0, len(out), *(cut for cut in cuts if cut < len(out))})
    parser = ReplyParser()
    pieces = [out[start:end] for start, end in pairwise(edges)]
    assert [reply for piece in pieces for reply in parser.feed(piece)] == sent
    assert parser.is_idle


@given(st.binary(max_size=60))
def test_noise_ends_in_replies_or_an_error(data: bytes) -> None:
    try:
        ReplyParser().feed(data)
    except PeerError as error:
        assert str(error)
