"""Sizes and checksums of a text."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.codec import LINE_LIMIT, encode
from pyrepl.mailbox.maildir import text_sums
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES, MOST_SUMMED_BYTES, TextSums, first_difference, sums_of
from pyrepl.mailbox.verbs import Save
from pyrepl.mailbox.words import Box


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


def test_a_text_that_is_too_large_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_sums, "MOST_SUMMED_BYTES", 2 * BLOCK_BYTES)
    counted = TextSums()
    counted.feed(b"x" * 2 * BLOCK_BYTES)
    found = [len(counted.sums)]
    for _ in range(3):
        counted.feed(b"y" * BLOCK_BYTES)
        found.append(len(counted.sums))
    assert found == [2, 0, 0, 0] and counted.size == 5 * BLOCK_BYTES


def test_the_sums_of_the_largest_text_fit_into_a_line() -> None:
    sums = (2**32 - 1,) * (MOST_SUMMED_BYTES // BLOCK_BYTES)
    save = Save(user="alice", box=Box("INBOX"), guid="G" * 200, size=MOST_SUMMED_BYTES, received=1, sum=sums)
    assert len(encode(save, "1", MOST_SUMMED_BYTES)) < LINE_LIMIT * 3 // 4


def test_where_two_texts_part() -> None:
    assert first_difference((1, 2, 3), (1, 2, 3)) is None
    assert first_difference((1, 2, 3), (1, 5, 6)) == BLOCK_BYTES
    assert first_difference((1, 2), (1, 2, 3)) == first_difference((1, 2, 3), (1, 2)) == 2 * BLOCK_BYTES
    assert first_difference((), (1,)) == 0
