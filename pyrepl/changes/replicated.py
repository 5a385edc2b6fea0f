"""The streams that are made of the replication stream: `keys`, `commands` and `caches`; rows from units.

Not here: reading the bytes (replication_log.py). Nothing is stored for these streams: their tokens are replication
offsets, and a row is made again whenever somebody asks for it.

| stream | a row for each | row |
|---|---|---|
| keys | key changed | [database, key, command]; key is null where a whole database was changed |
| commands | command | [database, [words...]] |
| caches | invalidation | [cache, keys or null, ms] |

Invalidations come from two places: a message published to CACHES_CHANNEL, `["cache", ["key", ...] or null, ms]`,
which a master puts into its stream for its replicas (any master, also Redis and Valkey); and `stream-cache-rule`, by
which a change of a key that matches a pattern invalidates that key of a cache.

ms is Unix time: when the entry was invalidated, if the message says so, as that of INVALIDATE_CACHE does. Nothing else
in a replication stream has a time: then ms is when this node made the row for whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from typing import Final, Protocol, TypeAlias, final

from pyrepl.changes.block import Fact
from pyrepl.changes.changed_keys import ChangedKeys, swapped
from pyrepl.changes.rows import Json, decode_row, encode_row, from_bytes
from pyrepl.changes.units import Unit
from pyrepl.glob import Glob

CACHES_CHANNEL: Final = b"pyrepl:caches"

CacheRule: TypeAlias = tuple[bytes, str]
"""(pattern of keys, name of the cache)."""


class RowMaker(Protocol):
    """Makes the rows of one stream."""

    def facts(self, units: Sequence[Unit]) -> list[Fact]:
        """A fact for each unit that has rows."""
        ...


@final
class KeyRows:
    """Rows of `keys`."""

    def __init__(self, changed: ChangedKeys) -> None:
        self._changed = changed

    def facts(self, units: Sequence[Unit]) -> list[Fact]:
        facts: list[Fact] = []
        of = self._changed.of
        for token, commands in units:
            rows: list[str] = []
            for db, argv in commands:
                for key in of(argv):
                    if key is None:
                        rows += self._whole(db, argv)
                    else:
                        rows.append(f"[{db},{_quoted(key)},{_quoted(argv[0].lower())}]")
            if rows:
                facts.append((token, rows))
        return facts

    def _whole(self, db: int, argv: list[bytes]) -> list[str]:
        return [f"[{index},null,{_quoted(argv[0].lower())}]" for index in swapped(argv) or [db]]


@final
class CommandRows:
    """Rows of `commands`."""

    def facts(self, units: Sequence[Unit]) -> list[Fact]:
        return [
            (token, [f"[{db},[{','.join(map(_quoted, argv))}]]" for db, argv in commands]) for token, commands in units
        ]


@final
class CacheRows:
    """Rows of `caches`."""

    def __init__(self, changed: ChangedKeys, rules: Sequence[CacheRule], unix_ms: Callable[[], int]) -> None:
        self._changed = changed
        self._rules = [(Glob(pattern), cache) for pattern, cache in rules]
        self._unix_ms = unix_ms

    def facts(self, units: Sequence[Unit]) -> list[Fact]:
        facts: list[Fact] = []
        for token, commands in units:
            rows = [row for _, argv in commands for row in self._rows(argv)]
            if rows:
                facts.append((token, rows))
        return facts

    def _rows(self, argv: list[bytes]) -> list[str]:
        if len(argv) == 3 and argv[1] == CACHES_CHANNEL and argv[0].upper() == b"PUBLISH":
            published = parse_invalidation(argv[2])
            if published is None:
                return []
            cache, keys, at_ms = published
            return [encode_row([cache, keys, self._unix_ms() if at_ms is None else at_ms])]
        if not self._rules:
            return []
        rows: list[str] = []
        for key in self._changed.of(argv):
            for glob, cache in self._rules:
                if key is None:
                    rows.append(encode_row([cache, None, self._unix_ms()]))
                elif glob.matches(key):
                    rows.append(encode_row([cache, [from_bytes(key)], self._unix_ms()]))
        return rows


def parse_invalidation(message: bytes) -> tuple[str, Json, int | None] | None:
    """(cache, keys or None, Unix ms or None) of a message on CACHES_CHANNEL; None for any other message, which concerns
    no cache. The time may be left out."""
    try:
        row = decode_row(message.decode())
    except ValueError:
        return None
    if not isinstance(row, list) or not 2 <= len(row) <= 3:
        return None
    cache, keys = row[:2]
    if not isinstance(cache, str) or not cache or not (keys is None or isinstance(keys, list)):
        return None
    at_ms = row[2] if len(row) == 3 else None
    return cache, keys, at_ms if type(at_ms) is int and at_ms >= 0 else None


def _quoted(data: bytes) -> str:
    """Bytes as JSON; as rows.from_bytes and encode_row do it, in the usual case without either."""
    try:
        return encode_basestring(data.decode())
    except UnicodeDecodeError:
        return encode_row(from_bytes(data))
