"""Sizes and checksums of a text."""

from __future__ import annotations

from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES, TextSums, first_difference, sums_of


def test_the_size_is_what_was_fed() -> None:
    counted = TextSums()
    for piece in (b"abc", b"", b"d"):
        counted.feed(piece)
    assert (counted.size, counted.sums) == (4, sums_of(b"abcd"))


def test_the_sum_is_crc32c() -> None:
    assert sums_of(b"123456789") == (0xE3069283,)
    assert sums_of(b"") == ()


def test_each_block_has_its_own() -> None:
    text = b"x" * BLOCK_BYTES + b"y" * BLOCK_BYTES + b"123456789"
    first, second, third = sums_of(text)
    assert (first, second, third) == (*sums_of(b"x" * BLOCK_BYTES), *sums_of(b"y" * BLOCK_BYTES), 0xE3069283)
    assert len(sums_of(b"x" * BLOCK_BYTES)) == 1


def test_where_two_texts_part() -> None:
    assert first_difference((1, 2, 3), (1, 2, 3)) is None
    assert first_difference((1, 2, 3), (1, 5, 6)) == BLOCK_BYTES
    assert first_difference((1, 2), (1, 2, 3)) == first_difference((1, 2, 3), (1, 2)) == 2 * BLOCK_BYTES
    assert first_difference((), (1,)) == 0
