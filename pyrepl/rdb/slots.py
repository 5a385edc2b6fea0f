"""What a snapshot tells of a cluster's hash slots that are moving in."""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.events import SlotImport
from pyrepl.rdb.length import decode_count, decode_length
from pyrepl.rdb.strings import decode_string

_SLOTS: Final = 16384
"""Hash slots of a cluster."""


def decode_slot_import(cursor: Cursor) -> SlotImport:
    """The job and its ranges of slots. Raises ShortInput, Malformed for more ranges than there are slots."""
    job = decode_string(cursor)
    count = decode_count(cursor)
    if count > _SLOTS:
        raise Malformed(f"Slot import of {count} ranges, there are only {_SLOTS} slots")
    ranges: list[tuple[int, int]] = []
    for _ in range(count):
        first = decode_length(cursor)
        ranges.append((first, decode_length(cursor)))
    return SlotImport(job, tuple(ranges))
