"""BZPOPMIN and its like: what they answer at once, when they ask to wait, and what goes to the replicas."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.session import transactions
from pyrepl.commands.zsets import blocking_zsets, zsets
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(zsets, blocking_zsets, transactions)


@pytest.mark.parametrize(
    ("line", "reply", "sent"),
    [
        ("BZPOPMIN none a 0", [b"a", b"x", 1.0], "ZPOPMIN a"),
        ("BZPOPMAX none a 0", [b"a", b"z", 3.0], "ZPOPMAX a"),
        ("BZMPOP 0 2 none a MAX COUNT 2", [b"a", [(b"z", 3.0), (b"y", 2.0)]], "ZPOPMAX a 2"),
    ],
)
def test_what_is_there_is_taken_at_once(desk: Desk, line: str, reply: object, sent: str) -> None:
    desk.say("ZADD a 1 x 2 y 3 z")
    desk.sent()
    assert desk.say(line) == reply
    assert desk.sent() == [sent] and desk.waits == []


@pytest.mark.parametrize("line", ["BZPOPMIN a b 1", "BZPOPMAX a b 1", "BZMPOP 1 2 a b MIN"])
def test_where_nothing_is_they_wait_but_for_a_transaction(desk: Desk, line: str) -> None:
    assert desk.say(line) is NO_REPLY
    assert desk.waits == [WaitForKeys((b"a", b"b"), "zset", 1000, tuple(word.encode() for word in line.split()))]
    for words in ("MULTI", line):
        desk.say(words)
    assert desk.say("EXEC") == [NULL_ARRAY] and len(desk.waits) == 1


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("BZPOPMIN a -1", "ERR timeout is negative"),
        ("BZMPOP x 1 a MIN", "ERR timeout is not a float or out of range"),
        ("BZMPOP 0 1 a LEFT", "ERR syntax error"),
    ],
)
def test_what_they_refuse(desk: Desk, line: str, error: str) -> None:
    assert desk.error(line) == error
