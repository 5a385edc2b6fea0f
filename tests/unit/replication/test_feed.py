"""Commands to stream bytes, as a real Redis 8.2 puts them (captured: MULTI, SELECT, commands, EXEC)."""

from __future__ import annotations

from pyrepl.replication.feed import EXEC, MULTI, Feed
from pyrepl.resp.encoder import encode_command

SET = encode_command([b"set", b"a", b"b"])


def select(index: int) -> bytes:
    return encode_command([b"SELECT", b"%d" % index])


def test_select_only_when_the_database_changes() -> None:
    feed = Feed()
    assert feed.feed_one(0, SET) == select(0) + SET
    assert feed.feed_one(0, SET) is SET
    assert feed.feed_one(3, SET) == select(3) + SET
    assert feed.feed_one(0, SET) == select(0) + SET


def test_databases_above_sixteen() -> None:
    assert Feed().feed_one(100, SET) == select(100) + SET


def test_a_unit_of_one_needs_no_transaction() -> None:
    feed = Feed()
    assert feed.feed_unit([(0, SET)]) == select(0) + SET
    assert feed.feed_unit([]) == b""


def test_a_unit_goes_between_multi_and_exec() -> None:
    feed = Feed()
    assert feed.feed_unit([(3, SET), (4, SET)]) == MULTI + select(3) + SET + select(4) + SET + EXEC
    assert feed.feed_unit([(4, SET), (4, SET)]) == MULTI + SET + SET + EXEC


def test_forgetting_brings_a_select() -> None:
    feed = Feed()
    feed.feed_one(2, SET)
    feed.forget_db()
    assert feed.feed_one(2, SET) == select(2) + SET


def test_signs_need_no_database() -> None:
    feed = Feed()
    assert feed.ping() == b"*1\r\n$4\r\nPING\r\n"
    assert feed.getack() == b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"
    assert feed.feed_one(0, SET) == select(0) + SET
