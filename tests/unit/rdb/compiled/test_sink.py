"""Strings, lengths and elements as the walk puts them, against the plain encoders."""

from __future__ import annotations

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.values import HashValue
from pyrepl.keyspace.walk import walk
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.writer import RdbWriter

EDGES = [number + off for number in (0, 128, 1 << 12, 1 << 15, 1 << 23, 1 << 31, 1 << 63) for off in (-1, 0, 1)]
TEXTS = [b"%d" % number for edge in EDGES for number in (edge, -edge)] + [
    b"",
    b"-",
    b"-0",
    b"007",
    b"1.0",
    b"12a",
    b"9" * 25,
]
SIZES = [0, 1, 10, 11, 20, 21, 63, 64, 16383, 16384, 70_000]


def _block(value: bytes | HashValue) -> bytes:
    db = Keyspace(1).databases[0]
    db.store.values[b"k"] = value
    return walk(db, RdbWriter(), 1 << 20, 10).block()


@pytest.mark.parametrize(
    "text", [*TEXTS, *(b"x" * size for size in SIZES)], ids=lambda text: f"{text[:22]!r}{len(text)}"
)
def test_a_string(text: bytes) -> None:
    assert _block(text) == b"\x00\x01k" + encode_string(text)


@pytest.mark.parametrize("text", [*TEXTS, *(b"x" * size for size in SIZES if size < 65)], ids=repr)
def test_an_element(text: bytes) -> None:
    packed = encode_listpack([b"f", text])
    assert _block(HashValue({b"f": text})) == bytes((HASH_LISTPACK,)) + b"\x01k" + encode_string(packed)
