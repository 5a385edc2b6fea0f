"""CRC-64 as Redis ends its snapshots and DUMP payloads with it (Jones, reflected, initial value 0)."""

from __future__ import annotations

from typing import Final

from anycrc import Model

CHECKSUM_BYTES: Final = 8

_MODEL: Final = Model("CRC64-REDIS")


def crc64(data: bytes | memoryview, start: int = 0) -> int:
    """The checksum of `data` put behind bytes whose checksum is `start`."""
    value: int = _MODEL.calc(data, start)
    return value
