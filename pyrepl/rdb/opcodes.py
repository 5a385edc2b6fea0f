"""The bytes that stand where a value's type could: one row each, with the versions that know it.

243 is Valkey's slot import and, in Redis from version 13 on, metadata that modules keep of a key: look opcodes up by
version, never by the byte alone. What each does is in reader.py.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.rdb.versions import KEY_META_SINCE, LAST_REDIS_VERSION, LAST_VERSION, VALKEY_VERSION

SLOT_IMPORT: Final = 0xF3
KEY_META: Final = 0xF3
SLOT_INFO: Final = 0xF4
FUNCTION2: Final = 0xF5
FUNCTION_PRE_GA: Final = 0xF6
MODULE_AUX: Final = 0xF7
IDLE: Final = 0xF8
FREQ: Final = 0xF9
AUX: Final = 0xFA
RESIZEDB: Final = 0xFB
EXPIRETIME_MS: Final = 0xFC
EXPIRETIME: Final = 0xFD
SELECTDB: Final = 0xFE
EOF: Final = 0xFF


class Opcode(NamedTuple):
    """A byte, Redis's name for it, and the first and the last version that have it."""

    number: int
    name: str
    since: int
    until: int = LAST_VERSION


OPCODES: Final[tuple[Opcode, ...]] = (
    Opcode(SLOT_IMPORT, "SLOT_IMPORT", VALKEY_VERSION),
    Opcode(KEY_META, "KEY_META", KEY_META_SINCE, LAST_REDIS_VERSION),
    Opcode(SLOT_INFO, "SLOT_INFO", 12),
    Opcode(FUNCTION2, "FUNCTION2", 10),
    Opcode(FUNCTION_PRE_GA, "FUNCTION_PRE_GA", 10),
    Opcode(MODULE_AUX, "MODULE_AUX", 9),
    Opcode(IDLE, "IDLE", 9),
    Opcode(FREQ, "FREQ", 9),
    Opcode(AUX, "AUX", 7),
    Opcode(RESIZEDB, "RESIZEDB", 7),
    Opcode(EXPIRETIME_MS, "EXPIRETIME_MS", 3),
    Opcode(EXPIRETIME, "EXPIRETIME", 1),
    Opcode(SELECTDB, "SELECTDB", 1),
    Opcode(EOF, "EOF", 1),
)


def opcodes_of(version: int) -> dict[int, str]:
    """Opcode -> name, for a file of this version."""
    return {row.number: row.name for row in OPCODES if row.since <= version <= row.until}
