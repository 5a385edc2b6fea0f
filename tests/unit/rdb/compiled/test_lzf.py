"""LZF as C against the pure form; where it is not compiled, what stands for it."""

from __future__ import annotations

import random

import pytest

from pyrepl.rdb import lzf
from pyrepl.rdb.compiled import lzf as kernel
from pyrepl.rdb.cursor import Malformed


def _texts() -> list[bytes]:
    dice = random.Random(1)
    sizes = (5, 20, 33, 263, 264, 265, 300, 8191, 8193, 20_000)
    return [bytes(dice.choices(range(letters), k=size)) for size in sizes for letters in (1, 2, 4, 200)]


@pytest.mark.parametrize("text", _texts(), ids=len)
def test_what_it_compresses_both_forms_expand(text: bytes) -> None:
    packed = lzf.compress(text)
    if packed is not None:
        assert len(packed) <= len(text) - 4
        assert lzf.decompress(packed, len(text)) == lzf.decompress_pure(packed, len(text)) == text
    else:
        assert len(text) < 40 or len(set(text)) > 2
    pure = lzf.compress_pure(text, 2 * len(text))
    assert pure is not None
    assert lzf.decompress(pure, len(text)) == text


def test_one_string_after_another_shares_no_matches() -> None:
    first, second = b"abcdefgh" * 20, b"abcdefgh" + bytes(range(100, 200))
    assert lzf.compress(first) is not None
    assert lzf.compress(second) is None


@pytest.mark.parametrize(
    "packed", [b"\x20\x00", b"\x05abc", b"\x00a\xe0", b"\xe0\x01", b"\x00a\x20", b"\x00a\x20\x05", b"\x01ab"]
)
def test_what_is_wrong_is_refused_in_the_same_words(packed: bytes) -> None:
    with pytest.raises(Malformed) as plain:
        lzf.decompress_pure(packed, 100)
    with pytest.raises(Malformed) as either:
        lzf.decompress(packed, 100)
    assert not kernel.COMPILED or str(either.value) == str(plain.value)
