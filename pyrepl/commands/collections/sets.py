"""Commands on one set, and SMOVE. The operations on a set are in `keyspace.set_verbs`; intersections, unions and
differences are in `set_algebra`.

Replies are copies, because later commands of a transaction may change the set before the reply is sent. Dirty counts,
replies and error texts are Redis 7.0's.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final, final

from pyrepl.commands.engine import deletions
from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import REPEATS_LIMIT, check_pick_count, pick_count_argument, pop_count_argument
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, FIRST_TWO, READONLY, WRITE, Words, command
from pyrepl.keyspace import set_verbs

REMOVED_AT_ONCE: Final = 1024
"""How many members one propagated SREM names at most when SPOP removes more, so that no command gets too long."""


@final
class _Sadd(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 3:
            return set_verbs.add(call.db, argv[1], argv[2])
        return set_verbs.add_several(call.db, argv[1], argv[2:])


_SADD: Final = _Sadd()


@command("SADD", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="set", words=_SADD)
def sadd(call: Call, key: bytes, *members: bytes) -> object:
    """Add members to a set, creating it if need be; how many were new."""
    return _SADD.run(call, [b"SADD", key, *members])


@command("SREM", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="set")
def srem(call: Call, key: bytes, *members: bytes) -> int:
    """Remove members from a set; how many were there."""
    return set_verbs.discard(call.db, key, members)


@command("SMOVE", arity=4, flags=WRITE | FAST, keys=FIRST_TWO, group="set")
def smove(call: Call, source: bytes, destination: bytes, member: bytes) -> int:
    """Move a member from one set to another; 1 if it was there."""
    return int(set_verbs.move(call.db, source, destination, member))


@command("SMEMBERS", arity=2, flags=READONLY, keys=FIRST_ARG, group="set")
def smembers(call: Call, key: bytes) -> Sequence[bytes] | Set[bytes]:
    """All members of a set."""
    return set_verbs.listed(call.db, key) if call.client.proto < 3 else set_verbs.everything(call.db, key)


@command("SISMEMBER", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="set")
def sismember(call: Call, key: bytes, member: bytes) -> int:
    """Whether a member is in a set: 1 or 0."""
    return int(set_verbs.contains(call.db, key, member))


@command("SMISMEMBER", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="set", since="6.2.0")
def smismember(call: Call, key: bytes, *members: bytes) -> list[int]:
    """For each of several members whether it is in a set."""
    return set_verbs.contains_several(call.db, key, members)


@command("SCARD", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="set")
def scard(call: Call, key: bytes) -> int:
    """The number of members of a set."""
    return set_verbs.size(call.db, key)


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
    """Remove a random member and return it, None without a set."""
    member = set_verbs.pop(call.db, key, call.random.below)
    if member is not None:
        call.rewrite_as([b"SREM", key, member])
    return member


def _pop_counted(call: Call, key: bytes, counts: tuple[bytes, ...]) -> Sequence[bytes] | Set[bytes]:
    """Remove as many random members as the only item of `counts` says. Raises CommandError."""
    if len(counts) > 1:
        raise syntax_error()
    count = pop_count_argument(counts[0])
    everything = set_verbs.take_whole(call.db, key, count)
    if everything is not None:
        call.rewrite(deletions.of_replaced(call.node.settings), key)
        return list(everything) if call.client.proto < 3 else everything
    taken = set_verbs.pop_several(call.db, key, count, call.random.below)
    for i in range(0, len(taken), REMOVED_AT_ONCE):
        call.rewrite(b"SREM", key, *taken[i : i + REMOVED_AT_ONCE])
    return taken if call.client.proto < 3 else frozenset(taken)


@command("SRANDMEMBER", arity=-2, flags=READONLY, keys=FIRST_ARG, group="set")
def srandmember(call: Call, key: bytes, *counts: bytes) -> bytes | list[bytes] | None:
    """Random members of a set, which stays as it is; a negative count allows repetitions."""
    if len(counts) > 1:
        raise syntax_error()
    count = pick_count_argument(counts[0]) if counts else 0
    below = call.random.below
    if not counts:
        return set_verbs.pick(call.db, key, below)
    if count >= 0:
        return set_verbs.sample(call.db, key, count, below)
    if count >= -REPEATS_LIMIT:
        return set_verbs.pick_several(call.db, key, -count, below)
    # Refused only where there is a set.
    if set_verbs.size(call.db, key):
        check_pick_count(count, pairs=False)
    return []
