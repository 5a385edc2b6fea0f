"""RDB versions as facts: who writes them, how a file begins, which one the data needs.

A version has a vendor and a number. Up to 11 the two vendors write the same; from there on Redis counts 12, 13, ... and
Valkey counts 80, 81, ... A file names its vendor in its first word. Where a number stands alone (in a DUMP payload, in
the directive `rdb-version`) it names the vendor too, as Valkey leaves the numbers up to 79 to Redis.

A `VersionSet` tells which versions have an opcode or a type of value. It stands beside the opcode (opcodes.py) or the
type (types/); here stand only the sets that belong to neither.

A version above those known is refused. With `rdb-version-check relaxed` (Valkey 9) it is read as the highest version of
its vendor that we know: most of what a new version brings is a new type or opcode, and the first of these ends the
load.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple, final

from pyrepl.rdb.cursor import Malformed


class Vendor(enum.Enum):
    """Who numbers a version. The value is the word that a file of this vendor begins with."""

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
"""The lowest number of each vendor."""

_LAST: Final = {Vendor.REDIS: _FIRST[Vendor.VALKEY] - 1, Vendor.VALKEY: 65_535}
"""The highest number that each vendor can use, known to us or not. Valkey's is the highest that the two bytes of a DUMP
payload can name; a file has only three digits for it."""

_DIGITS: Final = {Vendor.REDIS: 4, Vendor.VALKEY: 3}
"""How many digits of the number stand after the vendor's word in a file."""


def newest(vendor: Vendor) -> Version:
    """The highest version of this vendor that we know."""
    return max((version for version in WRITABLE_VERSIONS if version.vendor is vendor), key=_number)


def _number(version: Version) -> int:
    return version.number


_NEWEST: Final = {vendor: newest(vendor).number for vendor in Vendor}


def numbered(number: int) -> Version:
    """The version that a number (1 to 65535) names without a vendor, known to us or not."""
    return Version(Vendor.REDIS if number <= _LAST[Vendor.REDIS] else Vendor.VALKEY, number)


@final
class VersionSet:
    """The versions that have a thing: of each vendor those from `since` to `until`, both inclusive."""

    __slots__ = ("_spans",)

    def __init__(self, *spans: tuple[Version, int | None]) -> None:
        """Each span: its first version, and the number of its last, None for no last one. At most one span a vendor."""
        self._spans: Final[dict[Vendor, range]] = {
            since.vendor: range(since.number, (_LAST[since.vendor] if until is None else until) + 1)
            for since, until in spans
        }
        assert len(self._spans) == len(spans)

    def __contains__(self, version: Version | None) -> bool:
        """Does this version have it? None stands for a version that is not known yet, which has nothing."""
        return version is not None and version.number in self._spans.get(version.vendor, ())

    def since(self, vendor: Vendor) -> Version | None:
        """The first version of this vendor that has it; None if no version of this vendor does."""
        span = self._spans.get(vendor)
        return None if span is None else Version(vendor, span.start)


def both(since: int) -> VersionSet:
    """All versions of Redis from this number on, and all of Valkey."""
    return VersionSet((Version(Vendor.REDIS, since), None), (Version(Vendor.VALKEY, _FIRST[Vendor.VALKEY]), None))


def redis_only(since: int, until: int | None = None) -> VersionSet:
    """Versions of Redis alone, from number to number (inclusive; None: without an end)."""
    return VersionSet((Version(Vendor.REDIS, since), until))


def valkey_only(since: int, until: int | None = None) -> VersionSet:
    """Versions of Valkey alone, from number to number (inclusive; None: without an end)."""
    return VersionSet((Version(Vendor.VALKEY, since), until))


CHECKSUMS: Final = both(5)
"""The versions whose files end in a CRC-64."""

LISTPACKS: Final = both(10)
"""The versions that have listpacks for lists, hashes, sorted sets and streams."""


def encode_magic(version: Version) -> bytes:
    """The first nine bytes of a file of this version."""
    return f"{version.vendor.value}{version.number:0{_DIGITS[version.vendor]}}".encode()


def decode_magic(magic: bytes, relaxed: bool = False) -> Version:
    """The version that a file's first nine bytes name. Raises Malformed in Redis's words.

    `relaxed`: a version above those known is accepted as well.
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
    """Whether a reader may try this version: its number is one that its vendor can use and, unless `relaxed`, none
    above those known."""
    last = (_LAST if relaxed else _NEWEST)[version.vendor]
    return _FIRST[version.vendor] <= version.number <= last


def version_name(version: Version) -> str:
    """A version as an error names it; for one above those known, also the version that it is read as."""
    known = _NEWEST[version.vendor]
    beyond = f", which is tried as version {known}" if version.number > known else ""
    return f"{version.vendor.value} RDB version {version.number}{beyond}"


def lowest_version(needs: Iterable[VersionSet], reader: Vendor = Vendor.REDIS) -> Version:
    """The lowest version, from DEFAULT_VERSION on, that holds data with these needs, for a reader of this vendor.

    A need that no version of the reader's vendor has makes no difference: the data is written without that part. A
    need never leads to a version of the other vendor, as Valkey refuses Redis's versions above 11. Consumers' active
    time (version 11) is never among the needs: an older reader takes the seen time instead.
    """
    lowest = DEFAULT_VERSION
    for need in needs:
        since = need.since(reader)
        if since is not None and since.number > lowest.number:
            lowest = since
    return lowest
