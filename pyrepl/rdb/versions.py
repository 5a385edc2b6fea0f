"""RDB versions as facts: who writes them, how a file begins, which one the data needs.

| version | magic | first written by | brought |
|---|---|---|---|
| 1, 2 | REDIS | Redis 1 to 2.4 | plain types, zipmap, ziplist, intset |
| 3, 4 | REDIS | 2.6 pre-releases | expiry in ms, hash ziplist |
| 5, 6 | REDIS | 2.6 | CRC-64 at the end |
| 7 | REDIS | 3.2 | quicklist, AUX, RESIZEDB |
| 8 | REDIS | 4.0 | binary doubles, 64-bit lengths, modules |
| 9 | REDIS | 5.0 | streams, LRU and LFU, module AUX |
| 10 | REDIS | 7.0 | listpacks instead of ziplists, functions |
| 11 | REDIS | 7.2, Valkey 7.2 and 8 | set listpack, consumers' active time |
| 12 | REDIS | 7.4 to 8.4 | hash field expiries, slot info |
| 80 | VALKEY | Valkey 9 | hash field expiries of its own, slot import |

Versions 12 to 79 are Redis's as Valkey sees it, so a number alone names the dialect; in a file the magic does too.
"""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.cursor import Malformed

MAGIC_BYTES: Final = 9
"""`REDIS0011` or `VALKEY080`."""

MAX_REDIS_VERSION: Final = 12
VALKEY_VERSION: Final = 80

DEFAULT_VERSION: Final = 10
"""Holds everything but field expiries, and Redis 7.0 and every newer Redis and Valkey read it."""

FIELD_TTL_VERSION: Final = 12

MS_EXPIRY_SINCE: Final = 3
CHECKSUM_SINCE: Final = 5
AUX_SINCE: Final = 7
BINARY_DOUBLES_SINCE: Final = 8
STREAMS_SINCE: Final = 9
LISTPACKS_SINCE: Final = 10
FUNCTIONS_SINCE: Final = 10
SET_LISTPACKS_SINCE: Final = 11

WRITABLE_VERSIONS: Final[tuple[int, ...]] = (*range(1, MAX_REDIS_VERSION + 1), VALKEY_VERSION)


def encode_magic(version: int) -> bytes:
    """The first nine bytes of a file of this version."""
    if version >= VALKEY_VERSION:
        return b"VALKEY%03d" % version
    return b"REDIS%04d" % version


def decode_magic(magic: bytes, max_version: int) -> int:
    """The version that a file's first nine bytes name. Raises Malformed in Redis's words.

    `max_version` is the highest Redis version accepted; VALKEY080 is accepted if it is 12 or more, as who reads
    field expiries of one dialect reads them of the other.
    """
    if magic.startswith(b"REDIS"):
        digits = magic[5:]
        top = min(max_version, MAX_REDIS_VERSION)
        low = 1
    elif magic.startswith(b"VALKEY"):
        digits = magic[6:]
        top = VALKEY_VERSION if max_version >= MAX_REDIS_VERSION else 0
        low = VALKEY_VERSION
    else:
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r}, expected REDIS or VALKEY")
    if not digits.isdigit():
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r} names no version")
    version = int(digits)
    if version < low or version > top:
        raise Malformed(f"Can't handle RDB format version {version}")
    return version


def is_known_version(version: int, max_version: int) -> bool:
    """Whether a DUMP payload's version, which comes without a magic, is one we read."""
    if version == VALKEY_VERSION:
        return max_version >= MAX_REDIS_VERSION
    return 1 <= version <= min(max_version, MAX_REDIS_VERSION)


def lowest_version(*, field_ttls: bool = False, valkey: bool = False) -> int:
    """The lowest version that holds such data: 10, 12 with field expiries, 80 where a Valkey 9 must read those.

    `valkey` asks for the dialect that Valkey reads: it refuses version 12, so only field expiries make a difference.
    Consumers' active time (version 11) is no reason for a higher version: an older reader takes the seen time.
    """
    if not field_ttls:
        return DEFAULT_VERSION
    return VALKEY_VERSION if valkey else FIELD_TTL_VERSION
