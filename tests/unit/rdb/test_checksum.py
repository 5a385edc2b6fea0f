"""CRC-64: Redis's test value, and in pieces."""

from __future__ import annotations

from pyrepl.rdb.checksum import crc64


def test_the_value_of_redis_own_test() -> None:
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


def test_in_pieces() -> None:
    data = bytes(range(256)) * 10
    assert crc64(memoryview(data)[100:], crc64(data[:100])) == crc64(data)
    assert crc64(b"") == 0
    assert crc64(b"", 5) == 5
