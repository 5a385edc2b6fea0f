"""RDB versions as facts: who writes them, how a file begins, which one the data needs.

A version is a vendor's and has a number: Valkey's line parts from Redis's after version 11 and begins anew at 80. A
number that stands alone (in a DUMP payload, in the directive `rdb-version`) still names its vendor, as Redis's line
ends, for Valkey, at 79; a file names it in its first word.

What came or went with a version is told by a `VersionSet`. It stands where the thing itself stands: beside an opcode
(opcodes.py) or the type of a value (types/). Only what belongs to none of these alone stands here.

A version above those known is refused, or, with `rdb-version-check relaxed` (Valkey 9), read as the highest of its line
that we know: most of what a new version brings is a type or an opcode of its own, and the first of those ends the load.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple, final

from pyrepl.rdb.cursor import Malformed


class Vendor(enum.Enum):
    """Whose line of versions it is. The value is the word that a file begins with."""

    REDIS = "REDIS"
    VALKEY = "VALKEY"


class Version(NamedTuple):
    """One version of the format. Two of one vendor are compared by number; those of two vendors are not compared."""

    vendor: Vendor
    number: int


class VersionRow(NamedTuple):
    """A version that we read and write; `writers` and `brought` are for people."""

    version: Version
    writers: str
    brought: str


VERSIONS: Final[tuple[VersionRow, ...]] = (
    VersionRow(Version(Vendor.REDIS, 1), "Redis 1", "plain types, zipmap, ziplist, intset"),
    VersionRow(Version(Vendor.REDIS, 2), "Redis 2.0 to 2.4", "nothing in the format itself"),
    VersionRow(Version(Vendor.REDIS, 3), "pre-releases of Redis 2.6", "expiry in ms"),
    VersionRow(Version(Vendor.REDIS, 4), "pre-releases of Redis 2.6", "hash ziplist"),
    VersionRow(Version(Vendor.REDIS, 5), "pre-releases of Redis 2.6", "CRC-64 at the end"),
    VersionRow(Version(Vendor.REDIS, 6), "Redis 2.6", "smaller ziplists"),
    VersionRow(Version(Vendor.REDIS, 7), "Redis 3.2", "quicklist, AUX, RESIZEDB"),
    VersionRow(Version(Vendor.REDIS, 8), "Redis 4.0", "binary doubles, 64-bit lengths, modules"),
    VersionRow(Version(Vendor.REDIS, 9), "Redis 5.0", "streams, LRU and LFU, module AUX"),
    VersionRow(Version(Vendor.REDIS, 10), "Redis 7.0", "listpacks instead of ziplists, functions"),
    VersionRow(Version(Vendor.REDIS, 11), "Redis 7.2, Valkey 7.2 and 8", "set listpack, consumers' active time"),
    VersionRow(Version(Vendor.REDIS, 12), "Redis 7.4 to 8.4", "hash field expiries, slot info"),
    VersionRow(
        Version(Vendor.REDIS, 13),
        "Redis 8.6",
        "streams that remember idempotency ids (IDMP), metadata of keys by modules",
    ),
    VersionRow(Version(Vendor.VALKEY, 80), "Valkey 9", "hash field expiries of its own, slot import"),
)

WRITABLE_VERSIONS: Final[tuple[Version, ...]] = tuple(row.version for row in VERSIONS)

DEFAULT_VERSION: Final = Version(Vendor.REDIS, 10)
"""Holds everything but field expiries and idempotency ids. Redis 7.0 and every newer Redis and Valkey read it."""

MAGIC_BYTES: Final = 9
"""`REDIS0011` or `VALKEY080`."""

_FIRST: Final = {Vendor.REDIS: 1, Vendor.VALKEY: 80}
"""Where each line begins."""

_LAST: Final = {Vendor.REDIS: _FIRST[Vendor.VALKEY] - 1, Vendor.VALKEY: 65_535}
"""The highest number that each line can have, known to us or not. Valkey's is the highest that a DUMP payload can name,
in two bytes; a file has three digits for it."""

_DIGITS: Final = {Vendor.REDIS: 4, Vendor.VALKEY: 3}


def newest(vendor: Vendor) -> Version:
    """The highest version of a line that we know."""
    return max((version for version in WRITABLE_VERSIONS if version.vendor is vendor), key=_number)


def _number(version: Version) -> int:
    return version.number


_NEWEST: Final = {vendor: newest(vendor).number for vendor in Vendor}


def numbered(number: int) -> Version:
    """The version that a number alone names, known to us or not."""
    return Version(Vendor.REDIS if number <= _LAST[Vendor.REDIS] else Vendor.VALKEY, number)


@final
class VersionSet:
    """The versions that have something: in each vendor's line those from `since` to `until`, both inclusive."""

    __slots__ = ("_spans",)

    def __init__(self, *spans: tuple[Version, int | None]) -> None:
        """Each span: the version `since` which, and the number `until` which, None for ever. At most one of a line."""
        self._spans: Final[dict[Vendor, range]] = {
            since.vendor: range(since.number, (_LAST[since.vendor] if until is None else until) + 1)
            for since, until in spans
        }
        assert len(self._spans) == len(spans)

    def __contains__(self, version: Version | None) -> bool:
        """Has this version it? None, a version that is not known yet, has nothing."""
        return version is not None and version.number in self._spans.get(version.vendor, ())

    def since(self, vendor: Vendor) -> Version | None:
        """The first version of a line that has it; None where the line has it not."""
        span = self._spans.get(vendor)
        return None if span is None else Version(vendor, span.start)


def both(since: int) -> VersionSet:
    """In Redis's line from the version with this number on, and in all of Valkey's."""
    return VersionSet((Version(Vendor.REDIS, since), None), (Version(Vendor.VALKEY, _FIRST[Vendor.VALKEY]), None))


def redis_only(since: int, until: int | None = None) -> VersionSet:
    """In Redis's line alone, from number to number (inclusive; None: for ever)."""
    return VersionSet((Version(Vendor.REDIS, since), until))


def valkey_only(since: int, until: int | None = None) -> VersionSet:
    """In Valkey's line alone, from number to number (inclusive; None: for ever)."""
    return VersionSet((Version(Vendor.VALKEY, since), until))


CHECKSUMS: Final = both(5)
"""A CRC-64 at the end of the file."""

LISTPACKS: Final = both(10)
"""Listpacks for lists, hashes, sorted sets and streams."""


def encode_magic(version: Version) -> bytes:
    """The first nine bytes of a file of this version."""
    return f"{version.vendor.value}{version.number:0{_DIGITS[version.vendor]}}".encode()


def decode_magic(magic: bytes, relaxed: bool = False) -> Version:
    """The version that a file's first nine bytes name. Raises Malformed in Redis's words.

    `relaxed` accepts what is above the versions known, too.
    """
    for vendor in Vendor:
        if magic.startswith(vendor.value.encode()):
            digits = magic[len(vendor.value) :]
            break
    else:
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r}, expected REDIS or VALKEY")
    if not digits.isdigit():
        raise Malformed(f"Wrong signature trying to load DB from file: {magic!r} names no version")
    version = Version(vendor, int(digits))
    if not is_readable(version, relaxed):
        raise Malformed(f"Can't handle RDB format version {version.number}")
    return version


def is_readable(version: Version, relaxed: bool = False) -> bool:
    """Whether it lies in its vendor's line and is none above those known, or such a one and the reader is `relaxed`."""
    last = (_LAST if relaxed else _NEWEST)[version.vendor]
    return _FIRST[version.vendor] <= version.number <= last


def version_name(version: Version) -> str:
    """A version for an error, with what it is read as where it is newer than what we know."""
    known = _NEWEST[version.vendor]
    beyond = f", which is tried as version {known}" if version.number > known else ""
    return f"{version.vendor.value} RDB version {version.number}{beyond}"


def lowest_version(needs: Iterable[VersionSet], reader: Vendor = Vendor.REDIS) -> Version:
    """The lowest version, from DEFAULT_VERSION on, that holds data with these needs, for a reader of this vendor.

    A need that the reader's line has no version for makes no difference: such data is written without it. Valkey
    refuses Redis's versions above 11, so that a need leads to a version of its own line. Consumers' active time
    (version 11) is no need: an older reader takes the seen time.
    """
    lowest = DEFAULT_VERSION
    for need in needs:
        since = need.since(reader)
        if since is not None and since.number > lowest.number:
            lowest = since
    return lowest
