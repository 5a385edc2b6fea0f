"""Opcodes by version: a byte means something only where its version is known."""

from __future__ import annotations

from pyrepl.rdb.opcodes import FREQ, KEY_META, OPCODES, SLOT_IMPORT, SLOT_INFO, opcodes_of
from pyrepl.rdb.types.table import types_of
from pyrepl.rdb.versions import WRITABLE_VERSIONS


def test_by_version() -> None:
    assert set(opcodes_of(1)) == {0xFD, 0xFE, 0xFF}
    assert FREQ not in opcodes_of(8)
    assert FREQ in opcodes_of(9)
    assert SLOT_INFO not in opcodes_of(10)
    assert opcodes_of(12)[SLOT_INFO] == "SLOT_INFO"
    assert SLOT_IMPORT not in opcodes_of(12)
    assert SLOT_IMPORT in opcodes_of(80)
    assert opcodes_of(13)[KEY_META] == opcodes_of(79)[KEY_META] == "KEY_META"
    assert opcodes_of(80)[KEY_META] == opcodes_of(81)[KEY_META] == "SLOT_IMPORT"


def test_numbers_are_unique_and_never_a_value_type() -> None:
    for version in WRITABLE_VERSIONS:
        numbers = [row.number for row in OPCODES if row.since <= version <= row.until]
        assert len(set(numbers)) == len(numbers)
        assert not set(opcodes_of(version)) & set(types_of(version))
