"""zipmap, from bytes built by hand."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.zipmap import decode_zipmap
from tests.unit.rdb.old_encodings import zipmap


def test_the_example_of_the_format() -> None:
    # "foo" => "bar", "hello" => "world", as Redis's zipmap.c draws it.
    assert decode_zipmap(b"\x02\x03foo\x03\x00bar\x05hello\x05\x00world\xff") == [b"foo", b"bar", b"hello", b"world"]


@pytest.mark.parametrize("unused", [0, 1, 4])
@pytest.mark.parametrize("size", [0, 1, 253, 254, 1000])
def test_lengths_and_free_space(size: int, unused: int) -> None:
    pairs = [(b"f" * size, b"v" * (size + 1)), (b"g", b"")]
    assert decode_zipmap(zipmap(pairs, unused)) == [part for pair in pairs for part in pair]


def test_empty_and_too_many_to_count() -> None:
    assert decode_zipmap(zipmap([])) == []
    pairs = [(b"%d" % i, b"x") for i in range(300)]
    assert decode_zipmap(zipmap(pairs)) == [part for pair in pairs for part in pair]


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (b"", "terminator"),
        (b"\xff", "terminator"),
        (b"\x00\x00", "terminator"),
        (b"\x02\x01f\x01\x00v\xff", "1 pairs declares 2"),
        (b"\x01\x05f\x01\x00v\xff", "no length|past the end"),
        (b"\x01\x01f\x05\x00v\xff", "past the end"),
        (b"\x01\x01f\x01\x09v\xff", "past the end"),
        (b"\x01\xfe\x01\x00\xff", "no length"),
        (b"\x01\xff\x01\x00\xff", "no length"),
        (b"\x01\x01f\xff", "no length"),
        (b"\x01\x01f\x00\xff", "past the end"),
    ],
)
def test_refused(packed: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_zipmap(packed)
