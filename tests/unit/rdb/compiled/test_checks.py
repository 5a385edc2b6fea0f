"""Packed collections that come: kept or decoded at once, they are the same, and what is not sound is refused."""

from __future__ import annotations

import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.keyspace.packed import Packed
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_entry, encode_listpack, join_entries
from pyrepl.rdb.strings import encode_string
from tests.unit.rdb.compiled.collections_in_rdb import load, snapshot, value_of

HASH, ZSET, SET, INTSET, LIST = 16, 17, 20, 11, 18
NUMBERS = [0, 1, 127, 128, -1, -128, 4095, 4096, -4096, -4097, 32767, -32769, 1 << 23, -(1 << 23) - 1, 1 << 31, 1 << 62]
TEXTS = [b"", b"a", b"-", b"-0", b"01", b"x" * 63, b"x" * 64, b"y" * 127, b"y" * 4095, b"z" * 4096, b"9" * 20]
ELEMENTS = [*TEXTS, *(b"%d" % number for number in NUMBERS)]


def test_a_hash() -> None:
    value = value_of(snapshot(HASH, encode_string(encode_listpack([*ELEMENTS, *([b"v"] * (len(ELEMENTS) % 2))]))))
    assert isinstance(value, HashValue)
    assert list(value.fields) == ELEMENTS[::2]


def test_a_set() -> None:
    value = value_of(snapshot(SET, encode_string(encode_listpack(ELEMENTS))))
    assert isinstance(value, SetValue)
    assert value.members == set(ELEMENTS)


def test_a_list_of_one_node_and_one_of_two() -> None:
    node = b"\x02" + encode_string(encode_listpack(ELEMENTS))
    for count in (1, 2):
        value = value_of(snapshot(LIST, bytes((count,)) + node * count))
        assert isinstance(value, ListValue)
        assert list(value.items) == ELEMENTS * count


def test_an_intset() -> None:
    for numbers in ([5], [-3, 1, 300], [1 << 20, -(1 << 31)], [1 << 40, 0, -(1 << 60)]):
        value = value_of(snapshot(INTSET, encode_string(encode_intset(numbers))))
        assert isinstance(value, SetValue)
        assert value.members == {b"%d" % number for number in numbers}


def _zset(*pairs: bytes) -> bytes:
    return snapshot(ZSET, encode_string(encode_listpack(list(pairs))))


@pytest.mark.parametrize(
    "pairs",
    [
        (b"a", b"1"),
        (b"a", b"-inf", b"b", b"-1.5", b"c", b"-0", b"d", b"0", b"e", b"1e+20", b"f", b"inf"),
        (b"10", b"5", b"9", b"5", b"a", b"5"),
        (b"a", b"2", b"b", b"1"),
        (b"b", b"1", b"a", b"1"),
        (b"a", b" 1"),
        (b"a", b"1_0"),
    ],
)
def test_a_sorted_set(pairs: tuple[bytes, ...]) -> None:
    value = value_of(_zset(*pairs))
    assert isinstance(value, ZsetValue)
    assert value.scores == {pairs[at]: float(pairs[at + 1]) for at in range(0, len(pairs), 2)}


def _broken() -> dict[str, bytes]:
    good = encode_listpack([b"a", b"1", b"b", b"2"])
    back = bytearray(encode_listpack([b"a", b"b"]))
    back[8] = 7
    wide = bytes((0xF1, 5, 0, 3))
    return {
        "duplicate fields": snapshot(HASH, encode_string(encode_listpack([b"f", b"1", b"f", b"2"]))),
        "a duplicate written another way": snapshot(
            SET, encode_string(join_entries([encode_entry(b"5"), wide, encode_entry(b"c")]))
        ),
        "a duplicate that is text": snapshot(SET, encode_string(join_entries([encode_entry(b"5"), b"\x815\x02"]))),
        "duplicate members": _zset(b"m", b"1", b"m", b"2"),
        "an odd count": snapshot(HASH, encode_string(encode_listpack([b"f"]))),
        "no number": _zset(b"m", b"one"),
        "nan": _zset(b"m", b"nan"),
        "a wrong size": snapshot(HASH, encode_string(struct.pack("<I", 5) + good[4:])),
        "a wrong count": snapshot(HASH, encode_string(good[:4] + b"\x02\x00" + good[6:])),
        "no end": snapshot(HASH, encode_string(good[:-1] + b"\x00")),
        "a wrong back length": snapshot(LIST, b"\x01\x02" + encode_string(bytes(back))),
        "an element past the end": snapshot(LIST, b"\x01\x02" + encode_string(join_entries([b"\xe5\xff"]))),
        "a cut length": snapshot(LIST, b"\x01\x02" + encode_string(join_entries([b"\xf0\x01"]))),
        "an unknown element": snapshot(LIST, b"\x01\x02" + encode_string(join_entries([b"\xf8\x01"]))),
        "an unordered intset": snapshot(INTSET, encode_string(struct.pack("<IIhh", 2, 2, 5, 4))),
        "a long intset": snapshot(INTSET, encode_string(struct.pack("<IIh", 2, 2, 5))),
        "a strange intset": snapshot(INTSET, encode_string(struct.pack("<IIh", 3, 1, 5))),
    }


@pytest.mark.parametrize("name", _broken())
def test_what_is_not_sound_is_refused(name: str) -> None:
    with pytest.raises(CorruptData, match="key b'k0'"):
        value_of(_broken()[name])


def test_one_of_many_elements() -> None:
    fields = [b"field:%d" % number for number in range(3000)]
    value = value_of(snapshot(HASH, encode_string(encode_listpack(fields))))
    assert isinstance(value, HashValue)
    assert len(value.fields) == 1500


@pytest.mark.parametrize("kind", [HASH, ZSET, SET, LIST])
def test_what_does_not_say_how_many_elements_it_has_is_not_kept_as_it_is(kind: int) -> None:
    """Then the heads of what is kept tell the truth, and may be computed with."""
    for elements in ([b"a", b"1", b"b", b"2"], [b"%d" % (at % 100) for at in range(65535)]):
        packed = encode_listpack(elements if kind == LIST else elements[:4])
        unknown = packed[:4] + b"\xff\xff" + packed[6:]
        before = b"\x01\x02" if kind == LIST else b""
        found = {
            data: load(snapshot(kind, before + encode_string(data))).databases[0].store.values[b"k0"]
            for data in (packed, unknown)
        }
        assert not isinstance(found[unknown], Packed)
        assert isinstance(found[packed], Packed) == (packed != unknown)
        assert value_of(snapshot(kind, before + encode_string(unknown))) is not None
