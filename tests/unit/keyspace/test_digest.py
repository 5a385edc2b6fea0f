"""DEBUG DIGEST's rule, with digests from Redis 8.2. Against real servers: tests/property/test_differential_keys.py."""

from __future__ import annotations

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.digest import KeyspaceDigest, key_digest, keyspace_digest, old_score_text, score_text
from pyrepl.keyspace.values import ZsetValue, from_plain
from pyrepl.rdb.vectors import Q8, VectorNode, VectorSetValue

DIGESTS_OF_REDIS_82 = {
    1e17: "865dfe692ba47395ddd673188be31a88f4f3a760",
    123456789012345680.0: "f4d4bf7900c17873090f4a03609670b27254dbd9",
    12300000000.0: "a17bda08033dac1ad7e1f685223f01d289b27e5b",
    1e-5: "8b5b5767575e97d0514a2a0ad85227c12bfc4427",
    float("inf"): "693af63fc2885cc02fbc107a856fc4b9687305ed",
}


def test_an_empty_keyspace_is_all_zeros() -> None:
    assert keyspace_digest(Keyspace(16)) == "0" * 40
    assert key_digest(Keyspace(1).databases[0], b"nosuch") == "0" * 40


@pytest.mark.parametrize("score", DIGESTS_OF_REDIS_82)
def test_digests_of_a_sorted_set_with_one_member(score: float) -> None:
    db = Keyspace(1).databases[0]
    db.put(b"z", ZsetValue({b"a": score}))
    assert key_digest(db, b"z") == DIGESTS_OF_REDIS_82[score]


@pytest.mark.parametrize(
    ("score", "new", "old"),
    [
        (3.0, b"3", b"3"),
        (-0.5, b"-0.5", b"-0.5"),
        (0.1, b"0.1", b"0.10000000000000001"),
        (1e7, b"10000000", b"10000000"),
        (-1e8, b"-1e+8", b"-100000000"),
        (1e16, b"1e+16", b"10000000000000000"),
        (1.5e300, b"1.5e+300", b"1.5000000000000001e+300"),
        (float("-inf"), b"-inf", b"-inf"),
    ],
)
def test_score_texts(score: float, new: bytes, old: bytes) -> None:
    assert score_text(score) == new
    assert old_score_text(score) == old


def test_slices_give_the_same_digest() -> None:
    keyspace = Keyspace(3)
    for db in (keyspace.databases[0], keyspace.databases[2]):
        for i in range(50):
            db.put(b"k%d" % i, b"v%d" % i)
        db.expire_at(b"k7", 10)
    running = KeyspaceDigest(keyspace)
    steps = 0
    while not running.done:
        running.step(7)
        steps += 1
    assert running.hex == keyspace_digest(keyspace)
    assert steps == 15


def test_the_number_of_the_database_and_a_time_to_live_count_but_not_its_value() -> None:
    digests = []
    for index, at_ms in ((0, None), (1, None), (0, 10), (0, 11)):
        keyspace = Keyspace(2)
        keyspace.databases[index].put(b"k", b"v")
        keyspace.databases[index].expire_at(b"k", at_ms)
        digests.append(keyspace_digest(keyspace))
    assert digests[2] == digests[3]
    assert len(set(digests)) == 3


def test_a_vector_set() -> None:
    """What Redis 8.6 prints for two elements, one of them with attributes; links and lengths do not count."""
    value = VectorSetValue(3, Q8)
    value.add(VectorNode(b"a", 2, b"\x7fU*", 1.0, 1.0, [[3]], b'{"x":1}'))
    value.add(VectorNode(b"b", 3, b"*U\x7f", 2.0, 1.0, [[2]]))
    db = Keyspace(1).databases[0]
    db.put(b"k", from_plain(value))
    assert key_digest(db, b"k") == "8ca898ab668ac83590830dc1baf1122642bc519f"
