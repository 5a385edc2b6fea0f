"""Intersections, unions and differences of sets, answered, stored or counted.

`keyspace.set_algebra` computes them. It checks the type of every key first, as Redis 7.0 does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import counted_keys, limit_argument
from pyrepl.commands.engine.table import ALL_ARGS, DENYOOM, MOVABLE_KEYS, READONLY, WRITE, command, numkeys_at
from pyrepl.keyspace import set_verbs
from pyrepl.keyspace.database import Database
from pyrepl.keyspace.set_algebra import difference, intersection, shared_count, union

SetOperation = Callable[[Database, Sequence[bytes]], set[bytes]]
"""Makes a new set from the sets at several keys of a database."""


def _answer(call: Call, keys: tuple[bytes, ...], operation: SetOperation) -> Sequence[bytes] | Set[bytes]:
    """The result as a reply: an array for RESP2, a set for RESP3."""
    result = operation(call.db, keys)
    return list(result) if call.client.proto < 3 else result


def _store(call: Call, destination: bytes, keys: tuple[bytes, ...], operation: SetOperation) -> int:
    """Put the result under `destination` in place of any value there; return its size. An empty result only deletes."""
    result = operation(call.db, keys)
    set_verbs.store(call.db, destination, result)
    return len(result)


@command("SINTER", arity=-2, flags=READONLY, keys=ALL_ARGS, group="set")
def sinter(call: Call, *keys: bytes) -> Sequence[bytes] | Set[bytes]:
    """The members that several sets share."""
    return _answer(call, keys, intersection)


@command("SUNION", arity=-2, flags=READONLY, keys=ALL_ARGS, group="set")
def sunion(call: Call, *keys: bytes) -> Sequence[bytes] | Set[bytes]:
    """The members of any of several sets."""
    return _answer(call, keys, union)


@command("SDIFF", arity=-2, flags=READONLY, keys=ALL_ARGS, group="set")
def sdiff(call: Call, *keys: bytes) -> Sequence[bytes] | Set[bytes]:
    """The members of the first set that none of the others has."""
    return _answer(call, keys, difference)


@command("SINTERSTORE", arity=-3, flags=WRITE | DENYOOM, keys=ALL_ARGS, group="set")
def sinterstore(call: Call, destination: bytes, *keys: bytes) -> int:
    """Store the members that several sets share; how many they are."""
    return _store(call, destination, keys, intersection)


@command("SUNIONSTORE", arity=-3, flags=WRITE | DENYOOM, keys=ALL_ARGS, group="set")
def sunionstore(call: Call, destination: bytes, *keys: bytes) -> int:
    """Store the members of any of several sets; how many they are."""
    return _store(call, destination, keys, union)


@command("SDIFFSTORE", arity=-3, flags=WRITE | DENYOOM, keys=ALL_ARGS, group="set")
def sdiffstore(call: Call, destination: bytes, *keys: bytes) -> int:
    """Store the members of the first set that none of the others has; how many they are."""
    return _store(call, destination, keys, difference)


@command("SINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="set", since="7.0.0")
def sintercard(call: Call, *arguments: bytes) -> int:
    """How many members several sets share, counted up to a limit."""
    keys = counted_keys(arguments, "ERR Number of keys can't be greater than number of args")
    options = arguments[1 + len(keys) :]
    limit = 0
    for i in range(0, len(options), 2):
        if options[i].upper() != b"LIMIT" or i + 1 == len(options):
            raise syntax_error()
        limit = limit_argument(options[i + 1])
    return shared_count(call.db, keys, limit)
