"""MULTI, EXEC, DISCARD, WATCH: replies as Redis 7.0 gives them, and what makes a watched key dirty."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.commands.node import databases
from pyrepl.commands.session import transactions
from pyrepl.commands.session.transactions import discard_queue, is_dirty, unwatch, watch
from pyrepl.commands.xstreams import streams
from pyrepl.keyspace.database import Expiry
from pyrepl.node.client import Client
from pyrepl.resp.reply import NULL_ARRAY, OK, QUEUED
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(transactions, streams, databases)


def touch(desk: Desk, key: bytes, value: bytes = b"new") -> None:
    """Some other client's write."""
    database = desk.keyspace.databases[0]
    database.put(key, value)
    database.changed(key)


def exec_fails(desk: Desk, client: Client | None = None) -> bool:
    """Does a transaction fail now because of a watched key?"""
    assert desk.say("MULTI", client) == OK
    assert desk.say("XLEN nosuch", client) == QUEUED
    reply = desk.say("EXEC", client)
    assert reply in (NULL_ARRAY, [0])
    return reply is NULL_ARRAY


def test_queued_commands_run_at_exec_and_are_told_to_the_replicas(desk: Desk) -> None:
    assert desk.say("MULTI") == OK
    assert desk.say("XADD s 1-1 f v") == QUEUED
    assert desk.say("XLEN s") == QUEUED
    assert desk.sent() == []
    assert desk.say("EXEC") == [b"1-1", 1]
    assert desk.sent() == ["XADD s 1-1 f v"]
    assert desk.say("XLEN s") == 1


def test_an_empty_transaction(desk: Desk) -> None:
    desk.say("MULTI")
    assert desk.say("EXEC") == []
    assert not desk.client.guarded


def test_discard_forgets_queue_and_watches(desk: Desk) -> None:
    desk.say("WATCH a")
    desk.say("MULTI")
    desk.say("XADD s 1-1 f v")
    assert desk.say("DISCARD") == OK
    assert desk.say("XLEN s") == 0
    touch(desk, b"a")
    assert not exec_fails(desk)


def test_errors_to_the_letter(desk: Desk) -> None:
    assert desk.error("EXEC") == "ERR EXEC without MULTI"
    assert desk.error("DISCARD") == "ERR DISCARD without MULTI"
    desk.say("MULTI")
    assert desk.error("MULTI") == "ERR MULTI calls can not be nested"
    assert desk.error("WATCH a") == "ERR WATCH inside MULTI is not allowed"
    assert desk.say("EXEC") == [], "neither of the two spoils the transaction"


def test_a_command_that_cannot_be_queued_spoils_the_transaction(desk: Desk) -> None:
    desk.say("MULTI")
    desk.say("XADD s 1-1 f v")
    assert desk.error("NOSUCH").startswith("ERR unknown command 'NOSUCH'")
    assert desk.error("EXEC") == "EXECABORT Transaction discarded because of previous errors."
    assert desk.say("XLEN s") == 0
    assert desk.error("EXEC") == "ERR EXEC without MULTI"


def test_unwatch_inside_a_transaction_is_queued(desk: Desk) -> None:
    desk.say("WATCH a")
    desk.say("MULTI")
    assert desk.say("UNWATCH") == QUEUED
    assert desk.say("EXEC") == [OK]


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        (lambda desk: touch(desk, b"a"), True),
        (lambda desk: touch(desk, b"b"), True),
        (lambda desk: touch(desk, b"other"), False),
        (lambda desk: desk.keyspace.databases[0].clear(), True),
        (lambda desk: desk.keyspace.databases[1].clear(), False),
        (lambda desk: desk.say("SWAPDB 0 1"), True),
        (lambda desk: desk.say("SWAPDB 2 3"), False),
        (lambda desk: desk.say("SWAPDB 0 0"), False),
        (lambda desk: desk.say("UNWATCH"), False),
        (lambda desk: None, False),
    ],
)
def test_what_makes_exec_fail(desk: Desk, change: Callable[[Desk], object], fails: bool) -> None:
    touch(desk, b"a")
    touch(desk, b"b")
    desk.say("WATCH a b a")
    change(desk)
    assert exec_fails(desk) is fails
    touch(desk, b"a")
    assert not exec_fails(desk), "the watches of one transaction do not reach the next"


def test_emptying_a_database_does_not_touch_a_key_that_was_not_there(desk: Desk) -> None:
    touch(desk, b"other")
    desk.say("WATCH nosuch")
    desk.keyspace.databases[0].clear()
    assert not exec_fails(desk)


def test_unwatch_forgives_a_change(desk: Desk) -> None:
    desk.say("WATCH a")
    touch(desk, b"a")
    desk.say("UNWATCH")
    assert not exec_fails(desk)


def test_a_key_is_watched_in_the_database_selected(desk: Desk) -> None:
    client = desk.client
    watch(client, desk.keyspace.databases[3], b"a")
    touch(desk, b"a")
    assert not is_dirty(client, desk.keyspace)
    desk.keyspace.databases[3].changed(b"a")
    assert is_dirty(client, desk.keyspace)


def test_a_key_that_expires_after_watch_makes_exec_fail(desk: Desk) -> None:
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms + 10)
    desk.say("WATCH a")
    desk.pass_ms(11)
    assert b"a" in database.store.values, "nobody has looked at it, so it is still stored"
    assert exec_fails(desk)


def test_a_key_deleted_by_expiry_after_watch_makes_exec_fail(desk: Desk) -> None:
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms + 10)
    desk.say("WATCH a")
    desk.pass_ms(11)
    assert database.find(b"a") is None
    assert exec_fails(desk)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_key_that_had_expired_before_watch_counts_as_missing(desk: Desk, deleted: bool) -> None:
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms - 1)
    desk.say("WATCH a")
    if deleted:
        assert database.find(b"a") is None
    assert not exec_fails(desk)


def test_a_key_that_had_expired_before_watch_and_is_written_again(desk: Desk) -> None:
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms - 1)
    desk.say("WATCH a")
    assert database.find(b"a") is None
    touch(desk, b"a")
    assert exec_fails(desk)


@pytest.mark.parametrize(("held_by_the_other", "fails"), [(False, False), (True, True)])
def test_a_key_that_had_expired_before_watch_and_a_swap(desk: Desk, held_by_the_other: bool, fails: bool) -> None:
    touch(desk, b"a")
    desk.keyspace.databases[0].expire_at(b"a", desk.keyspace.now_ms - 1)
    if held_by_the_other:
        desk.keyspace.databases[1].put(b"a", b"live")
    desk.say("WATCH a")
    desk.say("SWAPDB 0 1")
    assert exec_fails(desk) is fails


@pytest.mark.parametrize(
    ("ttl_ms", "swaps", "fails"),
    [
        (-1, ["SWAPDB 0 1"], False),
        (-1, ["SWAPDB 0 1", "SWAPDB 0 1"], False),
        (10, ["SWAPDB 0 1"], True),
        (10, ["SWAPDB 0 1", "SWAPDB 0 1"], True),
        (None, ["SWAPDB 0 1", "SWAPDB 0 1"], True),
        (None, ["SWAPDB 2 1"], False),
    ],
)
def test_a_swap_that_brings_an_expired_key_where_none_was_is_no_change(
    desk: Desk, ttl_ms: int | None, swaps: list[str], fails: bool
) -> None:
    other = desk.keyspace.databases[1]
    other.put(b"a", b"1")
    if ttl_ms is not None:
        other.expire_at(b"a", desk.keyspace.now_ms + ttl_ms)
    desk.say("WATCH a")
    for swap in swaps:
        desk.say(swap)
    assert exec_fails(desk) is fails


def test_a_missing_key_that_came_as_expired_and_is_written_has_changed(desk: Desk) -> None:
    desk.keyspace.databases[1].put(b"a", b"1")
    desk.keyspace.databases[1].expire_at(b"a", desk.keyspace.now_ms - 1)
    desk.say("WATCH a")
    desk.say("SWAPDB 0 1")
    assert desk.keyspace.databases[0].find(b"a") is None
    touch(desk, b"a")
    assert exec_fails(desk)


def test_a_key_that_had_expired_before_watch_and_an_emptied_database(desk: Desk) -> None:
    touch(desk, b"a")
    desk.keyspace.databases[0].expire_at(b"a", desk.keyspace.now_ms - 1)
    desk.say("WATCH a")
    desk.keyspace.databases[0].clear()
    assert not exec_fails(desk)


def test_on_a_replica_the_masters_delete_of_a_long_expired_key_is_no_change(desk: Desk) -> None:
    desk.keyspace.expiry = Expiry.HIDE
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms - 1)
    desk.say("WATCH a")
    database.delete(b"a")
    database.changed(b"a")
    assert not exec_fails(desk)


def test_watchers_do_not_disturb_each_other_and_leave_nothing_behind(desk: Desk) -> None:
    database = desk.keyspace.databases[0]
    touch(desk, b"a")
    database.expire_at(b"a", desk.keyspace.now_ms - 1)
    early, late = desk.connect(), desk.connect()
    desk.say("WATCH a b", early)
    assert database.find(b"a") is None
    desk.say("WATCH a", late)
    unwatch(early, desk.keyspace)
    assert set(database.watchers) == {b"a"}
    touch(desk, b"a")
    assert is_dirty(late, desk.keyspace) and not is_dirty(early, desk.keyspace)
    unwatch(late, desk.keyspace)
    assert database.watchers == {}


def test_a_client_that_leaves_in_a_transaction(desk: Desk) -> None:
    desk.say("WATCH a")
    desk.say("MULTI")
    discard_queue(desk.client, desk.keyspace)
    assert desk.client.queue is None and not desk.client.guarded
    assert desk.keyspace.databases[0].watchers == {}
