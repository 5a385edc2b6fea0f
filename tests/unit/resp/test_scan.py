"""The usual request: what is taken, where it stops, and that it never takes what the exact reading would not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Batch, Parser
from pyrepl.resp.scan import MOST_BEGINNING_BYTES, MOST_BULK_BYTES, scan, whole_bytes

SET = [b"SET", b"key", b"a\r\nb"]
PING = [b"PING"]


def scanned(data: bytes, pos: int = 0, base: int = 0, max_args: int = 1000) -> tuple[int, list[list[bytes]], list[int]]:
    commands: list[list[bytes]] = []
    ends: list[int] = []
    return scan(data, pos, base, max_args, commands, ends), commands, ends


def test_whole_commands() -> None:
    first, second = encode_command(SET), encode_command(PING)
    size = len(first) + len(second)
    assert scanned(first + second) == (size, [SET, PING], [len(first), size])


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=50))
def test_names_that_share_a_slot_stay_apart(names: list[bytes]) -> None:
    data = b"".join(encode_command([name]) for name in names)
    assert scanned(data)[1] == [[name] for name in names]


def test_a_name_that_comes_again_is_the_same_object() -> None:
    first, second = scanned(2 * encode_command([b"HSET", b"key"]))[1]
    assert first[0] is second[0] and first[1] is not second[1]


def test_from_a_position_and_a_base() -> None:
    data = b"xyz" + encode_command(PING)
    assert scanned(data, 3, 100) == (len(data), [PING], [100 + len(data)])


def test_every_cut_leaves_the_unfinished() -> None:
    first, second = encode_command(PING), encode_command(SET)
    for size in range(len(second)):
        assert scanned(first + second[:size]) == (len(first), [PING], [len(first)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PING\r\n",
        b"\r\n*1\r\n$4\r\nPING\r\n",
        b"*0\r\n*1\r\n$4\r\nPING\r\n",
        b"*-1\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*1\n$4\r\nPING\r\n",
        b"*1\r\r$4\r\nPING\r\n",
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$00\r\n\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n$4\rxPING\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$3\r\nPING\r\n",
        b"*9999999999999999999999\r\n$4\r\nPING\r\n",
        b"*1\r\n$9999999999999999999999\r\nPING\r\n",
        b"*1\r\n$18446744073709551620\r\nPING\r\n",
    ],
)
def test_the_unusual_is_left(data: bytes) -> None:
    assert scanned(data) == (0, [], [])


def test_empty_arguments() -> None:
    argv = [b"ECHO", b"", b""]
    assert scanned(encode_command(argv))[1] == [argv]


def test_limits() -> None:
    assert scanned(encode_command(SET), max_args=3)[1] == [SET]
    assert scanned(encode_command(SET), max_args=2)[1] == []
    longest = [b"ECHO", b"x" * MOST_BULK_BYTES]
    assert scanned(encode_command(longest))[1] == [longest]
    assert scanned(encode_command([b"ECHO", b"x" * (MOST_BULK_BYTES + 1)]))[1] == []


WORDS = st.lists(st.binary(max_size=12), min_size=1, max_size=12)
NOISE = st.sampled_from([b"", b"*", b"$", b"1", b"\r", b"\n", b"\r\n", b"0", b"-", b"PING\r\n", b"*3\r\n", b"$1\r\n"])


@given(st.lists(st.tuples(WORDS, NOISE), max_size=6))
def test_it_agrees_with_the_exact_reading(parts: list[tuple[list[bytes], bytes]]) -> None:
    data = b"".join(encode_command(words) + noise for words, noise in parts)
    taken, commands, ends = scanned(data)
    # A byte at a time nothing is ever whole for the fast way.
    exact: list[list[bytes]] = []
    parser = Parser()
    for at in range(taken):
        batch: Batch = parser.feed(data[at : at + 1])
        exact += batch.commands
    assert commands == exact
    assert not ends or ends[-1] == taken
    assert parser.pending_bytes == 0


def test_a_read_is_cut_behind_its_last_whole_command() -> None:
    first, second = encode_command(SET), encode_command([b"ECHO", b""])
    assert whole_bytes(b"") == 0
    assert whole_bytes(first + second) == len(first + second)
    for size in range(len(second)):
        assert whole_bytes(first + second[:size]) == len(first)
        assert whole_bytes(second[:size]) == 0


def test_what_is_long_or_unusual_is_not_cut() -> None:
    first = encode_command(SET)
    beginning = b"*2\r\n$4\r\nECHO\r\n$100000\r\n"
    shorter = beginning + bytes(MOST_BEGINNING_BYTES - len(beginning))
    assert whole_bytes(first + shorter) == len(first)
    assert whole_bytes(first + shorter + b"x") == len(first + shorter + b"x")
    for rest in (b"\n*1", b"PING", b"*0\r\n*1", b"*1\n$4\r\nPI", b"*1\r\n$1\r\nxyz", b"*1\r\n$-1\r\n*1", b"*-1\r\n"):
        assert whole_bytes(first + rest) == len(first + rest)
    for rest in (b"*1\r\n$04\r\nPI", b"*01\r\n$4\r\nPI"):
        # The parser refuses a leading zero as soon as it sees the line. Held back, the error would come late or never.
        assert whole_bytes(first + rest) == len(first + rest)
    huge = b"*1\r\n$%d\r\n" % (MOST_BULK_BYTES + 1)
    assert whole_bytes(huge) == len(huge)
