"""KEYS and DEBUG DIGEST in steps: the same replies as at once, whatever happens between the steps."""

from __future__ import annotations

from pyrepl.commands.slices import DigestJob, Job, KeysJob
from pyrepl.glob import Glob
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.resp.reply import Reply, Simple

KEYS = 2500


def _keyspace() -> Keyspace:
    keyspace = Keyspace(2)
    for db in keyspace.databases:
        for number in range(KEYS):
            db.put(b"%d" % number, b"value")
    return keyspace


def _finish(job: Job) -> tuple[int, Reply]:
    steps = 1
    while not job.step():
        steps += 1
        assert steps < 1000
    return steps, job.reply()


def test_keys_that_match() -> None:
    steps, found = _finish(KeysJob(_keyspace().databases[0], Glob(b"1?").matches))
    assert steps > 1
    assert found == [b"%d" % number for number in range(10, 20)]


def test_keys_that_have_expired_are_left_out() -> None:
    keyspace = _keyspace()
    db = keyspace.databases[0]
    keyspace.now_ms = 10
    db.expire_at(b"11", 5)
    db.expire_at(b"12", 50)
    assert _finish(KeysJob(db, Glob(b"1[12]").matches))[1] == [b"12"]


def test_keys_stay_unique_and_complete_while_others_come_and_go() -> None:
    db = _keyspace().databases[0]
    job = KeysJob(db, Glob(b"*").matches)
    job.step()
    for number in range(0, KEYS, 2):
        db.delete(b"%d" % number)
    for number in range(10 * KEYS):
        db.put(b"new%d" % number, b"")
    found = _finish(job)[1]
    assert isinstance(found, list)
    assert len(found) == len(set(found))
    assert {b"%d" % number for number in range(1, KEYS, 2)} <= set(found)


def test_a_flush_ends_it() -> None:
    db = _keyspace().databases[0]
    job = KeysJob(db, Glob(b"*").matches)
    db.clear()
    assert _finish(job) == (1, [])


def test_a_digest() -> None:
    keyspace = _keyspace()
    steps, digest = _finish(DigestJob(keyspace))
    assert steps > KEYS // 100
    assert digest == Simple(keyspace_digest(keyspace).encode())
