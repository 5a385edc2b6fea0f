"""Keys whose collections are kept packed, in plain Python."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.plain_bulk import decode_packed
from pyrepl.rdb.strings import encode_compressed, encode_string
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK
from pyrepl.rdb.types.zset import ZSET_LISTPACK


class Kept(bytes):
    """What collections are kept in here."""

    __slots__ = ()


KINDS: Final = (HASH_LISTPACK, LIST_QUICKLIST2, SET_INTSET, SET_LISTPACK, ZSET_LISTPACK)
CLASSES: Final[dict[int, type[bytes]]] = dict.fromkeys(KINDS, Kept)
PAIR: Final = encode_listpack([b"f", b"v"])
HASH: Final = bytes((HASH_LISTPACK,)) + b"\x01k" + encode_string(PAIR)
LIST: Final = bytes((LIST_QUICKLIST2,)) + b"\x01k\x01\x02" + encode_string(PAIR)


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
        bulk.Bulk(CLASSES, 1 << 20, True).run(data, 0, table, {}, {})
        assert table == ({} if kept is None else {b"k": value})
