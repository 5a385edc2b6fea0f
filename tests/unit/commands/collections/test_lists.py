"""Commands on the ends of lists: pushes, pops, ranges, moves. Texts and corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import lists
from pyrepl.commands.collections.lists import multi_pop_arguments
from pyrepl.errors import CommandError
from pyrepl.resp.reply import NULL_ARRAY, OK
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(lists)


def everything(desk: Desk, key: str) -> object:
    return desk.run("LRANGE", key, 0, -1)


def test_pushes_go_to_their_ends(desk: Desk) -> None:
    assert desk.say("RPUSH k a b") == 2
    assert desk.say("LPUSH k c d") == 4
    assert everything(desk, "k") == [b"d", b"c", b"a", b"b"]
    assert desk.say("LLEN k") == 4
    assert desk.keyspace.dirty == 4
    assert desk.sent() == ["RPUSH k a b", "LPUSH k c d"]


def test_pushes_to_existing_lists_alone(desk: Desk) -> None:
    assert desk.say("LPUSHX k a") == desk.say("RPUSHX k a") == 0
    assert desk.sent() == []
    desk.say("RPUSH k a")
    assert desk.say("LPUSHX k b") == 2
    assert desk.say("RPUSHX k c") == 3
    assert everything(desk, "k") == [b"b", b"a", b"c"]


def test_pops(desk: Desk) -> None:
    desk.say("RPUSH k a b c d e")
    assert desk.say("LPOP k") == b"a"
    assert desk.say("RPOP k") == b"e"
    assert desk.say("RPOP k 2") == [b"d", b"c"]
    assert desk.say("LPOP k 5") == [b"b"]
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.say("LPOP k") is None
    assert desk.say("LPOP k 1") is NULL_ARRAY


def test_a_count_of_nothing_propagates_nothing(desk: Desk) -> None:
    desk.say("RPUSH k a")
    desk.sent()
    assert desk.say("LPOP k 0") == []
    assert desk.sent() == []
    assert desk.error("LPOP k -1") == "ERR value is out of range, must be positive"
    assert desk.error("RPOP k 1 2") == "ERR wrong number of arguments for 'rpop' command"


def test_an_emptied_list_takes_its_time_to_live_along(desk: Desk) -> None:
    db = desk.keyspace.databases[0]
    desk.say("RPUSH k a")
    db.expire_at(b"k", desk.keyspace.now_ms + 1000)
    desk.say("RPOP k")
    desk.say("RPUSH k b")
    assert db.store.expires == {}


def test_wrong_types_are_left_alone(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    for line in ("LPUSH s a", "RPUSH s a", "LPOP s", "LLEN s", "LRANGE s 0 1", "LINDEX s 0", "LMOVE s k LEFT LEFT"):
        assert desk.error(line).startswith("WRONGTYPE"), line
    assert desk.keyspace.databases[0].store.values == {b"s": b"text"}
    assert desk.sent() == []


def test_indices(desk: Desk) -> None:
    desk.say("RPUSH k a b c")
    assert [desk.run("LINDEX", "k", index) for index in (0, 2, -1, -3, 3, -4)] == [b"a", b"c", b"c", b"a", None, None]


def test_trims(desk: Desk) -> None:
    desk.run("RPUSH", "k", *range(100))
    assert desk.say("LTRIM k 10 -11") is OK
    assert everything(desk, "k") == [b"%d" % i for i in range(10, 90)]
    desk.say("LTRIM k -3 -2")
    assert everything(desk, "k") == [b"87", b"88"]
    desk.sent()
    desk.say("LTRIM k 0 100")
    assert desk.sent() == []
    desk.say("LTRIM k 5 3")
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.keyspace.dirty == 100 + 20 + 78 + 2


def test_moves(desk: Desk) -> None:
    desk.say("RPUSH k a b c")
    assert desk.say("LMOVE k other LEFT RIGHT") == b"a"
    assert desk.say("RPOPLPUSH k other") == b"c"
    assert everything(desk, "other") == [b"c", b"a"]
    assert desk.say("LMOVE other other LEFT RIGHT") == b"c"
    assert everything(desk, "other") == [b"a", b"c"]
    assert desk.say("LMOVE k k LEFT LEFT") == b"b"
    assert desk.say("RPOPLPUSH k other") == b"b"
    assert b"k" not in desk.keyspace.databases[0].store.values
    assert desk.say("RPOPLPUSH k other") is None
    assert desk.error("LMOVE k other UP LEFT") == "ERR syntax error"


def test_a_move_onto_another_type_takes_nothing(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    desk.say("RPUSH k a")
    assert desk.error("RPOPLPUSH k s").startswith("WRONGTYPE")
    assert everything(desk, "k") == [b"a"]


def test_a_move_is_one_change_and_tells_watchers_of_both_keys(desk: Desk) -> None:
    class Flag:
        dirty_cas = False

    flags = {b"k": Flag(), b"other": Flag()}
    desk.say("RPUSH k a b")
    before = desk.keyspace.dirty
    for key, flag in flags.items():
        desk.keyspace.databases[0].watchers[key] = {flag}
    desk.say("LMOVE k other LEFT LEFT")
    assert desk.keyspace.dirty == before + 1
    assert all(flag.dirty_cas for flag in flags.values())


def test_pops_from_the_first_list_propagate_as_a_plain_pop(desk: Desk) -> None:
    desk.say("RPUSH k a b c")
    desk.sent()
    assert desk.say("LMPOP 2 nosuch k LEFT COUNT 2") == [b"k", [b"a", b"b"]]
    assert desk.say("LMPOP 1 k right count 9") == [b"k", [b"c"]]
    assert desk.sent() == ["LPOP k 2", "RPOP k 1"]
    assert desk.say("LMPOP 1 k LEFT") is NULL_ARRAY
    assert desk.sent() == []


def test_arguments_of_multiple_pops() -> None:
    asked = multi_pop_arguments((b"2", b"a", b"b", b"max", b"COUNT", b"7"), (b"MIN", b"MAX"))
    assert (asked.keys, asked.which, asked.count) == ((b"a", b"b"), 1, 7)
    assert multi_pop_arguments((b"1", b"a", b"MIN"), (b"MIN", b"MAX")).count == 1
    for bad in ((b"2", b"a", b"MIN"), (b"1", b"a"), (b"1", b"a", b"LEFT"), (b"1", b"a", b"MIN", b"COUNT", b"1", b"2")):
        with pytest.raises(CommandError, match="ERR syntax error"):
            multi_pop_arguments(bad, (b"MIN", b"MAX"))
    for bad in ((b"0", b"a", b"MIN"), (b"x", b"a", b"MIN")):
        with pytest.raises(CommandError, match="ERR numkeys should be greater than 0"):
            multi_pop_arguments(bad, (b"MIN", b"MAX"))
    with pytest.raises(CommandError, match="ERR count should be greater than 0"):
        multi_pop_arguments((b"1", b"a", b"MIN", b"COUNT", b"0"), (b"MIN", b"MAX"))
