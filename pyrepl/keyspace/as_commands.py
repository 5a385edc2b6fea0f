"""The data set as commands that make it again: for a base of the append-only file with aof-use-rdb-preamble no.

Such a file can be read as text; a snapshot (snapshot.py) is smaller and loads faster. One command holds ITEMS elements
of a collection at most, so that executing it does not take long.
Source: Redis 7.0 `rewriteAppendOnlyFileRio`; fields with a time to live as Redis 7.4 does it, idempotency ids of
streams as Redis 8.6 does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.packed import Packed
from pyrepl.keyspace.snapshot import SnapshotJob
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.payload import encode_payload
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.values import (
    DEFAULT_IDMP_LIMITS,
    ENTRIES_READ_UNKNOWN,
    IdmpLimits,
    IdmpState,
    StreamGroup,
    StreamId,
    StreamValue,
)
from pyrepl.rdb.vectors import VectorSetValue
from pyrepl.resp.doubles import format_double
from pyrepl.resp.encoder import encode_command

ITEMS: Final = 64
_BLOCK_BYTES: Final = 256 * 1024

Command = Sequence[bytes]


@dataclass(frozen=True)
class CommandsJob:
    """The data that a child writes as commands; used in place of a SnapshotJob."""

    keyspace: Keyspace
    key_save_delay_us: int = 0
    idmp_limits: IdmpLimits = DEFAULT_IDMP_LIMITS
    """The limits that a new stream gets at the node that reads the commands: stream-idmp-duration and
    stream-idmp-maxsize. A stream with these limits needs no XCFGSET."""
    functions: tuple[bytes, ...] = ()
    """The texts of the function libraries."""

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """Yields (bytes, keys written so far)."""
        parts = [encode_command([b"FUNCTION", b"LOAD", text]) for text in self.functions]
        size = sum(map(len, parts))
        done = 0
        for db in self.keyspace.databases:
            if db.key_count:
                parts.append(encode_command([b"SELECT", b"%d" % db.index]))
            for key, value in db.store.items():
                for command in commands_of(key, value, db.expiry_of(key), self.idmp_limits):
                    encoded = encode_command(command)
                    parts.append(encoded)
                    size += len(encoded)
                done += 1
                if size >= _BLOCK_BYTES or self.key_save_delay_us:
                    yield b"".join(parts), done
                    parts.clear()
                    size = 0
        yield b"".join(parts), done


Job: TypeAlias = SnapshotJob | CommandsJob
"""The kinds of work that a snapshot child writes."""


def commands_of(
    key: bytes, value: Value, expires_ms: int | None, idmp_limits: IdmpLimits = DEFAULT_IDMP_LIMITS
) -> Iterator[Command]:
    """The commands that make one key; `expires_ms` is Unix ms, None for never; `idmp_limits` see CommandsJob."""
    if isinstance(value, Packed):
        value = value.unpack()
    if isinstance(value, bytes):
        yield [b"SET", key, value]
    elif isinstance(value, ListValue):
        yield from _in_parts([b"RPUSH", key], ([item] for item in value.items))
    elif isinstance(value, SetValue):
        yield from _in_parts([b"SADD", key], ([member] for member in value.members))
    elif isinstance(value, ZsetValue):
        pairs = ([format_double(score), member] for member, score in value.scores.items())
        yield from _in_parts([b"ZADD", key], pairs)
    elif isinstance(value, HashValue):
        yield from _hash(key, value)
    elif isinstance(value, VectorSetValue):
        # No command makes vectors and links as they are.
        yield [b"RESTORE", key, b"0", encode_payload(value, Form())]
    else:
        yield from _stream(key, value)
        yield from _idmp(key, value, value.idmp or IdmpState(), idmp_limits)
    if expires_ms is not None:
        yield [b"PEXPIREAT", key, b"%d" % expires_ms]


def _in_parts(head: list[bytes], items: Iterable[list[bytes]]) -> Iterator[Command]:
    """Commands that begin with `head` and hold ITEMS items each, until all items are out."""
    rest = iter(items)
    while part := list(islice(rest, ITEMS)):
        yield [*head, *chain.from_iterable(part)]


def _hash(key: bytes, value: HashValue) -> Iterator[Command]:
    yield from _in_parts([b"HSET", key], ([field, content] for field, content in value.fields.items()))
    for field, at_ms in (value.expires or {}).items():
        yield [b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"1", field]


def _stream(key: bytes, value: StreamValue) -> Iterator[Command]:
    for entry_id, fields in value.entries:
        yield [b"XADD", key, _id(entry_id), *fields]
    if not value.entries:
        # Only an entry that is trimmed at once makes an empty stream.
        yield [b"XADD", key, b"MAXLEN", b"0", _id(max(value.last_id, (0, 1))), b"x", b"y"]
    counters = [b"ENTRIESADDED", b"%d" % value.entries_added, b"MAXDELETEDID", _id(value.max_deleted_id)]
    yield [b"XSETID", key, _id(value.last_id), *counters]
    for name, group in value.groups.items():
        yield from _group(key, name, group)


def _idmp(key: bytes, stream: StreamValue, idmp: IdmpState, limits_of_new: IdmpLimits) -> Iterator[Command]:
    """As Redis 8.6.3: no command can restore an id whose entry is deleted, nor the counters of forgotten ids."""
    if (idmp.duration_s, idmp.max_entries) != limits_of_new:
        limits = [b"IDMP-DURATION", b"%d" % idmp.duration_s, b"IDMP-MAXSIZE", b"%d" % idmp.max_entries]
        yield [b"XCFGSET", key, *limits]
    there = {entry_id for entry_id, _ in stream.entries} if idmp.producers else set()
    for producer, entries in idmp.producers.items():
        for iid, entry_id in entries.items():
            if entry_id in there:
                yield [b"XIDMPRECORD", key, producer, iid, _id(entry_id)]


def _group(key: bytes, name: bytes, group: StreamGroup) -> Iterator[Command]:
    known = group.entries_read != ENTRIES_READ_UNKNOWN
    read = [b"ENTRIESREAD", b"%d" % group.entries_read] if known else []
    yield [b"XGROUP", b"CREATE", key, name, _id(group.last_id), *read]
    for consumer in group.consumers:
        yield [b"XGROUP", b"CREATECONSUMER", key, name, consumer]
    for entry_id, pending in group.pending.items():
        when = [b"TIME", b"%d" % pending.delivery_ms, b"RETRYCOUNT", b"%d" % pending.delivery_count]
        yield [b"XCLAIM", key, name, pending.consumer, b"0", _id(entry_id), *when, b"JUSTID", b"FORCE"]


def _id(entry_id: StreamId) -> bytes:
    return b"%d-%d" % entry_id
