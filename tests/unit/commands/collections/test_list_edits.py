"""Commands inside lists: LSET, LINSERT, LREM, LPOS."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import list_edits, lists
from pyrepl.resp.reply import OK
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(lists, list_edits)
    desk.say("RPUSH k a b c a b c")
    desk.sent()
    return desk


def everything(desk: Desk) -> bytes:
    elements = desk.say("LRANGE k 0 -1")
    assert isinstance(elements, list)
    return b"".join(elements)


def test_an_element_is_replaced(desk: Desk) -> None:
    assert desk.say("LSET k 1 x") is OK
    assert desk.say("LSET k -1 y") is OK
    assert everything(desk) == b"axcaby"
    assert desk.error("LSET k 6 z") == desk.error("LSET k -7 z") == "ERR index out of range"
    assert desk.error("LSET nosuch 0 z") == "ERR no such key"
    assert desk.sent() == ["LSET k 1 x", "LSET k -1 y"]


def test_an_element_is_inserted_beside_the_first_match(desk: Desk) -> None:
    assert desk.say("LINSERT k before b x") == 7
    assert desk.say("LINSERT k AFTER b y") == 8
    assert everything(desk) == b"axbycabc"
    assert desk.say("LINSERT k AFTER nosuch y") == -1
    assert desk.say("LINSERT nosuch AFTER b y") == 0
    assert desk.error("LINSERT k BESIDE b y") == "ERR syntax error"
    assert len(desk.sent()) == 2


@pytest.mark.parametrize(
    ("count", "removed", "left"),
    [(0, 2, b"bcbc"), (1, 1, b"bcabc"), (-1, 1, b"abcbc"), (9, 2, b"bcbc"), (-9, 2, b"bcbc")],
)
def test_elements_are_removed_from_either_end(desk: Desk, count: int, removed: int, left: bytes) -> None:
    dirty = desk.keyspace.dirty
    assert desk.run("LREM", "k", count, "a") == removed
    assert everything(desk) == left
    assert desk.keyspace.dirty == dirty + removed


def test_removing_nothing_and_everything(desk: Desk) -> None:
    assert desk.say("LREM k 0 nosuch") == 0
    assert desk.say("LREM nosuch 0 a") == 0
    assert desk.sent() == []
    for element in "abc":
        desk.run("LREM", "k", 0, element)
    assert desk.keyspace.databases[0].store.values == {}


def test_positions(desk: Desk) -> None:
    assert desk.say("LPOS k c") == 2
    assert desk.say("LPOS k c RANK 2") == 5
    assert desk.say("LPOS k c RANK -1") == 5
    assert desk.say("LPOS k c RANK 3") is None
    assert desk.say("LPOS k c COUNT 0") == [2, 5]
    assert desk.say("LPOS k c RANK -1 COUNT 0") == [5, 2]
    assert desk.say("LPOS k c MAXLEN 2") is None
    assert desk.say("LPOS k c COUNT 5 MAXLEN 3 RANK -1") == [5]
    assert desk.say("LPOS nosuch c") is None
    assert desk.say("LPOS nosuch c COUNT 1") == []
    assert desk.sent() == []


def test_bad_positions_are_refused(desk: Desk) -> None:
    assert desk.error("LPOS k c RANK 0").startswith("ERR RANK can't be zero: use 1 to start from the first match")
    assert desk.error("LPOS k c COUNT -1") == "ERR COUNT can't be negative"
    assert desk.error("LPOS k c MAXLEN -1") == "ERR MAXLEN can't be negative"
    assert desk.error("LPOS k c RANK") == desk.error("LPOS k c FOO 1") == "ERR syntax error"
    lowest = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
    assert desk.error("LPOS k c RANK -9223372036854775808") == lowest
