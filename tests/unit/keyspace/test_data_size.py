"""The tally of data: exact for noted writes, scaled for the rest, put right by the audit."""

from __future__ import annotations

from pyrepl.keyspace.data_size import DataSize
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.value_size import SAMPLES, key_bytes


def exact(keyspace: Keyspace) -> int:
    return sum(key_bytes(key, value, SAMPLES) for db in keyspace.databases for key, value in db.store.values.items())


def write(data: DataSize, db: Database, key: bytes, value: bytes | None) -> None:
    """A write as the dispatcher notes it."""
    size, count = data.of_keys(db, [key])
    if value is None:
        db.delete(key)
    else:
        db.put(key, value)
    new_size, new_count = data.of_keys(db, [key])
    data.note(new_size - size, new_count - count)


def test_noted_writes_are_exact() -> None:
    keyspace = Keyspace(2)
    data = DataSize(keyspace)
    assert data.total_bytes == 0
    for i in range(100):
        write(data, keyspace.databases[i % 2], b"%d" % i, b"x" * i * i)
        assert data.total_bytes == exact(keyspace)
    for i in range(0, 100, 3):
        write(data, keyspace.databases[i % 2], b"%d" % i, b"y" * i)
        assert data.total_bytes == exact(keyspace)
    for i in range(100):
        write(data, keyspace.databases[i % 2], b"%d" % i, None)
        assert data.total_bytes == exact(keyspace)


def test_keys_that_go_unnoted_take_their_share() -> None:
    keyspace = Keyspace(1)
    data = DataSize(keyspace)
    db = keyspace.databases[0]
    for i in range(100):
        write(data, db, b"%02d" % i, b"x" * 50)
    for i in range(40):
        db.delete(b"%02d" % i)
    assert data.total_bytes == exact(keyspace)
    db.clear()
    assert data.total_bytes == 0


def test_data_that_was_there_before_is_estimated_and_then_audited() -> None:
    keyspace = Keyspace(3)
    for i in range(1000):
        keyspace.databases[i % 2].put(b"%04d" % i, b"x" * (i // 2))
    data = DataSize(keyspace)
    true = exact(keyspace)
    assert true / 4 < data.total_bytes < true * 4
    rounds = 0
    while not data.audit(64):
        rounds += 1
        assert rounds < 100
    assert rounds >= 1000 // 64
    assert data.total_bytes == true


def test_the_audit_keeps_half_of_what_grew_meanwhile() -> None:
    """Growth of keys that the round may have passed already is not lost."""
    keyspace = Keyspace(1)
    data = DataSize(keyspace)
    db = keyspace.databases[0]
    for i in range(100):
        write(data, db, b"%02d" % i, b"x" * 50)
    data.audit(50)
    write(data, db, b"99", b"x" * 100_050)
    while not data.audit(10):
        pass
    assert abs(data.total_bytes - exact(keyspace)) <= 51_000
    while not data.audit(10):
        pass
    assert data.total_bytes == exact(keyspace)


def test_an_audit_of_nothing_ends() -> None:
    keyspace = Keyspace(16)
    data = DataSize(keyspace)
    assert data.audit(1)
    assert data.total_bytes == 0


def test_restart_forgets() -> None:
    keyspace = Keyspace(1)
    data = DataSize(keyspace)
    data.note(10_000, 10)
    data.restart()
    assert data.total_bytes == 0
