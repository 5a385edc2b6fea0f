"""BGREWRITEAOF and WAITAOF: their arguments and refusals. What the daemon makes of them: daemon/test_aof_*.py."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import RewriteAof, WaitAof
from pyrepl.commands.node import aof
from pyrepl.errors import CommandError
from tests.unit.commands.rig import Rig


def call(**settings: object) -> Call:
    return Rig(**settings).call()


def test_bgrewriteaof_asks_for_one_rewrite_at_a_time() -> None:
    desk = call()
    assert aof.bgrewriteaof.fn(desk) == RewriteAof()
    desk.node.persistence.aof.rewrite_started_at = 1.0
    with pytest.raises(CommandError, match="ERR Background append only file rewriting already in progress"):
        aof.bgrewriteaof.fn(desk)


def test_waitaof_takes_its_numbers() -> None:
    assert aof.waitaof.fn(call(appendonly=True), b"1", b"2", b"30") == WaitAof(1, 2, 30)
    assert aof.waitaof.fn(call(), b"0", b"2", b"0") == WaitAof(0, 2, 0)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((b"2", b"0", b"0"), "value is out of range"),
        ((b"0", b"-1", b"0"), "value is out of range, must be positive"),
        ((b"0", b"0", b"-1"), "timeout is negative"),
        ((b"1", b"0", b"0"), "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."),
    ],
)
def test_waitaof_refuses(words: tuple[bytes, bytes, bytes], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        aof.waitaof.fn(call(), *words)


def test_waitaof_is_for_masters() -> None:
    desk = call(appendonly=True)
    desk.node.replication.role.follow("db1", 6379, 1.0)
    with pytest.raises(CommandError, match="WAITAOF cannot be used with replica instances"):
        aof.waitaof.fn(desk, b"1", b"0", b"0")
