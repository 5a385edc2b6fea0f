"""Intersections, unions and differences of the sets at several keys.

Every key is checked for its type before anything is computed (CommandError WRONGTYPE), and counts as a hit or miss; a
missing key is an empty set. Results are new sets, which belong to the caller; the sets themselves are never copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.values import SetValue


def _inputs(db: Database, keys: Sequence[bytes]) -> list[set[bytes] | None]:
    """The members of each key as they are stored, None where there is no key."""
    inputs: list[set[bytes] | None] = []
    for key in keys:
        value = db.read_as(SetValue, key)
        inputs.append(None if value is None else value.members)
    return inputs


def intersection(db: Database, keys: Sequence[bytes]) -> set[bytes]:
    """The members that the sets at all keys (at least one) share. Walks the smallest: O(its size * keys)."""
    present = _shared(_inputs(db, keys))
    return present[0].intersection(*present[1:]) if present else set()


def union(db: Database, keys: Sequence[bytes]) -> set[bytes]:
    """The members of the sets at any of the keys."""
    result: set[bytes] = set()
    return result.union(*(members for members in _inputs(db, keys) if members is not None))


def difference(db: Database, keys: Sequence[bytes]) -> set[bytes]:
    """The members of the set at the first key that none of the others has."""
    first, *others = _inputs(db, keys)
    if first is None:
        return set()
    result = set(first)
    for members in others:
        if members is not None and result:
            _subtract(result, members)
    return result


def shared_count(db: Database, keys: Sequence[bytes], limit: int) -> int:
    """How many members `intersection` has, counted up to `limit`; 0 means no limit."""
    if not limit:
        return len(intersection(db, keys))
    present = _shared(_inputs(db, keys))
    if not present:
        return 0
    count = 0
    for member in present[0]:
        if all(member in members for members in present[1:]):
            count += 1
            if count == limit:
                break
    return count


def _shared(inputs: list[set[bytes] | None]) -> list[set[bytes]]:
    """The inputs by size; [] when one of them is missing, so that nothing can be shared."""
    present = [members for members in inputs if members is not None]
    if len(present) < len(inputs):
        return []
    present.sort(key=len)
    return present


def _subtract(result: set[bytes], members: set[bytes]) -> None:
    """Take `members` out of `result`, walking the smaller of the two."""
    if len(members) <= len(result):
        result.difference_update(members)
    else:
        result.intersection_update([member for member in result if member not in members])
