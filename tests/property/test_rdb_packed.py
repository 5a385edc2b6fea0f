"""The packed encodings and LZF: there and back, and whatever bytes come, Malformed or a value."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.rdb import lzf
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.packed.intset import decode_intset, encode_intset
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack
from pyrepl.rdb.packed.ziplist import decode_ziplist
from pyrepl.rdb.packed.zipmap import decode_zipmap
from pyrepl.rdb.strings import decode_string, encode_compressed, encode_string, skip_string
from tests.unit.rdb.old_encodings import ziplist, zipmap

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)

texts = st.one_of(
    st.binary(max_size=70),
    st.integers(-(1 << 65), 1 << 65).map(lambda number: b"%d" % number),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=5), st.integers(1, 6000)),
)


@given(elements=st.lists(texts, max_size=50))
def test_listpack(elements: list[bytes]) -> None:
    assert decode_listpack(encode_listpack(elements)) == elements


@given(elements=st.lists(st.one_of(texts, INT64), max_size=50))
def test_ziplist(elements: list[bytes | int]) -> None:
    expected = [element if isinstance(element, bytes) else b"%d" % element for element in elements]
    assert decode_ziplist(ziplist(elements)) == expected


@given(pairs=st.lists(st.tuples(texts, texts), max_size=30), unused=st.integers(0, 4))
def test_zipmap(pairs: list[tuple[bytes, bytes]], unused: int) -> None:
    assert decode_zipmap(zipmap(pairs, unused)) == [part for pair in pairs for part in pair]


@given(numbers=st.sets(INT64, max_size=50))
def test_intset(numbers: set[int]) -> None:
    assert decode_intset(encode_intset(list(numbers))) == [b"%d" % number for number in sorted(numbers)]


@given(text=texts)
def test_strings(text: bytes) -> None:
    for data in (encode_string(text), encode_compressed(text)):
        cursor = Cursor(1 << 20, 100)
        cursor.load(data + b"rest")
        assert decode_string(cursor) == text
        assert cursor.pos == len(data)


@given(text=texts.filter(bool))
def test_lzf_both_ways(text: bytes) -> None:
    pure = lzf.compress_pure(text, 2 * len(text))
    assert pure is not None
    for packed in (pure, lzf.compress(text)):
        if packed is not None:
            assert lzf.decompress(packed, len(text)) == text
            assert lzf.decompress_pure(packed, len(text)) == text


@settings(max_examples=300)
@given(data=st.binary(max_size=60), size=st.integers(0, 2000))
def test_lzf_of_any_bytes(data: bytes, size: int) -> None:
    """Where the native module and the pure code both make something of the data, it is the same."""
    try:
        pure = lzf.decompress_pure(data, size)
    except Malformed:
        return
    assert len(pure) == size
    try:
        assert lzf.decompress(data, size) == pure
    except Malformed:
        # Nothing is no LZF string, in Redis as here.
        assert size == 0


@settings(max_examples=200)
@pytest.mark.parametrize(
    ("decode", "good"),
    [
        (decode_listpack, encode_listpack([b"hello", b"42", b"x" * 300, b"-70000", b""])),
        (decode_ziplist, ziplist([b"hello", 42, b"x" * 300, -70000, b""])),
        (decode_zipmap, zipmap([(b"f", b"v"), (b"g" * 300, b"")], 1)),
        (decode_intset, encode_intset([1, 2, 70000])),
    ],
)
@given(data=st.data())
def test_mutations(decode: Callable[[bytes], list[bytes]], good: bytes, data: st.DataObject) -> None:
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(good) - 1))
        changed[at : at + 1] = data.draw(st.binary(max_size=2))
    try:
        elements = decode(bytes(changed))
    except Malformed:
        return
    assert all(isinstance(element, bytes) for element in elements)


@settings(max_examples=300)
@given(data=st.binary(max_size=40))
def test_strings_of_any_bytes(data: bytes) -> None:
    """Reading and stepping over agree on where a string ends."""
    reading, skipping = Cursor(1 << 20, 100), Cursor(1 << 20, 100)
    reading.load(data)
    skipping.load(data)
    try:
        decode_string(reading)
    except (Malformed, ShortInput):
        return
    skip_string(skipping)
    assert skipping.pos == reading.pos
