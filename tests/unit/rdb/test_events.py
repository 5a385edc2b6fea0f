"""Every event that is declared is one that some snapshot causes."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pyrepl.rdb.events import RdbEvent, SkippedEmpty, SlotImport
from pyrepl.rdb.reader import RdbReader
from tests.unit.rdb.old_encodings import key, snapshot

DATA = Path(__file__).parents[2] / "data"


def test_every_kind_occurs() -> None:
    seen: set[type] = set()
    for path in DATA.glob("*.rdb"):
        seen.update(type(event) for event in RdbReader().feed(path.read_bytes()))
    # No server here writes these two.
    assert set(get_args(RdbEvent)) - seen == {SlotImport, SkippedEmpty}
    data = snapshot(80, b"\xf3\x01j\x01\x05\x06" + key(2, b"k", b"\x00"), b"VALKEY080")
    seen.update(type(event) for event in RdbReader().feed(data))
    assert set(get_args(RdbEvent)) == seen
