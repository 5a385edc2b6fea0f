"""Versions and magics: what is read, what is refused and in which words."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.versions import (
    VERSIONS,
    WRITABLE_VERSIONS,
    Vendor,
    Version,
    both,
    decode_magic,
    encode_magic,
    is_readable,
    lowest_version,
    newest,
    numbered,
    redis_only,
    valkey_only,
    version_name,
)

FIELDS, IDS = both(12), redis_only(13)
BEYOND = newest(Vendor.REDIS).number + 1
"""The first of Redis's versions that is not known."""


@pytest.mark.parametrize("version", WRITABLE_VERSIONS)
def test_magic_there_and_back(version: Version) -> None:
    magic = encode_magic(version)
    assert len(magic) == 9
    assert decode_magic(magic) == version
    assert is_readable(version)
    assert numbered(version.number) == version


def test_magics_spelled_out() -> None:
    assert encode_magic(numbered(10)) == b"REDIS0010"
    assert encode_magic(numbered(80)) == b"VALKEY080"


def test_the_lines_are_whole() -> None:
    assert {newest(vendor) for vendor in Vendor} <= set(WRITABLE_VERSIONS)
    assert len({row.version for row in VERSIONS}) == len(VERSIONS)
    assert [row.version.number for row in VERSIONS] == sorted(row.version.number for row in VERSIONS)
    assert all(row.writers and row.brought for row in VERSIONS)


@pytest.mark.parametrize(
    ("magic", "message"),
    [
        (b"REDIS0000", "Can't handle RDB format version 0"),
        (b"REDIS%04d" % BEYOND, f"Can't handle RDB format version {BEYOND}"),
        (b"REDIS0080", "Can't handle RDB format version 80"),
        (b"VALKEY081", "Can't handle RDB format version 81"),
        (b"VALKEY011", "Can't handle RDB format version 11"),
        (b"REDIS00x1", "names no version"),
        (b"REDIS-001", "names no version"),
        (b"RADIS0011", "Wrong signature trying to load DB from file"),
        (b"+FULLRESY", "expected REDIS or VALKEY"),
    ],
)
def test_refused(magic: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_magic(magic)


def test_relaxed_takes_what_is_newer_of_its_own_line() -> None:
    assert decode_magic(b"REDIS%04d" % BEYOND, relaxed=True) == Version(Vendor.REDIS, BEYOND)
    assert decode_magic(b"REDIS0079", relaxed=True) == Version(Vendor.REDIS, 79)
    assert decode_magic(b"VALKEY081", relaxed=True) == Version(Vendor.VALKEY, 81)
    for magic in (b"REDIS0080", b"REDIS0000", b"VALKEY079", b"VALKEY012"):
        with pytest.raises(Malformed, match="Can't handle RDB format version"):
            decode_magic(magic, relaxed=True)
    numbers = (0, 1, 13, BEYOND, 79, 80, 81, 65535)
    assert [number for number in numbers if is_readable(numbered(number), True)] == [1, 13, BEYOND, 79, 80, 81, 65535]
    assert [number for number in numbers if is_readable(numbered(number))] == [1, 13, 80]


def test_names() -> None:
    assert version_name(numbered(13)) == "REDIS RDB version 13"
    assert version_name(numbered(79)) == f"REDIS RDB version 79, which is tried as version {BEYOND - 1}"
    assert version_name(numbered(81)) == "VALKEY RDB version 81, which is tried as version 80"


def test_sets_by_vendor() -> None:
    numbers = (1, 9, 10, 12, 13, 79, 80, 81, 65535)
    assert [number for number in numbers if numbered(number) in both(10)] == [10, 12, 13, 79, 80, 81, 65535]
    assert [number for number in numbers if numbered(number) in redis_only(10)] == [10, 12, 13, 79]
    assert [number for number in numbers if numbered(number) in redis_only(10, until=12)] == [10, 12]
    assert [number for number in numbers if numbered(number) in valkey_only(80)] == [80, 81, 65535]
    assert [number for number in numbers if numbered(number) in valkey_only(80, until=80)] == [80]
    assert None not in both(1)


def test_the_first_version_of_a_set() -> None:
    assert both(10).since(Vendor.REDIS) == numbered(10)
    assert both(10).since(Vendor.VALKEY) == numbered(80)
    assert redis_only(10).since(Vendor.VALKEY) is valkey_only(80).since(Vendor.REDIS) is None


def test_lowest_version() -> None:
    assert lowest_version([]) == lowest_version([both(9)]) == numbered(10)
    assert lowest_version([FIELDS]) == numbered(12)
    assert lowest_version([FIELDS], Vendor.VALKEY) == numbered(80)
    assert lowest_version([], Vendor.VALKEY) == numbered(10)
    assert lowest_version([IDS]) == lowest_version([IDS, FIELDS]) == lowest_version([FIELDS, IDS]) == numbered(13)
    assert lowest_version([IDS], Vendor.VALKEY) == numbered(10)
    assert lowest_version([IDS, FIELDS], Vendor.VALKEY) == numbered(80)
