"""Runs of keys: wherever the input is cut, whatever stands between them, as the reader alone would have it."""

from __future__ import annotations

import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.packed import CLASSES, PackedHash
from pyrepl.rdb.events import LoadedKeys
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.reader import RdbLimits, RdbReader
from pyrepl.rdb.strings import encode_compressed, encode_string
from pyrepl.rdb.taker import DictTaker
from tests.unit.rdb.compiled.collections_in_rdb import keys, load, snapshot, whole

TEXTS = [b"", b"5", b"-129", b"70000", b"x" * 63, b"x" * 64, b"y" * 16383, b"z" * 16384, bytes(range(256))]
HASH = encode_string(encode_listpack([b"f", b"v", b"g", b"12"]))
COMPRESSED = [encode_compressed(b"ab" * size) for size in (5, 50, 5000)]
MIXED = whole(
    b"".join(
        (
            keys(0, *map(encode_string, TEXTS)),
            keys(0, *COMPRESSED, name=b"expiring", before=b"\xfc" + struct.pack("<q", 7)),
            keys(0, encode_string(b"value"), name=b"seldom", before=b"\xf9\x05"),
            b"\xfe\x00",
            keys(16, HASH, name=b"hash"),
        )
    )
)


@pytest.mark.parametrize("step", [1, 7, 100, 1 << 20])
def test_any_cut_gives_the_same(step: int) -> None:
    once, cut = load(MIXED), load(MIXED, step=step)
    assert keyspace_digest(cut) == keyspace_digest(once)
    assert cut.databases[0].store.expires == once.databases[0].store.expires
    assert len(once.databases[0].store.expires) == 3
    assert once.key_count == len(TEXTS) + 5


def test_strings_go_into_the_dictionary_that_is_named() -> None:
    mine: dict[bytes, bytes] = {}
    events = RdbReader(RdbLimits(), CLASSES, lambda db: DictTaker(mine)).feed(snapshot(0, *map(encode_string, TEXTS)))
    [loaded] = [event for event in events if isinstance(event, LoadedKeys)]
    assert list(mine.values()) == TEXTS
    assert (loaded.strings, loaded.others, loaded.total) == ({}, [], len(TEXTS))


def test_collections_stay_packed_only_where_classes_are_named() -> None:
    data = snapshot(16, HASH)
    [plain] = [event for event in RdbReader().feed(data) if isinstance(event, LoadedKeys)]
    assert plain.others == [(b"k0", {b"f": b"v", b"g": b"12"})]
    [loaded] = [event for event in RdbReader(RdbLimits(), CLASSES).feed(data) if isinstance(event, LoadedKeys)]
    assert [type(value) for value in loaded.strings.values()] == [PackedHash]
    assert loaded.total == 1


def test_a_type_that_the_version_has_not_is_refused() -> None:
    with pytest.raises(CorruptData, match="Unknown value type or opcode 16"):
        load(snapshot(16, HASH, version=9))


def test_a_key_that_is_there_is_a_duplicate() -> None:
    once = snapshot(0, encode_string(b"v"))
    twice = once[:-9] + b"\x00\x02k0\x01w" + once[-9:]
    with pytest.raises(CorruptData, match="duplicated key b'k0' in DB 0"):
        load(twice)
    # Values of one byte, and empty ones, are the same objects in all of CPython.
    for value in (b"", b"v"):
        with pytest.raises(CorruptData, match="duplicated key b'k0' in DB 0"):
            load(whole(keys(0, encode_string(value)) * 2))
    also = snapshot(4, b"\x01\x01f\x01v")
    with pytest.raises(CorruptData, match="duplicated key b'k0' in DB 0"):
        load(also[:-9] + b"\x00\x02k0\x01w" + also[-9:])


def test_a_string_above_the_limit_is_refused() -> None:
    reader = RdbReader(RdbLimits(max_string_bytes=20_000))
    with pytest.raises(CorruptData, match="a string of 20001 bytes, the limit is 20000"):
        reader.feed(snapshot(0, encode_string(b"x" * 20_001)))


def test_a_compressed_string_that_lies_is_refused() -> None:
    with pytest.raises(CorruptData, match="LZF"):
        load(snapshot(0, b"\xc3\x03\x40\xff\x01ab"))
