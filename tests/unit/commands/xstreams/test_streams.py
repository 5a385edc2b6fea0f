"""The commands of a stream as a log: ids that we choose, what is propagated, and corners that a random test misses.

That replies and errors are those of Redis 7.0 is shown by tests/property/test_differential_streams.py.
"""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams import streams
from pyrepl.rdb.values import StreamValue
from pyrepl.resp.reply import NULL_ARRAY
from tests.unit.commands.desk import START_MS, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(streams)


def fill(desk: Desk, count: int, key: str = "s") -> None:
    """Ids 1-0 to count-0."""
    for number in range(1, count + 1):
        desk.run("XADD", key, f"{number}-0", "f", number)
    desk.sent()


def test_ids_chosen_rise_within_a_millisecond_and_when_the_clock_falls(desk: Desk) -> None:
    assert desk.say("XADD s * f v") == b"%d-0" % START_MS
    assert desk.say("XADD s * f v") == b"%d-1" % START_MS
    desk.pass_ms(-500)
    assert desk.say("XADD s * f v") == b"%d-2" % START_MS
    desk.pass_ms(501)
    assert desk.say("XADD s * f v") == b"%d-0" % (START_MS + 1)


def test_what_follows_the_greatest_sequence(desk: Desk) -> None:
    desk.say("XADD s 5-18446744073709551615 f v")
    assert "equal or smaller" in desk.error("XADD s 5-* f v")
    assert desk.say("XADD s 6-* f v") == b"6-0"
    desk.run("XADD", "s", f"{START_MS}-18446744073709551615", "f", "v")
    assert desk.say("XADD s * f v") == b"%d-0" % (START_MS + 1)


def test_after_the_last_id_there_is_none(desk: Desk) -> None:
    desk.say("XADD s 18446744073709551615-18446744073709551615 f v")
    assert desk.error("XADD s * f v") == ("ERR The stream has exhausted the last possible ID, unable to add more items")


def test_ids_are_propagated_as_chosen(desk: Desk) -> None:
    desk.say("XADD s * f v")
    desk.say("xadd s nomkstream 9999999999999-* f * ")
    desk.say("XADD s 9999999999999-7 f *")
    assert desk.sent() == [
        f"XADD s {START_MS}-0 f v",
        "xadd s nomkstream 9999999999999-0 f *",
        "XADD s 9999999999999-7 f *",
    ]


def test_an_id_given_is_propagated_as_it_was_spelt(desk: Desk) -> None:
    desk.say("XADD s MAXLEN ~ 0 007-01 f v")
    assert desk.sent() == ["XADD s MAXLEN = 0 007-01 f v"]


def test_what_is_not_added_is_not_propagated(desk: Desk) -> None:
    assert desk.say("XADD s NOMKSTREAM * f v") is None
    desk.error("XADD s 0-0 f v")
    desk.error("XADD s * f")
    assert desk.sent() == []
    assert not desk.keyspace.databases[0].store.values


def test_approximate_trimming_removes_whole_nodes_and_is_propagated_exactly(desk: Desk) -> None:
    fill(desk, 350)
    assert desk.say("XTRIM s MAXLEN ~ 120") == 200
    assert desk.say("XTRIM s MINID ~ 251") == 0
    assert desk.say("XTRIM s MINID ~ 301") == 100
    desk.say("XADD s MAXLEN ~ 60 400-0 f v")
    desk.say("XADD s MINID ~ 400-0 401-* f v")
    assert desk.sent() == [
        "XTRIM s MAXLEN = 150",
        "XTRIM s MINID = 301-0",
        "XADD s MAXLEN = 51 400-0 f v",
        "XADD s MINID = 301-0 401-0 f v",
    ]


def test_approximate_trimming_to_nothing(desk: Desk) -> None:
    fill(desk, 7)
    assert desk.say("XTRIM s MINID ~ 8") == 7
    assert desk.sent() == ["XTRIM s MINID = 18446744073709551615-18446744073709551615"]
    assert desk.say("XLEN s") == 0
    assert desk.keyspace.databases[0].find(b"s") is not None, "an empty stream stays"


def test_limit(desk: Desk) -> None:
    fill(desk, 350)
    assert desk.say("XTRIM s MAXLEN ~ 0 LIMIT 250") == 200
    assert desk.say("XTRIM s MAXLEN ~ 0 LIMIT 0") == 150
    assert desk.error("XTRIM s MAXLEN = 5 LIMIT 3") == (
        "ERR syntax error, LIMIT cannot be used without the special ~ option"
    )
    assert desk.error("XADD s LIMIT 3 * f v") == (
        "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
    )


def test_a_trim_without_limit_removes_ten_thousand_at_most(desk: Desk) -> None:
    fill(desk, 10_250)
    assert desk.say("XTRIM s MAXLEN ~ 1") == 10_000


def test_from_a_master_limit_is_no_limit_and_no_error(desk: Desk) -> None:
    """A Redis master propagates `MAXLEN = 5 LIMIT 100` when a client said `MAXLEN ~ 3 LIMIT 100`."""
    fill(desk, 20)
    desk.client.become_master_link()
    assert desk.say("XTRIM s MAXLEN = 5 LIMIT 3") == 15


def test_trimming_leaves_no_tombstone_deleting_does(desk: Desk) -> None:
    fill(desk, 5)
    desk.say("XTRIM s MAXLEN 3")
    stream = desk.keyspace.databases[0].find_as(StreamValue, b"s")
    assert stream is not None
    assert (stream.max_deleted_id, stream.first_id) == ((0, 0), (3, 0))
    assert desk.say("XDEL s 3 5 9") == 2
    assert (stream.max_deleted_id, stream.first_id, stream.last_id) == ((5, 0), (4, 0), (5, 0))


def test_nothing_is_deleted_when_one_id_is_wrong(desk: Desk) -> None:
    fill(desk, 2)
    desk.error("XDEL s 1-0 x")
    assert desk.say("XLEN s") == 2
    assert desk.say("XDEL nosuch x") == 0


def test_only_changes_are_propagated_and_seen_by_watchers(desk: Desk) -> None:
    fill(desk, 3)
    watcher = desk.connect()
    database = desk.keyspace.databases[0]
    database.watchers[b"s"] = {watcher}
    for line, dirties in [
        ("XDEL s 9", False),
        ("XTRIM s MAXLEN 3", False),
        ("XSETID s 50", False),
        ("XDEL s 1-0", True),
        ("XTRIM s MAXLEN 1", True),
        ("XADD s * f v", True),
    ]:
        watcher.dirty_cas = False
        desk.say(line)
        assert watcher.dirty_cas is dirties, line
    assert desk.sent()[:2] == ["XSETID s 50", "XDEL s 1-0"]


def test_ranges(desk: Desk) -> None:
    fill(desk, 4)
    assert desk.say("XRANGE s 2 (4-0 COUNT 9") == [[b"2-0", [b"f", b"2"]], [b"3-0", [b"f", b"3"]]]
    assert desk.say("XREVRANGE s + - COUNT 1") == [[b"4-0", [b"f", b"4"]]]
    assert desk.say("XRANGE s - + COUNT 0") is NULL_ARRAY
    assert desk.say("XRANGE nosuch - + COUNT 0") == []
    assert desk.say("XRANGE s 3 2") == []


def test_setid(desk: Desk) -> None:
    fill(desk, 2)
    desk.say("XSETID s 9-9 ENTRIESADDED 20 MAXDELETEDID 5-0")
    stream = desk.keyspace.databases[0].find_as(StreamValue, b"s")
    assert stream is not None
    assert (stream.last_id, stream.entries_added, stream.max_deleted_id) == ((9, 9), 20, (5, 0))
    assert desk.error("XSETID s 4-9") == ("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")
    assert desk.error("XSETID nosuch 1-0") == "ERR no such key"
