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
| 13 | REDIS | 8.6 | streams that remember idempotency ids (IDMP), metadata of keys by modules |
| 80 | VALKEY | Valkey 9 | hash field expiries of its own, slot import |

Versions 12 to 79 are Redis's as Valkey sees it, so a number alone names the dialect; in a file the magic does too.

A version above these is refused, or, with `rdb-version-check relaxed` (Valkey 9), read as the highest of its dialect
that we know: most of what a new version brings is a type or an opcode of its own, and the first of those ends the load.
"""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.cursor import Malformed

MAGIC_BYTES: Final = 9
"""`REDIS0011` or `VALKEY080`."""

MAX_REDIS_VERSION: Final = 13
VALKEY_VERSION: Final = 80

DEFAULT_VERSION: Final = 10
"""Holds everything but field expiries, and Redis 7.0 and every newer Redis and Valkey read it."""

FIELD_TTL_VERSION: Final = 12
IDMP_VERSION: Final = 13

LAST_REDIS_VERSION: Final = VALKEY_VERSION - 1
"""From here on down a number is Redis's, known to us or not."""

LAST_VERSION: Final = 65_535
"""The highest that a DUMP payload can name, in two bytes; a file has three or four digits for it."""

MS_EXPIRY_SINCE: Final = 3
CHECKSUM_SINCE: Final = 5
AUX_SINCE: Final = 7
BINARY_DOUBLES_SINCE: Final = 8
STREAMS_SINCE: Final = 9
LISTPACKS_SINCE: Final = 10
FUNCTIONS_SINCE: Final = 10
SET_LISTPACKS_SINCE: Final = 11
KEY_META_SINCE: Final = 13

WRITABLE_VERSIONS: Final[tuple[int, ...]] = (*range(1, MAX_REDIS_VERSION + 1), VALKEY_VERSION)


def encode_magic(version: int) -> bytes:
    """The first nine bytes of a file of this version."""
    if version >= VALKEY_VERSION:
        return b"VALKEY%03d" % version
    return b"REDIS%04d" % version


def decode_magic(magic: bytes, max_version: int, relaxed: bool = False) -> int:
    """The version that a file's first nine bytes name. Raises Malformed in Redis's words.

    `max_version` is the highest Redis version accepted; VALKEY080 is accepted if it is 12 or more, as who reads
    field expiries of one dialect reads them of the other. `relaxed` accepts what is above, too.
    """
    if magic.startswith(b"REDIS"):
        digits = magic[5:]
        top = LAST_REDIS_VERSION if relaxed else min(max_version, MAX_REDIS_VERSION)
        low = 1
    elif magic.startswith(b"VALKEY"):
        digits = magic[6:]
        top = _top_valkey_version(max_version, relaxed)
        low = VALKEY_VERSION
    else:
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r}, expected REDIS or VALKEY")
    if not digits.isdigit():
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r} names no version")
    version = int(digits)
    if version < low or version > top:
        raise Malformed(f"Can't handle RDB format version {version}")
    return version


def is_known_version(version: int, max_version: int, relaxed: bool = False) -> bool:
    """Whether a DUMP payload's version, which comes without a magic, is one we read (see decode_magic)."""
    if version >= VALKEY_VERSION:
        return version <= _top_valkey_version(max_version, relaxed)
    return version >= 1 and (relaxed or version <= min(max_version, MAX_REDIS_VERSION))


def _top_valkey_version(max_version: int, relaxed: bool) -> int:
    if relaxed:
        return LAST_VERSION
    return VALKEY_VERSION if max_version >= FIELD_TTL_VERSION else 0


def version_name(version: int) -> str:
    """A version for an error, with what it is read as where it is newer than what we know."""
    dialect, known = ("REDIS", MAX_REDIS_VERSION) if version <= LAST_REDIS_VERSION else ("VALKEY", VALKEY_VERSION)
    beyond = f", which is tried as version {known}" if version > known else ""
    return f"{dialect} RDB version {version}{beyond}"


def holds_idmp(version: int) -> bool:
    """Do streams keep their idempotency ids in this version?"""
    return IDMP_VERSION <= version <= LAST_REDIS_VERSION


def lowest_version(*, field_ttls: bool = False, idmp: bool = False, valkey: bool = False) -> int:
    """The lowest version that holds such data: 10, 12 with field expiries, 80 where a Valkey 9 must read those.

    `idmp`: streams that remember idempotency ids are to keep them, which is version 13. `valkey` asks for the dialect
    that Valkey reads: it refuses versions 12 and 13, so only field expiries make a difference. Consumers' active time
    (version 11) is no reason for a higher version: an older reader takes the seen time.
    """
    if valkey:
        return VALKEY_VERSION if field_ttls else DEFAULT_VERSION
    if idmp:
        return IDMP_VERSION
    return FIELD_TTL_VERSION if field_ttls else DEFAULT_VERSION
