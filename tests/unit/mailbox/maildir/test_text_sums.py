"""Sizes and checksums of a text."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir.filename import Sizes
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES, TextSums, first_difference, sums_of


@pytest.mark.parametrize(
    ("text", "wire_size"),
    [(b"", 0), (b"a", 1), (b"a\n", 3), (b"a\r\n", 3), (b"\n\n\r\n\r\r\n", 9), (b"\r", 1)],
)
def test_sizes(text: bytes, wire_size: int) -> None:
    for pieces in ([text], [text[at : at + 1] for at in range(len(text))]):
        counted = TextSums()
        for piece in pieces:
            counted.feed(piece)
        assert counted.sizes == Sizes(len(text), wire_size)


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
