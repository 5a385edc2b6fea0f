"""Units of commands from the bytes of a file: whole ones only, and where the last one ends."""

from __future__ import annotations

import pytest

from pyrepl.aof.own_block import Aside, own_block, timestamp
from pyrepl.aof.reader import UnitReader
from pyrepl.errors import CorruptData
from pyrepl.resp.encoder import encode_command

SET = encode_command([b"SET", b"k", b"v"])
MULTI, EXEC = encode_command([b"MULTI"]), encode_command([b"EXEC"])


def test_plain_commands_are_units() -> None:
    reader = UnitReader(7)
    assert reader.feed(SET + SET) == [[b"SET", b"k", b"v"]] * 2
    assert reader.end == reader.read == 7 + 2 * len(SET)


def test_a_transaction_comes_whole_or_not_at_all() -> None:
    reader = UnitReader()
    assert reader.feed(SET + MULTI + SET) == [[b"SET", b"k", b"v"]]
    assert reader.end == len(SET)
    assert reader.feed(EXEC) == [[b"MULTI"], [b"SET", b"k", b"v"], [b"EXEC"]]
    assert reader.end == reader.read


def test_half_a_command_waits() -> None:
    reader = UnitReader()
    for size in range(len(SET)):
        reader = UnitReader()
        assert reader.feed(SET[:size]) == []
        assert (reader.end, reader.read) == (0, size)
        assert reader.feed(SET[size:]) == [[b"SET", b"k", b"v"]]


def test_timestamps_are_skipped() -> None:
    reader = UnitReader()
    data = b"#TS:1700000000\r\n" + SET + b"#TS:1700000001\r\n"
    assert reader.feed(data) == [[b"SET", b"k", b"v"]]
    assert reader.end == len(data)


@pytest.mark.parametrize("junk", [b"hello\r\n", b"*x\r\n", b"*1\r\n+3\r\n", b"\0\0\0\0\r\n"])
def test_junk_is_refused_with_its_byte(junk: bytes) -> None:
    with pytest.raises(CorruptData) as caught:
        UnitReader(100).feed(SET + junk + SET)
    assert caught.value.offset == 100 + len(SET)


def test_an_own_block_is_one_unit() -> None:
    block = own_block(SET + MULTI + SET + EXEC)
    for cut in range(1, len(block)):
        reader = UnitReader()
        assert reader.feed(SET + block[:cut]) == [[b"SET", b"k", b"v"]]
        assert (reader.end, reader.aside.size) == (len(SET), 0)
        assert len(reader.feed(block[cut:] + SET)) == 5
        assert reader.end == reader.read and list(reader.aside.spans) == [(len(SET), len(SET) + len(block))]


def test_times_are_aside_from_a_byte_on() -> None:
    line = timestamp(1700000000)
    reader = UnitReader(0, Aside(len(line)))
    reader.feed(line + SET + line + own_block(b"") + SET)
    assert reader.aside.size == len(line) + len(own_block(b""))


def test_an_own_block_ends_between_commands() -> None:
    with pytest.raises(CorruptData, match="inside a command"):
        UnitReader().feed(b"#OWN:5\r\n" + SET)
