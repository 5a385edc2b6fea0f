"""STREAMS.*: what each asks of the daemon, and what is refused before."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import FactDeed, WriteFact
from pyrepl.commands.engine.table import Command
from pyrepl.commands.node import change_streams
from pyrepl.errors import CommandError
from tests.unit.commands.rig import Rig


@pytest.fixture
def call() -> Call:
    return Rig().call()


def asked(call: Call, row: Command, *words: bytes) -> WriteFact:
    effect = row.fn(call, *words)
    assert isinstance(effect, WriteFact)
    return effect


def test_what_is_asked(call: Call) -> None:
    assert asked(call, change_streams.streams_reserve, b"s") == WriteFact(FactDeed.RESERVE, "s", 0)
    assert asked(call, change_streams.streams_reserve, b"s", b"count", b"5") == WriteFact(FactDeed.RESERVE, "s", 5)
    complete = asked(call, change_streams.streams_complete, b"s", b"7", b"1", b"[2]")
    assert complete == WriteFact(FactDeed.COMPLETE, "s", 7, ("1", "[2]"))
    assert asked(call, change_streams.streams_abort, b"s", b"7") == WriteFact(FactDeed.COMPLETE, "s", 7, ())
    assert asked(call, change_streams.streams_append, b"s", b"{}") == WriteFact(FactDeed.APPEND, "s", 0, ("{}",))
    assert asked(call, change_streams.streams_position, "größe".encode()) == WriteFact(FactDeed.POSITION, "größe")
    assert asked(call, change_streams.streams_list) == WriteFact(FactDeed.LIST)


@pytest.mark.parametrize(
    ("row", "words", "text"),
    [
        (change_streams.streams_reserve, (b"s", b"COUNT"), "syntax error"),
        (change_streams.streams_reserve, (b"s", b"COUNT", b"0"), "out of range"),
        (change_streams.streams_reserve, (b"s", b"MANY", b"5"), "syntax error"),
        (change_streams.streams_complete, (b"s", b"x"), "not an integer"),
        (change_streams.streams_abort, (b"s", b"0"), "out of range"),
        (change_streams.streams_append, (b"ALL", b"1"), "bad name of a stream"),
        (change_streams.streams_append, (b"a b", b"1"), "bad name of a stream"),
        (change_streams.streams_append, (b"\xff", b"1"), "must be UTF-8"),
        (change_streams.streams_append, (b"s", b"1", b"{"), "row 2 cannot be written: expected JSON"),
        (change_streams.streams_append, (b"s", b"\xff"), "row 1 cannot be written: it is not UTF-8"),
    ],
)
def test_what_is_refused(call: Call, row: Command, words: tuple[bytes, ...], text: str) -> None:
    with pytest.raises(CommandError, match=text):
        row.fn(call, *words)
