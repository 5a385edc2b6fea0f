"""Intersections, unions and differences of sets, answered, stored or counted.

The type of every key is checked before anything is computed, as in Redis 7.0. Results are new sets. The sets under the
keys are read in place and never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import counted_keys, limit_argument
from pyrepl.commands.engine.table import ALL_ARGS, DENYOOM, MOVABLE_KEYS, READONLY, WRITE, command, numkeys_at
from pyrepl.keyspace import set_verbs

SetOperation = Callable[[list[set[bytes] | None]], set[bytes]]
"""Makes a new set from the members of each key. The list is not empty; a missing key stands in it as None."""


def intersection(inputs: list[set[bytes] | None]) -> set[bytes]:
    """The members that all inputs have, as a new set. Walks the smallest input, so it takes O(its size * inputs)."""
    present = [members for members in inputs if members is not None]
    if len(present) < len(inputs):
        return set()
    present.sort(key=len)
    return present[0].intersection(*present[1:])


def union(inputs: list[set[bytes] | None]) -> set[bytes]:
    """The members that at least one input has, as a new set."""
    result: set[bytes] = set()
    return result.union(*(members for members in inputs if members is not None))


def difference(inputs: list[set[bytes] | None]) -> set[bytes]:
    """The members of the first input that no other input has, as a new set."""
    first = inputs[0]
    if first is None:
        return set()
    result = set(first)
    for members in inputs[1:]:
        if members is not None and result:
            _subtract(result, members)
    return result


def _subtract(result: set[bytes], members: set[bytes]) -> None:
    """Remove `members` from `result`. Walks the smaller of the two sets."""
    if len(members) <= len(result):
        result.difference_update(members)
    else:
        result.intersection_update([member for member in result if member not in members])


def _inputs(call: Call, keys: tuple[bytes, ...]) -> list[set[bytes] | None]:
    """The members of each key, None for a missing one. Raises CommandError WRONGTYPE for a key of another type."""
    return [set_verbs.read_members(call.db, key) for key in keys]


def _answer(call: Call, keys: tuple[bytes, ...], operation: SetOperation) -> Sequence[bytes] | Set[bytes]:
    """The result as a reply: an array for RESP2, a set for RESP3."""
    result = operation(_inputs(call, keys))
    return list(result) if call.client.proto < 3 else result


def _store(call: Call, destination: bytes, keys: tuple[bytes, ...], operation: SetOperation) -> int:
    """Put the result under `destination` in place of any value there; return its size. An empty result only deletes."""
    result = operation(_inputs(call, keys))
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
    inputs = _inputs(call, keys)
    size = len(intersection(inputs)) if limit == 0 else _shared_up_to(inputs, limit)
    return min(size, limit) if limit else size


def _shared_up_to(inputs: list[set[bytes] | None], limit: int) -> int:
    """How many members all inputs have in common. Stops counting at `limit`, which is 1 or more."""
    present = [members for members in inputs if members is not None]
    if len(present) < len(inputs):
        return 0
    present.sort(key=len)
    count = 0
    for member in present[0]:
        if all(member in members for members in present[1:]):
            count += 1
            if count == limit:
                break
    return count
