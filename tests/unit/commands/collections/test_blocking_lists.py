"""BLPOP and its like: what they answer at once, when they ask to wait, and what goes to the replicas."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import blocking_lists, lists
from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.session import transactions
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(lists, blocking_lists, transactions)


@pytest.mark.parametrize(
    ("line", "reply", "sent"),
    [
        ("BLPOP none a b 0", [b"a", b"1"], "LPOP a"),
        ("BRPOP none a b 1.5", [b"a", b"3"], "RPOP a"),
        ("BLMOVE a b left Right 0", b"1", "LMOVE a b left Right"),
        ("BRPOPLPUSH a b 0", b"3", "RPOPLPUSH a b"),
        ("BLMPOP 0 2 none a RIGHT COUNT 2", [b"a", [b"3", b"2"]], "RPOP a 2"),
        ("BLMPOP 0 1 a LEFT COUNT 9", [b"a", [b"1", b"2", b"3"]], "LPOP a 3"),
    ],
)
def test_what_is_there_is_taken_at_once(desk: Desk, line: str, reply: object, sent: str) -> None:
    desk.say("RPUSH a 1 2 3")
    desk.sent()
    assert desk.say(line) == reply
    assert desk.sent() == [sent] and desk.waits == []


@pytest.mark.parametrize(
    ("line", "keys", "timeout_ms"),
    [
        ("BLPOP a b 0", (b"a", b"b"), 0),
        ("BRPOP a 0.0011", (b"a",), 2),
        ("BLMOVE a b LEFT LEFT 2", (b"a",), 2000),
        ("BRPOPLPUSH a b 1", (b"a",), 1000),
        ("BLMPOP 1 2 a b LEFT COUNT 3", (b"a", b"b"), 1000),
    ],
)
def test_where_nothing_is_they_wait(desk: Desk, line: str, keys: tuple[bytes, ...], timeout_ms: int) -> None:
    assert desk.say(line) is NO_REPLY
    argv = tuple(word.encode() for word in line.split())
    assert desk.waits == [WaitForKeys(keys, "list", timeout_ms, argv)]
    assert desk.sent() == []


def test_in_a_transaction_they_do_not(desk: Desk) -> None:
    lines = ("BLPOP a 0", "BRPOP a 0", "BLMPOP 0 1 a LEFT", "BLMOVE a b LEFT LEFT 0", "BRPOPLPUSH a b 0")
    for line in ("MULTI", *lines):
        desk.say(line)
    assert desk.say("EXEC") == [NULL_ARRAY, NULL_ARRAY, NULL_ARRAY, None, None]
    assert desk.waits == []


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("BLPOP a -1", "ERR timeout is negative"),
        ("BLPOP a x", "ERR timeout is not a float or out of range"),
        ("BLPOP a 9223372036854775", "ERR timeout is out of range"),
        ("BLMOVE a b LEFT x y", "ERR syntax error"),
        ("BLMOVE a b LEFT LEFT y", "ERR timeout is not a float or out of range"),
        ("BLMPOP x 0 a LEFT", "ERR numkeys should be greater than 0"),
        ("BLMPOP x 1 a LEFT", "ERR timeout is not a float or out of range"),
        ("BLMPOP 0 2 a LEFT", "ERR syntax error"),
        ("BLMPOP 0 1 a LEFT COUNT 0", "ERR count should be greater than 0"),
    ],
)
def test_what_they_refuse(desk: Desk, line: str, error: str) -> None:
    assert desk.error(line) == error
