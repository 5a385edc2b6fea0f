"""Opcodes by version: a byte means something only where its version is known."""

from __future__ import annotations

from pyrepl.rdb.opcodes import FREQ, KEY_META, OPCODES, SLOT_IMPORT, SLOT_INFO, opcodes_of
from pyrepl.rdb.types.table import types_of
from pyrepl.rdb.versions import WRITABLE_VERSIONS, numbered


def test_by_version() -> None:
    assert set(opcodes_of(numbered(1))) == {0xFD, 0xFE, 0xFF}
    assert FREQ.number not in opcodes_of(numbered(8))
    assert FREQ.number in opcodes_of(numbered(9))
    assert SLOT_INFO.number not in opcodes_of(numbered(10))
    assert opcodes_of(numbered(12))[SLOT_INFO.number] is SLOT_INFO
    assert SLOT_IMPORT.number not in opcodes_of(numbered(12))
    assert SLOT_IMPORT.number in opcodes_of(numbered(80))


def test_243_is_told_by_the_vendor() -> None:
    assert SLOT_IMPORT.number == KEY_META.number == 243
    assert opcodes_of(numbered(13))[243] is opcodes_of(numbered(79))[243] is KEY_META
    assert opcodes_of(numbered(80))[243] is opcodes_of(numbered(81))[243] is SLOT_IMPORT


def test_numbers_are_unique_and_never_a_value_type() -> None:
    for version in WRITABLE_VERSIONS:
        numbers = [row.number for row in OPCODES if version in row.versions]
        assert len(set(numbers)) == len(numbers)
        assert not set(opcodes_of(version)) & set(types_of(version))
