"""What a vector set does as a whole; its numbers, rows and links have their own tests."""

from __future__ import annotations

import sys
from random import Random

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import vector_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.vector_filter import compile_filter
from pyrepl.keyspace.vector_numbers import floats_of_doubles
from pyrepl.keyspace.vector_verbs import Shape
from pyrepl.rdb.vectors import BIN, Q8, VectorSetValue, why_links_unsound

KEY = b"k"
PLAIN = Shape(Q8, 16, 0)


@pytest.fixture
def db() -> Database:
    return Keyspace(1).databases[0]


def put(db: Database, name: bytes, *numbers: float, attributes: bytes | None = None, shape: Shape = PLAIN) -> bool:
    return vector_verbs.add(db, KEY, name, floats_of_doubles(list(numbers)), shape, attributes, 200)


def kept(db: Database) -> VectorSetValue:
    value = vector_verbs.read(db, KEY)
    assert value is not None
    return value


def test_adding_counts_changes_and_gives_ids(db: Database) -> None:
    assert put(db, b"a", 1, 2) and put(db, b"b", 2, 1)
    assert not put(db, b"a", 5, 5)
    assert db.keyspace.dirty == 3
    assert {name: node.id for name, node in kept(db).nodes.items()} == {b"b": 2, b"a": 3}
    assert why_links_unsound(kept(db)) is None
    assert vector_verbs.numbers_of(kept(db), kept(db).nodes[b"a"]) == pytest.approx([5, 5])


def test_attributes_stay_unless_others_are_given(db: Database) -> None:
    put(db, b"a", 1, attributes=b"{}")
    put(db, b"a", 2)
    assert kept(db).nodes[b"a"].attributes == b"{}"
    put(db, b"a", 2, attributes=b"")
    assert kept(db).nodes[b"a"].attributes is None
    # As in Redis, a new element keeps an empty text.
    put(db, b"b", 2, attributes=b"")
    assert kept(db).nodes[b"b"].attributes == b""
    assert vector_verbs.set_attributes(db, KEY, b"b", b"x") and kept(db).attributes_count == 1
    assert vector_verbs.set_attributes(db, KEY, b"b", b"") and kept(db).attributes_count == 0
    assert not vector_verbs.set_attributes(db, KEY, b"nosuch", b"x")


@pytest.mark.parametrize(
    ("shape", "numbers", "error"),
    [
        (Shape(BIN, 16, 0), (1, 2), "ERR asked quantization mismatch with existing vector set"),
        (Shape(Q8, 5, 0), (1, 2), "ERR asked M value mismatch with existing vector set"),
        (PLAIN, (1, 2, 3), "ERR Vector dimension mismatch - got 3 but set has 2"),
        (Shape(Q8, 16, 2), (1, 2), "ERR cannot add projection to existing set without projection"),
    ],
)
def test_another_shape_is_refused(db: Database, shape: Shape, numbers: tuple[float, ...], error: str) -> None:
    put(db, b"a", 1, 2)
    with pytest.raises(CommandError) as raised:
        put(db, b"b", *numbers, shape=shape)
    assert str(raised.value) == error
    assert db.keyspace.dirty == 1 and len(kept(db)) == 1


def test_a_set_that_makes_vectors_shorter(db: Database) -> None:
    shape = Shape(Q8, 16, 2)
    put(db, b"a", 1, 2, 3, shape=shape)
    assert kept(db).dim == 2
    query = floats_of_doubles([1, 2, 3])
    assert len(vector_verbs.query_of(kept(db), query)) == 2
    assert len(vector_verbs.query_of(kept(db), query[:2])) == 2
    with pytest.raises(CommandError, match="got 1 but projection expects 3"):
        vector_verbs.query_of(kept(db), query[:1])
    with pytest.raises(CommandError, match="got 4 but projection expects 3"):
        put(db, b"b", 1, 2, 3, 4, shape=shape)


def test_the_matrix_of_a_projection_is_bounded(db: Database) -> None:
    with pytest.raises(CommandError, match="REDUCE of 65536 dimensions to 257 needs too large a matrix"):
        vector_verbs.add(db, KEY, b"a", floats_of_doubles([1.0] * 65536), Shape(Q8, 16, 257), None, 200)
    assert not db.holds(KEY)


def test_the_key_goes_with_the_last_element(db: Database) -> None:
    put(db, b"a", 1)
    assert not vector_verbs.remove(db, KEY, b"nosuch")
    assert vector_verbs.remove(db, KEY, b"a")
    assert not db.holds(KEY) and not vector_verbs.remove(db, KEY, b"a")


def test_searching(db: Database) -> None:
    for number in range(10):
        put(db, b"e%d" % number, 10, number, attributes=b'{"n":%d}' % number)
    value = kept(db)
    query = vector_verbs.query_of_element(value, b"e3")
    assert vector_verbs.nearest(value, query, 3)[0].node.name == b"e3"
    even = compile_filter(b".n % 2 == 0")
    found = vector_verbs.nearest_kept(value, query, 3, even, None)
    assert {near.node.name for near in found} == {b"e2", b"e4", b"e6"}
    assert len(vector_verbs.nearest_kept(value, query, 10, even, 4)) == 2
    with pytest.raises(CommandError, match="element not found in set"):
        vector_verbs.query_of_element(value, b"nosuch")


def test_random_elements(db: Database) -> None:
    for number in range(10):
        put(db, b"e%d" % number, 1, number)
    below = Random(1).randrange
    assert len(set(vector_verbs.sample(kept(db), 4, below))) == 4
    assert sorted(vector_verbs.sample(kept(db), 40, below)) == sorted(kept(db).nodes)
    assert len(vector_verbs.pick_several(kept(db), 40, below)) == 40


def test_without_numpy_what_computes_is_refused(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    put(db, b"a", 1)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(CommandError, match=r"pip install 'pyrepl-server\[vectors\]'"):
        put(db, b"b", 1)
    with pytest.raises(CommandError, match="numpy"):
        vector_verbs.remove(db, KEY, b"a")
    assert vector_verbs.element(db, KEY, b"a") is not None
    assert vector_verbs.set_attributes(db, KEY, b"a", b"{}")
