"""The cursor: "not yet" against "never", and how much must come before another try."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput


def test_reads_and_commits() -> None:
    cursor = Cursor(100, 100)
    cursor.load(b"\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff\xff\xff\xff\xffabc")
    assert cursor.byte() == 1
    assert cursor.u32_be() == 2
    assert cursor.u64_be() == 3
    assert cursor.i64_le() == -1
    cursor.commit()
    assert cursor.take(2) == b"ab"
    cursor.load(b"abcd")
    assert (cursor.base, cursor.pos, cursor.mark, cursor.end) == (21, 0, 0, 4)
    assert cursor.take(4) == b"abcd"


def test_short_input_says_how_much_is_needed() -> None:
    cursor = Cursor(100, 100)
    cursor.load(b"abc")
    assert cursor.take(2) == b"ab"
    with pytest.raises(ShortInput):
        cursor.take(10)
    assert cursor.need == 12
    cursor.take(1)
    with pytest.raises(ShortInput):
        cursor.byte()
    assert cursor.need == 4


def test_a_length_past_the_known_end_is_refused_at_once() -> None:
    cursor = Cursor(100, 100, input_end=10)
    cursor.load(b"abc")
    assert cursor.take(1) == b"a"
    with pytest.raises(Malformed, match="10 bytes declared, but only 9 are left"):
        cursor.take(10)
    with pytest.raises(ShortInput):
        cursor.take(9)
    cursor.commit()
    cursor.load(b"bc")
    with pytest.raises(Malformed, match="but only 9 are left"):
        cursor.take(10)


def test_counts() -> None:
    cursor = Cursor(100, 50, input_end=40)
    cursor.load(b"abc")
    assert cursor.why_not_count(40) is None
    assert cursor.why_not_count(41) == "41 elements declared, but only 40 bytes are left"
    assert cursor.why_not_count(51) == "51 elements declared, the limit is 50"
