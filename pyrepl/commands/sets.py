"""Commands on one set, and SMOVE. Intersections, unions and differences stand in `set_algebra`.

Replies are copies: a set that stays in a reply must not change with a later command of the same transaction.
Dirty counts, replies and texts are Redis 7.0's.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final, final

from pyrepl.commands import deletions
from pyrepl.commands.arguments import syntax_error
from pyrepl.commands.call import Call
from pyrepl.commands.key_counts import check_pick_count, pick_count_argument, pop_count_argument
from pyrepl.commands.table import DENYOOM, FAST, FIRST_ARG, FIRST_TWO, READONLY, WRITE, Words, command
from pyrepl.keyspace.values import SetValue, wrong_type

REMOVED_AT_ONCE: Final = 1024
"""Most members in one SREM that SPOP propagates."""


@final
class _Sadd(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        db = call.db
        key = argv[1]
        value = db.find(key)
        if value is None:
            value = SetValue(set(argv[2:]))
            db.put(key, value)
            added = len(value.members)
        elif type(value) is not SetValue:
            raise wrong_type()
        elif len(argv) == 3:
            added = 1 if value.add(argv[2]) else 0
        else:
            added = value.update(argv[2:])
        if added:
            db.changed(key, added)
        return added


_SADD: Final = _Sadd()


@command("SADD", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="set", words=_SADD)
def sadd(call: Call, key: bytes, *members: bytes) -> object:
    """Add members to a set, creating it if need be; how many were new."""
    return _SADD.run(call, [b"SADD", key, *members])


@command("SREM", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="set")
def srem(call: Call, key: bytes, *members: bytes) -> int:
    """Remove members from a set; how many were there."""
    db = call.db
    value = db.find_as(SetValue, key)
    if value is None:
        return 0
    removed = 0
    for member in members:
        if value.discard(member):
            removed += 1
    if removed:
        if not value.members:
            db.delete(key)
        db.changed(key, removed)
    return removed


@command("SMOVE", arity=4, flags=WRITE | FAST, keys=FIRST_TWO, group="set")
def smove(call: Call, source: bytes, destination: bytes, member: bytes) -> int:
    """Move a member from one set to another; 1 if it was there."""
    db = call.db
    value = db.find_as(SetValue, source)
    if value is None:
        return 0
    target = db.find_as(SetValue, destination)
    if value is target:
        return int(member in value.members)
    if not value.discard(member):
        return 0
    if not value.members:
        db.delete(source)
    db.changed(source, 1)
    if target is None:
        db.put(destination, SetValue({member}))
        db.changed(destination, 1)
    elif target.add(member):
        db.changed(destination, 1)
    return 1


@command("SMEMBERS", arity=2, flags=READONLY, keys=FIRST_ARG, group="set")
def smembers(call: Call, key: bytes) -> Sequence[bytes] | Set[bytes]:
    """All members of a set."""
    value = call.db.read_as(SetValue, key)
    return set_reply(call, set() if value is None else value.members)


def set_reply(call: Call, members: Set[bytes]) -> Sequence[bytes] | Set[bytes]:
    """A copy of `members` in the shape that the client's protocol encodes fastest."""
    return list(members) if call.client.proto < 3 else frozenset(members)


@command("SISMEMBER", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="set")
def sismember(call: Call, key: bytes, member: bytes) -> int:
    """Whether a member is in a set: 1 or 0."""
    value = call.db.read_as(SetValue, key)
    return 0 if value is None else int(member in value.members)


@command("SMISMEMBER", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="set", since="6.2.0")
def smismember(call: Call, key: bytes, *members: bytes) -> list[int]:
    """For each of several members whether it is in a set."""
    value = call.db.read_as(SetValue, key)
    if value is None:
        return [0] * len(members)
    return [int(member in value.members) for member in members]


@command("SCARD", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="set")
def scard(call: Call, key: bytes) -> int:
    """The number of members of a set."""
    value = call.db.read_as(SetValue, key)
    return 0 if value is None else len(value.members)


@final
class _Spop(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) > 2:
            return _pop_counted(call, argv[1], tuple(argv[2:]))
        return _pop_one(call, argv[1])


_SPOP: Final = _Spop()


@command("SPOP", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="set", words=_SPOP)
def spop(call: Call, key: bytes, *counts: bytes) -> object:
    """Remove and return random members of a set.

    Replicas must remove the same ones, so it propagates as SREM, or as DEL when a count takes the whole set.
    """
    return _SPOP.run(call, [b"SPOP", key, *counts])


def _pop_one(call: Call, key: bytes) -> bytes | None:
    db = call.db
    value = db.find_as(SetValue, key)
    if value is None:
        return None
    member = value.pop_random(call.random.below)
    if not value.members:
        db.delete(key)
    call.rewrite_as([b"SREM", key, member])
    db.changed(key, 1)
    return member


def _pop_counted(call: Call, key: bytes, counts: tuple[bytes, ...]) -> Sequence[bytes] | Set[bytes]:
    if len(counts) > 1:
        raise syntax_error()
    count = pop_count_argument(counts[0])
    db = call.db
    value = db.find_as(SetValue, key)
    if value is None or count == 0:
        return set_reply(call, set())
    if count >= len(value.members):
        db.delete(key)
        db.changed(key, len(value.members))
        call.rewrite(deletions.of_replaced(call.node.settings), key)
        return set_reply(call, value.members)
    taken = [value.pop_random(call.random.below) for _ in range(count)]
    for i in range(0, count, REMOVED_AT_ONCE):
        call.rewrite(b"SREM", key, *taken[i : i + REMOVED_AT_ONCE])
    db.changed(key, count)
    return taken if call.client.proto < 3 else frozenset(taken)


@command("SRANDMEMBER", arity=-2, flags=READONLY, keys=FIRST_ARG, group="set")
def srandmember(call: Call, key: bytes, *counts: bytes) -> bytes | list[bytes] | None:
    """Random members of a set, which stays as it is; a negative count allows repetitions."""
    if len(counts) > 1:
        raise syntax_error()
    count = pick_count_argument(counts[0]) if counts else 0
    value = call.db.read_as(SetValue, key)
    below = call.random.below
    if not counts:
        return None if value is None else value.pick(below)
    if value is None:
        return []
    if count < 0:
        check_pick_count(count, pairs=False)
        return [value.pick(below) for _ in range(-count)]
    return value.sample(count, below)
