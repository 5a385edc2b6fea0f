"""Snapshots of one collection, for the tests of what keeps collections packed."""

from __future__ import annotations

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.loader import Loader
from pyrepl.keyspace.values import Value
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.versions import numbered
from pyrepl.rdb.writer import RdbWriter


def keys(kind: int, *values: bytes, name: bytes = b"k", before: bytes = b"") -> bytes:
    """Keys `k0`, `k1`, ... of RDB type `kind`; each value is its bytes, `before` goes before each key."""
    return b"".join(
        before + bytes((kind,)) + encode_string(name + b"%d" % at) + value for at, value in enumerate(values)
    )


def whole(body: bytes, version: int = 11) -> bytes:
    """A snapshot of the keys in `body`."""
    writer = RdbWriter(numbered(version), checksum=False)
    return b"".join((writer.begin(), writer.select_db(0, 1, 0), body, writer.end()))


def snapshot(kind: int, *values: bytes, version: int = 11) -> bytes:
    """A snapshot of such `keys`."""
    return whole(keys(kind, *values), version)


def load(data: bytes, *, step: int = 1 << 20) -> Keyspace:
    """What a snapshot holds, fed in pieces of `step` bytes. Raises CorruptData."""
    keyspace = Keyspace(1)
    loader = Loader(RdbLimits(), keyspace)
    for at in range(0, len(data), step):
        loader.feed(data[at : at + step])
    loader.end()
    assert loader.loaded_keys == keyspace.key_count
    return keyspace


def value_of(data: bytes) -> Value | None:
    """The value of `k0`."""
    return load(data).databases[0].find(b"k0")
