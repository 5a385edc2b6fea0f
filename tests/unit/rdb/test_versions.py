"""Versions and magics: what is read, what is refused and in which words."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.versions import (
    MAX_REDIS_VERSION,
    WRITABLE_VERSIONS,
    decode_magic,
    encode_magic,
    is_known_version,
    lowest_version,
)


@pytest.mark.parametrize("version", WRITABLE_VERSIONS)
def test_magic_there_and_back(version: int) -> None:
    magic = encode_magic(version)
    assert len(magic) == 9
    assert decode_magic(magic, MAX_REDIS_VERSION) == version
    assert is_known_version(version, MAX_REDIS_VERSION)


def test_magics_spelled_out() -> None:
    assert encode_magic(10) == b"REDIS0010"
    assert encode_magic(80) == b"VALKEY080"


@pytest.mark.parametrize(
    ("magic", "message"),
    [
        (b"REDIS0000", "Can't handle RDB format version 0"),
        (b"REDIS0014", "Can't handle RDB format version 14"),
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
        decode_magic(magic, MAX_REDIS_VERSION)


def test_a_lower_limit_holds_for_both_vendors() -> None:
    assert decode_magic(b"REDIS0011", 11) == 11
    for magic in (b"REDIS0012", b"VALKEY080"):
        with pytest.raises(Malformed, match="Can't handle"):
            decode_magic(magic, 11)
    assert not is_known_version(12, 11)
    assert not is_known_version(80, 11)
    assert not is_known_version(0, 12)
    assert is_known_version(13, 99)
    assert not is_known_version(14, 99)


def test_relaxed_takes_what_is_newer_of_its_own_dialect() -> None:
    assert decode_magic(b"REDIS0014", MAX_REDIS_VERSION, relaxed=True) == 14
    assert decode_magic(b"REDIS0079", MAX_REDIS_VERSION, relaxed=True) == 79
    assert decode_magic(b"VALKEY081", MAX_REDIS_VERSION, relaxed=True) == 81
    for magic in (b"REDIS0080", b"REDIS0000", b"VALKEY079", b"VALKEY012"):
        with pytest.raises(Malformed, match="Can't handle RDB format version"):
            decode_magic(magic, MAX_REDIS_VERSION, relaxed=True)
    assert [version for version in (0, 1, 13, 14, 79, 80, 81, 65535) if is_known_version(version, 13, True)] == [
        *(1, 13, 14, 79, 80, 81, 65535)
    ]


def test_lowest_version() -> None:
    assert lowest_version() == 10
    assert lowest_version(field_ttls=True) == 12
    assert lowest_version(field_ttls=True, valkey=True) == 80
    assert lowest_version(valkey=True) == 10
    assert lowest_version(idmp=True) == lowest_version(idmp=True, field_ttls=True) == 13
    assert lowest_version(idmp=True, valkey=True) == 10
    assert lowest_version(idmp=True, field_ttls=True, valkey=True) == 80
