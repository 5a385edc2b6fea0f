"""RESP: any cut of the input gives the commands, bytes and errors of the whole; what is encoded is read back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.resp.doubles import format_double, parse_double
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser, stream_parser
from pyrepl.resp.scan import whole_bytes
from pyrepl.words import quote_word, split_words

ARGUMENTS = st.lists(
    st.binary(max_size=12) | st.sampled_from([b"\r\n", b"*1\r\n", b"$4\r\nPING\r\n"]), min_size=1, max_size=5
)
PIECES = (
    ARGUMENTS.map(encode_command)
    | st.sampled_from([b"PING\r\n", b"\n", b"\r\n", b"*0\r\n", b"*-1\r\n", b'echo "a b"\n', b"*1\rx$1\rxAyy"])
    | st.sampled_from([b"*x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n?", b'"\n', b"*1\r\n", b"$1\r\n", b"x", b"*2\r\n$1"])
    | st.binary(max_size=6)
)
WIRES = st.lists(PIECES, max_size=8).map(b"".join)


def run(chunks: list[bytes], limit: int) -> tuple[list[list[bytes]], list[bytes], bytes, bytes | None]:
    """(commands, their stream bytes, all consumed bytes, error)"""
    parser = Parser(max_inline_bytes=limit)
    commands: list[list[bytes]] = []
    wires: list[bytes] = []
    raw = b""
    fed = 0
    error = None
    for chunk in chunks:
        batch = parser.feed(chunk)
        fed += len(chunk)
        assert len(batch.commands) == len(batch.ends)
        assert batch.ends == sorted(batch.ends)
        assert batch.size == len(batch.raw)
        wires += [batch.wire(at) for at in range(len(batch.commands))]
        commands += batch.commands
        raw += batch.raw
        error = batch.error
        if error is None:
            assert len(raw) + parser.pending_bytes == fed
    return commands, wires, raw, error


@settings(max_examples=300, deadline=None)
@given(WIRES, st.lists(st.integers(0, 200), max_size=8), st.sampled_from([8, 64]))
def test_any_split_parses_as_the_whole(wire: bytes, cuts: list[int], limit: int) -> None:
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    whole = run([wire], limit)
    assert run([wire[a:b] for a, b in pairwise(edges)], limit) == whole
    assert run([wire[at : at + 1] for at in range(len(wire))], limit) == whole
    assert wire.startswith(whole[2])


@settings(max_examples=100, deadline=None)
@given(st.lists(ARGUMENTS, max_size=20))
def test_commands_come_back_with_their_bytes(commands: list[list[bytes]]) -> None:
    wire = b"".join(map(encode_command, commands))
    parsed, wires, raw, error = run([wire], 65536)
    assert (parsed, raw, error) == (commands, wire, None)
    assert wires == list(map(encode_command, commands))


@settings(max_examples=100, deadline=None)
@given(st.lists(ARGUMENTS, min_size=1, max_size=6))
def test_before_authentication_commands_come_one_by_one(commands: list[list[bytes]]) -> None:
    parser = Parser(authenticated=False)
    data = b"".join(map(encode_command, commands))
    taken = []
    while True:
        batch = parser.feed(data)
        taken += batch.commands
        assert len(batch.commands) == 1
        if not batch.more:
            break
        data = b""
    assert taken == commands


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=10), max_size=5))
def test_quoted_words_come_back(words: list[bytes]) -> None:
    assert split_words(b" ".join(map(quote_word, words))) == words


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False))
def test_doubles_come_back(number: float) -> None:
    assert parse_double(format_double(number)) == number


@settings(max_examples=300, deadline=None)
@given(WIRES, st.lists(st.integers(0, 200), max_size=8))
def test_beginnings_read_again_change_nothing(wire: bytes, cuts: list[int]) -> None:
    """As a link reads its stream: each time with the beginning before it, cut behind the last whole command."""
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    plain, again = stream_parser(), stream_parser()
    ours = theirs = b""
    for chunk in (wire[a:b] for a, b in pairwise(edges)):
        expected = plain.feed(chunk)
        kept = again.take_back()
        data = (kept or b"") + chunk
        cut = len(data) if kept is None else whole_bytes(data)
        batch = again.feed(data[:cut])
        if data[cut:]:
            again.hold(data[cut:])
        assert batch.commands == expected.commands
        assert batch.error == expected.error
        if batch.error is not None:
            return
        ours += batch.raw
        theirs += expected.raw
        assert len(ours) + again.pending_bytes == len(theirs) + plain.pending_bytes
