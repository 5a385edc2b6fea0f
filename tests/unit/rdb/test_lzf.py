"""LZF: the native module and the pure code understand each other, and bad data is refused by both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.rdb import lzf
from pyrepl.rdb.cursor import Malformed

PLAIN = [
    b"a" * 5,
    b"a" * 264,
    b"a" * 10_000,
    b"ab" * 100,
    b"abcdefgh" * 3000,
    bytes((i * i) % 251 for i in range(20_000)),
    b"".join(b"key:%06d;" % i for i in range(2000)),
    bytes(9000) + bytes(range(256)) + bytes(9000),
]


@pytest.mark.parametrize("plain", PLAIN)
def test_both_decompressors_undo_both_compressors(plain: bytes) -> None:
    pure = lzf.compress_pure(plain, len(plain))
    assert pure is not None
    for packed in (pure, lzf.compress(plain)):
        if packed is not None:
            assert lzf.decompress(packed, len(plain)) == plain
            assert lzf.decompress_pure(packed, len(plain)) == plain


def test_nothing_is_compressed_that_does_not_shrink_by_four_bytes() -> None:
    assert lzf.compress(b"abcd") is None
    assert lzf.compress(bytes(range(256))) is None
    assert lzf.compress_pure(bytes(range(256)), 252) is None
    packed = lzf.compress(b"a" * 100)
    assert packed is not None
    assert len(packed) <= 96


@pytest.mark.parametrize("decompress", [lzf.decompress, lzf.decompress_pure])
@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"\x01ab", 3),
        (b"\x01ab", 1),
        (b"\x02ab", 3),
        (b"\x00a\x20", 4),
        (b"\x00a\xe0", 4),
        (b"\x00a\xe0\x00", 10),
        (b"\x00a\x20\x01", 4),
        (b"\x20\x00", 3),
        (b"", 1),
        (b"\x00a", 10_000),
    ],
)
def test_refused(decompress: Callable[[bytes, int], bytes], data: bytes, size: int) -> None:
    with pytest.raises(Malformed, match="LZF"):
        decompress(data, size)


def test_no_input_expands_more_than_the_bound() -> None:
    data = b"\x00a" + b"\xe0\xff\x00" * 1000
    assert len(lzf.decompress(data, 1 + 264 * 1000)) <= len(data) * lzf.MAX_RATIO
