"""Idempotency ids of streams: noted, found, forgotten by number and by time."""

from __future__ import annotations

from pyrepl.config.settings import Settings
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.idmp import (
    LOOKS,
    IdmpCycle,
    count_duplicate,
    forget_due,
    limits_of_new,
    recall,
    remember,
    set_limits,
)
from pyrepl.rdb.values import IdmpState, StreamValue


def stream_in(db: Database, key: bytes = b"s", idmp: IdmpState | None = None) -> StreamValue:
    stream = StreamValue(idmp=idmp)
    db.put(key, stream)
    return stream


def test_noted_and_found() -> None:
    db = Keyspace(1).databases[0]
    stream = stream_in(db)
    assert recall(stream, b"p", b"i") is None and db.idmp_streams == set()
    remember(db, b"s", stream, b"p", b"i", (5, 0))
    assert db.idmp_streams == {b"s"}
    assert recall(stream, b"p", b"i") == (5, 0)
    assert recall(stream, b"p", b"j") is recall(stream, b"q", b"i") is None
    count_duplicate(db, b"s", stream)
    assert stream.idmp == IdmpState(100, 100, {b"p": {b"i": (5, 0)}}, 1, 1)


def test_the_oldest_of_a_producer_goes() -> None:
    db = Keyspace(1).databases[0]
    stream = stream_in(db, idmp=IdmpState(100, 2))
    for number in range(5):
        remember(db, b"s", stream, b"p", b"%d" % number, (number + 1, 0))
    remember(db, b"s", stream, b"q", b"0", (6, 0))
    assert stream.idmp == IdmpState(100, 2, {b"p": {b"3": (4, 0), b"4": (5, 0)}, b"q": {b"0": (6, 0)}}, 6, 0)


def test_an_id_that_is_noted_again_is_the_newest() -> None:
    db = Keyspace(1).databases[0]
    stream = stream_in(db)
    for iid, at in ((b"i", 1), (b"j", 2), (b"i", 3)):
        remember(db, b"s", stream, b"p", iid, (at, 0))
    assert stream.idmp is not None
    assert list(stream.idmp.producers[b"p"].items()) == [(b"j", (2, 0)), (b"i", (3, 0))]


def test_other_limits_forget_everything_and_the_same_nothing() -> None:
    db = Keyspace(1).databases[0]
    stream = stream_in(db)
    assert not set_limits(db, b"s", stream, 100, None)
    assert stream.idmp is None and db.idmp_streams == set()
    remember(db, b"s", stream, b"p", b"i", (5, 0))
    assert not set_limits(db, b"s", stream, 100, 100)
    assert recall(stream, b"p", b"i") == (5, 0)
    assert set_limits(db, b"s", stream, None, 7)
    assert stream.idmp == IdmpState(100, 7, {}, 1, 0)
    assert set_limits(db, b"s", stream, 9, None)
    assert stream.idmp == IdmpState(9, 7, {}, 1, 0)


def test_due_ids_go_up_to_the_first_that_stays() -> None:
    """Redis looks at the oldest only, too."""
    known = {b"a": (1000, 0), b"b": (3000, 5), b"c": (9000, 0), b"d": (1, 0)}
    idmp = IdmpState(2, 100, {b"p": known, b"q": {b"a": (1, 0)}})
    forget_due(idmp, b"p", 4999)
    assert list(idmp.producers[b"p"]) == [b"b", b"c", b"d"]
    forget_due(idmp, b"p", 5000)
    assert list(idmp.producers[b"p"]) == [b"c", b"d"]
    forget_due(idmp, b"q", 5000)
    forget_due(idmp, b"gone", 5000)
    assert list(idmp.producers) == [b"p"]


def test_the_cycle_looks_at_all_streams_in_slices() -> None:
    keyspace = Keyspace(2)
    for db in keyspace.databases:
        for number in range(3):
            producers = {b"%d" % name: {b"i": (1000 + 4000 * (name % 2), 0)} for name in range(LOOKS // 2)}
            stream_in(db, b"s%d" % number, IdmpState(1, 1, producers))
    one = keyspace.databases[1]
    one.idmp_streams.update((b"gone", b"text"))
    one.put(b"text", b"x")
    cycle = IdmpCycle(keyspace)
    assert not cycle.run(2000)
    cycle.begin()
    slices = 1
    while cycle.run(2000):
        slices += 1
        cycle.begin()
    assert slices == 4
    for db in keyspace.databases:
        assert db.idmp_streams == {b"s0", b"s1", b"s2"}
        for number in range(3):
            stream = db.store.values[b"s%d" % number]
            assert isinstance(stream, StreamValue) and stream.idmp is not None
            assert all(int(name) % 2 for name in stream.idmp.producers) and len(stream.idmp.producers) == LOOKS // 4


def test_the_directives_say_what_a_new_stream_has() -> None:
    assert IdmpState.of_new(limits_of_new(Settings())) is None
    assert IdmpState.of_new(limits_of_new(Settings(stream_idmp_duration=5))) == IdmpState(5, 100)


def test_a_stream_is_noted_wherever_it_comes_from() -> None:
    keyspace = Keyspace(2)
    one, two = keyspace.databases
    stream_in(one, b"s", IdmpState(5))
    one.replace(b"t", StreamValue(idmp=IdmpState(5)))
    assert one.idmp_streams == {b"s", b"t"}
    keyspace.swap(0, 1)
    assert one.idmp_streams == set() and two.idmp_streams == {b"s", b"t"}
    two.delete(b"s")
    assert two.idmp_streams == {b"t"}
    two.clear()
    assert two.idmp_streams == set()
