"""The encoding that OBJECT ENCODING names: of a packed value the one of what it stands for, and it stays packed."""

from __future__ import annotations

import pytest

from pyrepl.config.settings import Settings
from pyrepl.keyspace.encoding import EMBSTR_MAX_BYTES, encoding
from pyrepl.keyspace.packed import PackedHash, PackedIntset, PackedList, PackedSet, PackedZset
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.vectors import Q8, VectorSetValue

PAIR = encode_listpack([b"a", b"1"])


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (b"12", "int"),
        (b"x" * EMBSTR_MAX_BYTES, "embstr"),
        (b"x" * (EMBSTR_MAX_BYTES + 1), "raw"),
        (PackedList(PAIR), "listpack"),
        (PackedSet(PAIR), "listpack"),
        (PackedIntset(encode_intset([1])), "intset"),
        (PackedHash(PAIR), "listpack"),
        (PackedZset(PAIR), "listpack"),
        (ListValue(), "listpack"),
        (SetValue({b"x" * 65}), "hashtable"),
        (HashValue({b"a": b"1"}, {b"a": 5}), "listpackex"),
        (ZsetValue({b"x" * 65: 1.0}), "skiplist"),
        (StreamValue(), "stream"),
        (VectorSetValue(3, Q8), "raw"),
    ],
)
def test_encodings(value: Value, word: str) -> None:
    assert encoding(value, Settings()) == word
