"""What only the compiled walk promises: nothing is touched. That it writes what the plain one writes: test_walk.py."""

from __future__ import annotations

import sys
from collections import deque

from pyrepl.keyspace.borrowed_walk import COMPILED
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.keyspace.walk import walk
from pyrepl.rdb.compiled import bulk, checks, gather, lzf, sink
from pyrepl.rdb.writer import RdbWriter


def test_no_reference_is_left_behind() -> None:
    text = b"some text that is shared by all"
    values: list[Value] = [
        text,
        HashValue({text: text}),
        ListValue(deque([text])),
        SetValue({text}),
        ZsetValue({text: 1.5}),
    ]
    db = Keyspace(1).databases[0]
    db.store.values.update({b"k%d" % number: value for number, value in enumerate(values)})
    before = [sys.getrefcount(part) for part in (text, *values, *db.store.values)]
    writer = RdbWriter()
    walking = walk(db, writer, 1 << 20, 100)
    assert text in walking.block()
    assert walking.block() == b""
    del walking
    assert [sys.getrefcount(part) for part in (text, *values, *db.store.values)] == before


def test_all_kernels_are_compiled_or_none() -> None:
    names = {
        module.__name__: not (module.__file__ or "").endswith(".py") for module in (bulk, checks, gather, lzf, sink)
    }
    assert set(names.values()) == {COMPILED}
