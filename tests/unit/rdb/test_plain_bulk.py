"""Runs of strings and packed collections in plain Python: what is taken, where a run ends, and as the compiled form."""

from __future__ import annotations

import struct
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.rdb import opcodes
from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.events import Noted
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.plain_bulk import PlainBulk, decode_packed
from pyrepl.rdb.strings import encode_compressed, encode_string
from pyrepl.rdb.taker import DictTaker
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK
from pyrepl.rdb.types.zset import ZSET_LISTPACK
from pyrepl.rdb.versions import numbered


class Kept(bytes):
    """What collections are kept in here."""

    __slots__ = ()


KINDS: Final = (HASH_LISTPACK, LIST_QUICKLIST2, SET_INTSET, SET_LISTPACK, ZSET_LISTPACK)
CLASSES: Final[dict[int, type[bytes]]] = dict.fromkeys(KINDS, Kept)
PAIR: Final = encode_listpack([b"f", b"v"])
HASH: Final = bytes((HASH_LISTPACK,)) + b"\x01k" + encode_string(PAIR)
LIST: Final = bytes((LIST_QUICKLIST2,)) + b"\x01k\x01\x02" + encode_string(PAIR)

MS: Final = b"\xfc" + struct.pack("<q", 1234)
RUN: Final = (
    b"\x00\x01a\x01b",
    MS + b"\x00\x01e\x02ee",
    b"\x00\x40\x46" + b"k" * 70 + b"\x40\x64" + b"v" * 100,
    MS + HASH,
    b"\xf9\x07" + MS + b"\x00\x01f\xc0\x05",
    b"\xf8\x41\x02\x00\x01i" + encode_compressed(b"ab" * 50),
    b"\xf8\x05\x00\x01j\x00",
    b"\xf8\x80\x00\x01\x00\x00" + HASH.replace(b"\x01k", b"\x01l"),
)
"""Keys with all that may stand before them."""


class Taken:
    """What one run over `data` took, and how far it came."""

    def __init__(self, data: bytes, also: tuple[bytes, ...] = (), version: int = 11) -> None:
        self.values: dict[bytes, bytes] = {}
        self.expires: dict[bytes, int] = {}
        self.idles: dict[bytes, int] = {}
        self.freqs: dict[bytes, int] = {}
        cursor = Cursor(1 << 20, 1 << 20)
        cursor.load(data)
        plain = PlainBulk(CLASSES, opcodes.opcodes_of(numbered(version)))
        count = plain.run(cursor, DictTaker(self.values), also, Noted(self.expires, self.idles, self.freqs))
        assert count == len(self.values)
        assert cursor.pos == cursor.mark
        self.size = cursor.pos


def test_a_run_takes_keys_with_what_stands_before_them() -> None:
    taken = Taken(b"".join(RUN))
    assert taken.size == sum(map(len, RUN))
    assert taken.values == {
        b"a": b"b", b"e": b"ee", b"k" * 70: b"v" * 100, b"k": PAIR, b"f": b"5", b"i": b"ab" * 50, b"j": b"", b"l": PAIR
    }  # fmt: skip
    assert type(taken.values[b"k"]) is Kept
    assert taken.expires == {b"e": 1234, b"k": 1234, b"f": 1234}
    assert taken.idles == {b"i": 258, b"j": 5, b"l": 65536}
    assert taken.freqs == {b"f": 7}


def test_a_run_ends_before_the_key_that_is_cut() -> None:
    data = b"".join(RUN)
    ends = [sum(map(len, RUN[:count])) for count in range(len(RUN) + 1)]
    for size in range(len(data) + 1):
        taken = Taken(data[:size])
        assert taken.size == max(end for end in ends if end <= size)
        assert len(taken.values) == ends.index(taken.size)
        assert not {*taken.expires, *taken.idles, *taken.freqs} - taken.values.keys()


@pytest.mark.parametrize(
    "then",
    [
        RUN[0],  # a key that is there already
        b"\x00\x04also\x01v",
        MS + HASH.replace(b"\x01k", b"\x04also"),
        b"\xfe\x01",  # another database
        b"\xfd\x01\x00\x00\x00\x00\x01s\x01v",  # an expiry in seconds
        MS + b"\x01\x01l\x01\x01i",  # a list element by element
        b"\x00\x01c\xc3\x03\x40\xffabc",  # a compressed string that lies
    ],
)
def test_a_run_ends_before_what_the_reader_is_to_decode(then: bytes) -> None:
    taken = Taken(RUN[0] + then + b"\x00\x01z\x01z", also=(b"also",))
    assert taken.size == len(RUN[0])
    assert taken.values == {b"a": b"b"}
    assert not taken.expires and not taken.freqs


def test_attributes_are_those_of_the_version() -> None:
    assert Taken(MS + RUN[0], version=3).values == {b"a": b"b"}
    assert Taken(MS + RUN[0], version=2).values == {}
    assert Taken(b"\xf9\x07" + RUN[0], version=8).values == {}


def decoded(data: bytes, classes: dict[int, type[bytes]] = CLASSES) -> tuple[bytes, bytes] | None:
    cursor = Cursor(1 << 20, 1 << 20)
    cursor.load(data)
    found = decode_packed(cursor, classes)
    assert found is None or (type(found[1]) is Kept and cursor.pos == len(data))
    return found


def test_what_is_sound_is_kept_as_it_is() -> None:
    assert decoded(HASH) == decoded(LIST) == (b"k", PAIR)
    long = encode_listpack([b"f", b"v" * 60, b"g", b"v" * 60])
    assert decoded(HASH[:3] + encode_compressed(long)) == (b"k", long)


def test_what_the_reader_is_to_decode() -> None:
    assert decoded(HASH, {}) is None
    assert decoded(HASH[:3] + encode_string(encode_listpack([b"f"]))) is None
    assert decoded(LIST.replace(b"k\x01\x02", b"k\x02\x02")) is None
    assert decoded(LIST.replace(b"k\x01\x02", b"k\x01\x01")) is None


@pytest.mark.parametrize("data", [HASH, LIST])
def test_a_cut_anywhere_is_told(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(ShortInput):
            decoded(data[:size])


def test_a_compressed_value_that_lies_is_refused() -> None:
    with pytest.raises(Malformed, match="LZF"):
        decoded(HASH[:3] + b"\xc3\x03\x40\xffabc")


TEXTS: Final = st.one_of(
    st.binary(max_size=5),
    st.integers(-9, 9).map(lambda number: b"%d" % number),
    st.sampled_from([b"-0", b"inf", b"-inf", b"nan", b"1.5", b"1_0", b"1e5", b" 1", b"9" * 20, b"x" * 64, b"x" * 4096]),
)


@st.composite
def packed(draw: st.DrawFn) -> bytes:
    """An intset or a listpack with some bytes changed."""
    elements = draw(st.lists(TEXTS, max_size=8))
    if draw(st.booleans()):
        elements = [text % at for at in range(draw(st.integers(0, 5))) for text in (b"m%d", b"%d")]
    data = bytearray(encode_listpack(elements))
    if draw(st.booleans()):
        data = bytearray(encode_intset(draw(st.lists(st.integers(-(2**33), 2**33), max_size=5, unique=True))))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


@given(st.sampled_from(KINDS), packed())
def test_both_forms_keep_the_same(kind: int, value: bytes) -> None:
    data = bytes((kind,)) + b"\x01k" + b"\x01\x02" * (kind == LIST_QUICKLIST2) + encode_string(value)
    kept = decoded(data)
    assert kept is None or kept == (b"k", value)
    if bulk.COMPILED:
        table: dict[bytes, bytes] = {}
        bulk.Bulk(CLASSES, 1 << 20, True, True).run(data, 0, table, {}, Noted({}, {}, {}))
        assert table == ({} if kept is None else {b"k": value})


PIECES: Final = st.lists(st.one_of(st.sampled_from([*RUN, b"\xfe\x01"]), st.binary(max_size=3)), max_size=6)


@given(PIECES)
def test_both_forms_take_the_same_runs(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    plain = Taken(data)
    if bulk.COMPILED:
        table: dict[bytes, bytes] = {}
        noted = Noted({}, {}, {})
        compiled = bulk.Bulk(CLASSES, 1 << 20, True, True)
        compiled.run(data, 0, table, {}, noted)
        assert list(table.items()) == list(plain.values.items())
        assert noted == Noted(plain.expires, plain.idles, plain.freqs)
        assert compiled.position == plain.size
