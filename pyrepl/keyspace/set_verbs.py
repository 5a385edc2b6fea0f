"""Operations on sets: add, remove, move, pop, read. `commands` parses arguments and shapes replies.

A verb takes the database and the key. Only the verb knows whether the set there is packed, plain or absent. It notes
the change, counts hits and misses where it only reads, removes the key with the last member, and raises CommandError
WRONGTYPE when another type is stored. Only a set that came with a snapshot is packed, until a verb is called for it:
every verb unpacks it. Nothing that a verb returns is stored any more: callers may keep and change it.

Intersections, unions and differences stand in `set_algebra`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.keyspace.collection_scan import ElementScan
from pyrepl.keyspace.database import Database
from pyrepl.keyspace.sampling import Below
from pyrepl.keyspace.values import SetValue, wrong_type

# ------------------------------------------------------------------ changing


def add(db: Database, key: bytes, member: bytes) -> int:
    """Add a member; make the set if there is none. 1 if the member is new, else 0."""
    value = db.find(key)
    if value is None:
        db.put(key, SetValue({member}))
    elif type(value) is not SetValue:
        raise wrong_type()
    elif not value.add(member):
        return 0
    db.changed(key, 1)
    return 1


def add_several(db: Database, key: bytes, members: Sequence[bytes]) -> int:
    """As `add`, for several members; how many of them are new."""
    value = db.find_as(SetValue, key)
    if value is None:
        value = SetValue(set(members))
        db.put(key, value)
        added = len(value.members)
    else:
        added = value.update(members)
    if added:
        db.changed(key, added)
    return added


def discard(db: Database, key: bytes, members: Sequence[bytes]) -> int:
    """Remove members; how many were there."""
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


def move(db: Database, source: bytes, destination: bytes, member: bytes) -> bool:
    """Move a member from one set to another; True if it was in `source`."""
    value = db.find_as(SetValue, source)
    if value is None:
        return False
    target = db.find_as(SetValue, destination)
    if value is target:
        return member in value.members
    if not value.discard(member):
        return False
    if not value.members:
        db.delete(source)
    db.changed(source, 1)
    if target is None:
        db.put(destination, SetValue({member}))
        db.changed(destination, 1)
    elif target.add(member):
        db.changed(destination, 1)
    return True


def pop(db: Database, key: bytes, below: Below) -> bytes | None:
    """Remove and return a uniformly random member; None without a set."""
    value = db.find_as(SetValue, key)
    if value is None:
        return None
    member = value.pop_random(below)
    if not value.members:
        db.delete(key)
    db.changed(key, 1)
    return member


def take_whole(db: Database, key: bytes, count: int) -> set[bytes] | None:
    """Remove the key and return all members, if they are `count` or fewer; None if they are more, or without a set."""
    value = db.find_as(SetValue, key)
    if value is None or count < len(value.members):
        return None
    db.delete(key)
    db.changed(key, len(value.members))
    return value.members


def pop_several(db: Database, key: bytes, count: int, below: Below) -> list[bytes]:
    """Remove and return `count` random members; [] without a set. `count` must be below the number of members
    (`take_whole` takes all)."""
    value = db.find_as(SetValue, key)
    if value is None or count == 0:
        return []
    assert count < len(value.members)
    taken = [value.pop_random(below) for _ in range(count)]
    db.changed(key, count)
    return taken


def store(db: Database, key: bytes, members: set[bytes]) -> None:
    """Store a set in place of any old value; an empty set deletes the key. `members` is taken over, not copied."""
    if members:
        db.put(key, SetValue(members))
        db.changed(key, 1)
    elif db.delete(key):
        db.changed(key, 1)


# ------------------------------------------------------------------ asking


def pick(db: Database, key: bytes, below: Below) -> bytes | None:
    """A uniformly random member, which stays; None without a set."""
    value = db.read_as(SetValue, key)
    return None if value is None else value.pick(below)


def pick_several(db: Database, key: bytes, count: int, below: Below) -> list[bytes]:
    """As `pick`, `count` times, with repetitions; [] without a set."""
    value = db.read_as(SetValue, key)
    return [] if value is None else [value.pick(below) for _ in range(count)]


def sample(db: Database, key: bytes, count: int, below: Below) -> list[bytes]:
    """`count` (at least 0) different random members, all members if there are fewer; [] without a set."""
    value = db.read_as(SetValue, key)
    return [] if value is None else value.sample(count, below)


def listed(db: Database, key: bytes) -> list[bytes]:
    """All members: a copy; [] without a set."""
    value = db.read_as(SetValue, key)
    return [] if value is None else list(value.members)


def everything(db: Database, key: bytes) -> frozenset[bytes]:
    """As `listed`, as a set."""
    value = db.read_as(SetValue, key)
    return frozenset() if value is None else frozenset(value.members)


def scan(db: Database, key: bytes) -> ElementScan | None:
    """Reads the members by cursor; None without a set."""
    value = db.read_as(SetValue, key)
    return None if value is None else ElementScan(db, key, value.members)


def contains(db: Database, key: bytes, member: bytes) -> bool:
    """Is `member` in the set?"""
    value = db.read_as(SetValue, key)
    return value is not None and member in value.members


def contains_several(db: Database, key: bytes, members: Sequence[bytes]) -> list[int]:
    """For each of several members: 1 if it is in the set, else 0."""
    value = db.read_as(SetValue, key)
    if value is None:
        return [0] * len(members)
    present = value.members
    return [int(member in present) for member in members]


def size(db: Database, key: bytes) -> int:
    """How many members there are, 0 without a set."""
    value = db.read_as(SetValue, key)
    return 0 if value is None else len(value.members)
