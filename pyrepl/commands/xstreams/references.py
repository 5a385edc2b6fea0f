"""Deletion of entries that groups still refer to: KEEPREF, DELREF, ACKED (Redis 8.2).

An entry is referred to by a group that has not been given it yet, and by one that has it pending. KEEPREF, the default,
deletes the entry and leaves it pending; DELREF takes it off all lists; ACKED leaves an entry that is referred to.

Here are XDELEX and XACKDEL; XADD and XTRIM take the same words (`trim`). All go out as they came.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import ranged_integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, FIRST_ARG, WRITE, command
from pyrepl.commands.xstreams.ids import strict_id
from pyrepl.commands.xstreams.log import delete
from pyrepl.commands.xstreams.pending import remove
from pyrepl.errors import CommandError
from pyrepl.rdb.values import StreamId, StreamValue
from pyrepl.resp.numbers import INT64_MAX

KEEPREF: Final = b"KEEPREF"
DELREF: Final = b"DELREF"
ACKED: Final = b"ACKED"
POLICIES: Final = frozenset((KEEPREF, DELREF, ACKED))

_NO_ID: Final = -1
_DELETED: Final = 1
_STILL_REFERENCED: Final = 2


def is_referenced(stream: StreamValue, entry_id: StreamId) -> bool:
    """Does a group still refer to the entry? O(groups)."""
    return any(group.last_id < entry_id or entry_id in group.pending for group in stream.groups.values())


def forget_references(stream: StreamValue, entry_id: StreamId) -> None:
    """Take the entry off all lists of pending entries."""
    for group in stream.groups.values():
        remove(group, entry_id)


def may_delete(stream: StreamValue, entry_id: StreamId, policy: bytes) -> bool:
    """May this entry be deleted? With DELREF this call also removes all references to it."""
    if policy == ACKED:
        return not is_referenced(stream, entry_id)
    if policy == DELREF:
        forget_references(stream, entry_id)
    return True


@command("XDELEX", arity=-5, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="8.2.0")
def xdelex(call: Call, key: bytes, *words: bytes) -> list[int]:
    """Delete entries by id, with or without what groups know of them; per id -1 (none), 1 (deleted), 2 (left)"""
    stream = call.db.find_as(StreamValue, key)
    policy, ids = _arguments(words)
    if stream is None:
        return [_NO_ID] * len(ids)
    results: list[int] = []
    deleted = 0
    for entry_id in [strict_id(text) for text in ids]:
        if not may_delete(stream, entry_id, policy):
            results.append(_STILL_REFERENCED)
        elif delete(stream, [entry_id]):
            deleted += 1
            results.append(_DELETED)
        else:
            results.append(_NO_ID)
    if deleted:
        call.db.changed(key, deleted)
    return results


@command("XACKDEL", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="8.2.0")
def xackdel(call: Call, key: bytes, name: bytes, *words: bytes) -> list[int]:
    """Take entries off a group's pending list and delete them; per id -1 (not pending), 1 (deleted), 2 (left)"""
    stream = call.db.read_as(StreamValue, key)
    policy, ids = _arguments(words)
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        return [_NO_ID] * len(ids)
    results: list[int] = []
    acknowledged = deleted = 0
    for entry_id in [strict_id(text) for text in ids]:
        if not remove(group, entry_id):
            results.append(_NO_ID)
            continue
        acknowledged += 1
        if not may_delete(stream, entry_id, policy):
            results.append(_STILL_REFERENCED)
            continue
        deleted += delete(stream, [entry_id])
        results.append(_DELETED)
    if deleted:
        call.db.changed(key, acknowledged)
    else:
        call.keyspace.dirty += acknowledged
    return results


def _arguments(words: tuple[bytes, ...]) -> tuple[bytes, tuple[bytes, ...]]:
    """(policy, ids) of `[KEEPREF | DELREF | ACKED] IDS count id ...`, in any order. Raises CommandError."""
    policy = b""
    ids: tuple[bytes, ...] | None = None
    at = 0
    while at < len(words):
        word = words[at].upper()
        if word in POLICIES and not policy:
            policy = word
            at += 1
        elif word == b"IDS" and at + 1 < len(words):
            count = ranged_integer_argument(words[at + 1], 1, INT64_MAX, "ERR Number of IDs must be a positive integer")
            if count > len(words) - at - 2:
                raise CommandError("ERR The `numids` parameter must match the number of arguments")
            ids = words[at + 2 : at + 2 + count]
            at += 2 + count
        else:
            raise syntax_error()
    if ids is None:
        raise CommandError("ERR IDS option is required")
    return policy or KEEPREF, ids
