"""Opcodes: bytes that stand where a value's type could stand. One row each, with the versions that have it.

A byte alone does not name an opcode: 243 is Valkey's slot import and, in Redis from version 13 on, metadata that
modules keep of a key. So code finds the rows by version (`opcodes_of`) and compares rows. reader.py acts on them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.rdb.versions import Version, VersionSet, both, redis_only, valkey_only


class Opcode(NamedTuple):
    """A byte, Redis's name for it, and the versions that have it."""

    number: int
    name: str
    versions: VersionSet


SLOT_IMPORT: Final = Opcode(0xF3, "SLOT_IMPORT", valkey_only(80))
KEY_META: Final = Opcode(0xF3, "KEY_META", redis_only(13))
SLOT_INFO: Final = Opcode(0xF4, "SLOT_INFO", both(12))
FUNCTION2: Final = Opcode(0xF5, "FUNCTION2", both(10))
FUNCTION_PRE_GA: Final = Opcode(0xF6, "FUNCTION_PRE_GA", both(10))
MODULE_AUX: Final = Opcode(0xF7, "MODULE_AUX", both(9))
IDLE: Final = Opcode(0xF8, "IDLE", both(9))
FREQ: Final = Opcode(0xF9, "FREQ", both(9))
AUX: Final = Opcode(0xFA, "AUX", both(7))
RESIZEDB: Final = Opcode(0xFB, "RESIZEDB", both(7))
EXPIRETIME_MS: Final = Opcode(0xFC, "EXPIRETIME_MS", both(3))
EXPIRETIME: Final = Opcode(0xFD, "EXPIRETIME", both(1))
SELECTDB: Final = Opcode(0xFE, "SELECTDB", both(1))
EOF: Final = Opcode(0xFF, "EOF", both(1))

OPCODES: Final[tuple[Opcode, ...]] = (
    SLOT_IMPORT,
    KEY_META,
    SLOT_INFO,
    FUNCTION2,
    FUNCTION_PRE_GA,
    MODULE_AUX,
    IDLE,
    FREQ,
    AUX,
    RESIZEDB,
    EXPIRETIME_MS,
    EXPIRETIME,
    SELECTDB,
    EOF,
)


def opcodes_of(version: Version) -> dict[int, Opcode]:
    """Byte -> opcode, for a file of this version."""
    return {row.number: row for row in OPCODES if version in row.versions}
