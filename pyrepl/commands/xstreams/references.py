"""Deletion of entries that groups still refer to: XDELEX, XACKDEL, and the words KEEPREF, DELREF, ACKED (Redis 8.2).

A group refers to an entry while it has not been given the entry yet, and while it has the entry pending.

- KEEPREF, the default, deletes the entry from the stream and leaves it pending in the groups.
- DELREF also takes the entry off the pending lists of all groups.
- ACKED deletes only an entry that no group refers to.

XADD and XTRIM take the same words; see `trim`. XDELEX and XACKDEL are propagated as the client sent them.
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

# What XDELEX and XACKDEL answer for each id.
_NO_ID: Final = -1
_DELETED: Final = 1
_STILL_REFERENCED: Final = 2


def is_referenced(stream: StreamValue, entry_id: StreamId) -> bool:
    """Does any group still refer to the entry with this id? O(groups)."""
    return any(group.last_id < entry_id or entry_id in group.pending for group in stream.groups.values())


def forget_references(stream: StreamValue, entry_id: StreamId) -> None:
    """Take the entry with this id off the pending lists of all groups."""
    for group in stream.groups.values():
        remove(group, entry_id)


def may_delete(stream: StreamValue, entry_id: StreamId, policy: bytes) -> bool:
    """May the entry be deleted under this policy, one of POLICIES? DELREF takes it off all pending lists at once."""
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
    """(policy, ids as text) of `[KEEPREF | DELREF | ACKED] IDS count id ...`; the policy may stand before or after IDS.

    Raises CommandError.
    """
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
