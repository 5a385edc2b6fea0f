"""KEYS, the order of SCAN, DEBUG DIGEST in steps: the replies as at once, whatever happens between the steps."""

from __future__ import annotations

from pyrepl.commands.engine.slices import FEW_KEYS, DigestJob, ElementsJob, Job, KeysJob, OrderJob, is_order_far
from pyrepl.errors import CommandError
from pyrepl.glob import Glob
from pyrepl.keyspace import borrowed_walk
from pyrepl.keyspace.collection_scan import ElementScan
from pyrepl.keyspace.database import Database, Keyspace
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


def _all_scanned(db: Database) -> list[bytes]:
    found: list[bytes] = []
    cursor = 0
    while True:
        cursor, keys = db.scan(cursor, 100)
        found += keys
        if not cursor:
            return found


def test_an_order_is_that_of_a_scan_at_once() -> None:
    db, same = _keyspace().databases
    steps, answer = _finish(OrderJob(db, lambda: len(_all_scanned(db))))
    assert (steps > 2) == borrowed_walk.COMPILED and answer == KEYS
    assert _all_scanned(db) == _all_scanned(same)


def test_an_order_holds_what_was_there_all_the_time() -> None:
    db = _keyspace().databases[0]
    job = OrderJob(db, lambda: 0)
    job.step()
    for number in range(0, KEYS, 2):
        db.delete(b"%d" % number)
    for number in range(10 * KEYS):
        db.put(b"new%d" % number, b"")
    _finish(job)
    found = _all_scanned(db)
    staying = [b"%d" % number for number in range(1, KEYS, 2)]
    assert [key for key in reversed(found) if key in set(staying)] == staying
    assert db.store.values.keys() <= set(found)


def test_a_key_that_comes_back_meanwhile_is_scanned() -> None:
    db = _keyspace().databases[0]
    job = OrderJob(db, lambda: 0)
    job.step()
    db.delete(b"1")
    db.put(b"1", b"again")
    _finish(job)
    assert b"1" in _all_scanned(db)
    db.put(b"later", b"")
    assert b"later" in _all_scanned(db)


def test_an_order_of_a_database_that_is_flushed_or_has_one_by_now() -> None:
    db = _keyspace().databases[0]
    job, second = OrderJob(db, lambda: b"done"), OrderJob(db, lambda: b"done")
    job.step()
    db.clear()
    db.put(b"a", b"")
    assert _finish(job)[1] == b"done"
    order = db.store.order
    assert order is not None and _all_scanned(db) == [b"a"]
    _finish(second)
    assert db.store.order is order


def test_whether_an_order_is_to_be_made_first() -> None:
    db = Keyspace(1).databases[0]
    assert not is_order_far(db)
    db.store.values.update({b"%d" % number: b"" for number in range(FEW_KEYS + 1)})
    assert is_order_far(db)
    db.scan(0, 1)
    assert not is_order_far(db)


def test_elements_in_the_order_of_a_scan() -> None:
    keyspace = Keyspace(1)
    scan = ElementScan(keyspace.databases[0], b"key", {b"%d" % number for number in range(4 * KEYS)})
    assert scan.is_far(0, 10)
    answers: list[tuple[int, list[bytes]]] = []

    def answer() -> int:
        assert not scan.is_far(0, 10)
        answers.append(scan.window(0, 10))
        return 7

    steps, reply = _finish(ElementsJob(keyspace.scans, scan.order_making(), answer))
    assert steps > 4 and reply == 7
    assert len(answers) == 1 and not scan.is_far(answers[0][0], 10)
    assert scan.is_far(0, 10), "the order is no longer offered"


def test_an_error_is_its_reply() -> None:
    def refuse() -> int:
        raise CommandError("WRONGTYPE it became something else")

    keyspace = Keyspace(1)
    scan = ElementScan(keyspace.databases[0], b"key", {b"a"})
    error = _finish(ElementsJob(keyspace.scans, scan.order_making(), refuse))[1]
    assert isinstance(error, CommandError) and str(error).startswith("WRONGTYPE")
    assert keyspace.scans.window(0, b"key", {b"b"}, 0, 10) == (0, [b"b"])
