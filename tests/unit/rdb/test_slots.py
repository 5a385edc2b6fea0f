"""Slots that are moving in, as a snapshot tells of them."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import encode_length
from pyrepl.rdb.slots import decode_slot_import


def _cursor(data: bytes) -> Cursor:
    cursor = Cursor(1 << 20, 1 << 20)
    cursor.load(data)
    return cursor


def test_a_job_with_its_ranges() -> None:
    told = decode_slot_import(_cursor(b"\x03job\x02\x00\x05\x07\x08"))
    assert told == (b"job", ((0, 5), (7, 8)))


def test_more_ranges_than_slots_are_refused() -> None:
    with pytest.raises(Malformed, match="16385 ranges"):
        decode_slot_import(_cursor(b"\x03job" + encode_length(16385)))
