"""Operations on sorted sets: add, increment, remove, pop, read. `commands` parses arguments and shapes replies.

A verb takes the database and the key. Only the verb knows whether the sorted set there is packed, plain or absent. It
notes the change, counts hits and misses where it only reads, removes the key with the last member, and raises
CommandError WRONGTYPE when another type is stored. A new sorted set is packed if it is small, and stays packed as long
as only `add`, `increment`, `score`, `scores` and `size` are called for it. `add_several` unpacks a sorted set, and
packs it again, or packs a new one, if it is small. Nothing that a verb returns is stored any more: callers may keep and
change it.

Unions, intersections and differences stand in `zset_algebra`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import CommandError
from pyrepl.keyspace.collection_scan import ContentScan
from pyrepl.keyspace.database import Database
from pyrepl.keyspace.packed import PackedZset
from pyrepl.keyspace.sampling import Below, distinct_positions
from pyrepl.keyspace.values import Value, ZsetValue, wrong_type
from pyrepl.keyspace.zset_ranges import Span, Window
from pyrepl.rdb import edits

NOT_A_NUMBER: Final = "ERR resulting score is not a number (NaN)"

_SET_SCORE: Final = edits.set_score
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""

# ------------------------------------------------------------------ changing


@final
class Condition:
    """ZADD's options: add new members only (`nx`), change old members only (`xx`), let scores of old members only rise
    (`gt`) or only fall (`lt`)."""

    __slots__ = ("gt", "lt", "nx", "xx")

    def __init__(self) -> None:
        self.nx: bool = False
        self.xx: bool = False
        self.gt: bool = False
        self.lt: bool = False

    def allows(self, old: float | None, score: float) -> bool:
        """May a member whose score is `old` (None: there is no such member) get `score`?"""
        if old is None:
            return not self.xx
        if self.nx:
            return False
        return not (self.gt and score <= old) and not (self.lt and score >= old)


def add(db: Database, key: bytes, member: bytes, score: float) -> int:
    """Give a member a score, which is not nan; make the sorted set if there is none. 1 if the member is new, else 0."""
    value = db.find_kept(key)
    if value is None:
        made = edits.packed_zset(PackedZset, member, score)
        db.put(key, ZsetValue({member: score or 0.0}) if made is None else made)
        db.changed(key, 1)
        return 1
    if type(value) is PackedZset:
        edited = _SET_SCORE(value, member, score)
        if edited is not None:
            done = edited[1]
            if done:
                db.repack(key, edited[0], 1)
            return done & 1
        value = db.find(key)
    if type(value) is not ZsetValue:
        raise wrong_type()
    assert isinstance(value, ZsetValue)
    old = value.scores.get(member)
    if old != score:
        value.put(member, score)
        db.changed(key, 1)
    return 1 if old is None else 0


def add_several(
    db: Database, key: bytes, members: tuple[bytes, ...], scores: list[float], condition: Condition
) -> tuple[int, int]:
    """As `add`, for several members, where the condition allows it; `scores` has one for each.

    Returns (how many members are new, how many others changed).
    """
    kept = db.find_kept(key)
    value = db.find_as(ZsetValue, key)
    if value is None:
        if condition.xx:
            return 0, 0
        value = ZsetValue()
        db.put(key, value)
    added = updated = 0
    for score, member in zip(scores, members):
        old = value.scores.get(member)
        if not condition.allows(old, score) or old == score:
            continue
        value.put(member, score)
        if old is None:
            added += 1
        else:
            updated += 1
    if kept is None or type(kept) is PackedZset:
        made = edits.packed_scores(PackedZset, value.scores)
        if made is not None:
            db.replace(key, made)
    if added + updated:
        db.changed(key, added + updated)
    return added, updated


def increment(db: Database, key: bytes, member: bytes, step: float, condition: Condition) -> float | None:
    """Add `step` to a member's score, 0 for a new member. Returns the sum, None when the condition forbids the change.

    Raises CommandError when the sum is no number.
    """
    old = _score_in(db.find_kept(key), member)
    if old is not None and condition.nx:
        return None
    score = step if old is None else old + step
    if score != score:
        raise CommandError(NOT_A_NUMBER)
    if not condition.allows(old, score):
        return None
    if old != score:
        add(db, key, member, score)
    return score


def discard(db: Database, key: bytes, members: tuple[bytes, ...]) -> int:
    """Remove members; how many were there."""
    value = db.find_as(ZsetValue, key)
    if value is None:
        return 0
    removed = 0
    for member in members:
        if value.discard(member):
            removed += 1
    if removed:
        _settle(db, key, value, removed)
    return removed


def _settle(db: Database, key: bytes, value: ZsetValue, removed: int) -> None:
    """After members were removed: delete the key if no member is left, and note the change."""
    if not value.scores:
        db.delete(key)
    db.changed(key, removed)


def pop_several(db: Database, key: bytes, count: int, highest: bool) -> list[tuple[float, bytes]] | None:
    """Remove up to `count` (at least 0) members: those with the lowest scores, lowest first, or the highest, highest
    first. Returns them as (score, member).

    None without a sorted set.
    """
    value = db.find_as(ZsetValue, key)
    if value is None or count == 0:
        return None if value is None else []
    if count >= len(value.scores):
        taken = list(value.order)
        if highest:
            taken.reverse()
        db.delete(key)
    else:
        end = -1 if highest else 0
        taken = [value.pop(end) for _ in range(count)]
    db.changed(key, len(taken))
    return taken


def remove_between(db: Database, key: bytes, span: Span) -> int:
    """Remove the members of a range; returns how many were removed."""
    value = db.find_as(ZsetValue, key)
    if value is None:
        return 0
    start, end = span.positions(value, False)
    if start >= end:
        return 0
    value.remove_slice(start, end)
    _settle(db, key, value, end - start)
    return end - start


def store(db: Database, key: bytes, scores: dict[bytes, float], changes: int = 1) -> None:
    """Store a sorted set in place of any old value, which counts as so many changes; an empty one deletes the key.
    `scores` is not copied."""
    if scores:
        value = ZsetValue(scores)
        value.drop_negative_zeros()
        db.put(key, value)
        db.changed(key, changes)
    elif db.delete(key):
        db.changed(key, 1)


# ------------------------------------------------------------------ asking


def scan(db: Database, key: bytes) -> ContentScan[float] | None:
    """Reads the members with their scores by cursor; None without a sorted set."""
    value = db.read_as(ZsetValue, key)
    return None if value is None else ContentScan(db, key, value.scores)


@final
class ScoreReader:
    """Reads scores of one sorted set, and members by their scores, several times in one command."""

    __slots__ = ("_value",)

    def __init__(self, value: ZsetValue) -> None:
        self._value = value

    def score(self, member: bytes) -> float | None:
        """The score of a member, None if there is no such member."""
        return self._value.scores.get(member)

    def pieces(self) -> list[list[tuple[float, bytes]]]:
        """All (score, member) in order, in lists that follow each other, none of them empty; do not change them."""
        return self._value.pieces


def reader(db: Database, key: bytes) -> ScoreReader | None:
    """What reads the sorted set within this command; None without one."""
    value = db.read_as(ZsetValue, key)
    return None if value is None else ScoreReader(value)


def between(db: Database, key: bytes, span: Span, window: Window) -> list[tuple[float, bytes]]:
    """The (score, member) of a range, in the direction and within the LIMIT of `window`; [] without a sorted set."""
    value = db.read_as(ZsetValue, key)
    return [] if value is None else window.entries(value, span)


def count_between(db: Database, key: bytes, span: Span) -> int:
    """How many members a range has."""
    value = db.read_as(ZsetValue, key)
    if value is None:
        return 0
    start, end = span.positions(value, False)
    return max(end - start, 0)


def pick(db: Database, key: bytes, below: Below) -> bytes | None:
    """A uniformly random member; None without a sorted set."""
    value = db.read_as(ZsetValue, key)
    if value is None:
        return None
    member: bytes = value.order[below(len(value.scores))][1]
    return member


def pick_several(db: Database, key: bytes, count: int, below: Below) -> list[tuple[float, bytes]]:
    """As `pick`, `count` times, with repetitions; each member with its score."""
    value = db.read_as(ZsetValue, key)
    if value is None:
        return []
    order, size = value.order, len(value.scores)
    return [order[below(size)] for _ in range(count)]


def sample(db: Database, key: bytes, count: int, below: Below) -> list[tuple[float, bytes]]:
    """`count` (at least 0) different random members with their scores; all members, in order, if there are no more."""
    value = db.read_as(ZsetValue, key)
    if value is None:
        return []
    order, size = value.order, len(value.scores)
    if count >= size:
        return list(order)
    return [order[position] for position in distinct_positions(count, size, below)]


def size(db: Database, key: bytes) -> int:
    """How many members there are, 0 without a sorted set."""
    kept = db.read_kept(key)
    if type(kept) is PackedZset:
        return edits.element_count(kept) >> 1
    if kept is None:
        return 0
    if not isinstance(kept, ZsetValue):
        raise wrong_type()
    return len(kept.scores)


def score(db: Database, key: bytes, member: bytes) -> float | None:
    """The score of a member, None if there is no such member."""
    return _score_in(db.read_kept(key), member)


def scores(db: Database, key: bytes, members: tuple[bytes, ...]) -> list[float | None]:
    """The scores of several members."""
    kept = db.read_kept(key)
    if kept is not None and not members:
        # Another type is refused without members too.
        _score_in(kept, b"")
    return [_score_in(kept, member) for member in members]


def _score_in(kept: Value | None, member: bytes) -> float | None:
    """The score of a member in the value that `find_kept` or `read_kept` returned."""
    if kept is None:
        return None
    if type(kept) is PackedZset:
        found: float | None = edits.member_score(kept, member)
        return found
    if not isinstance(kept, ZsetValue):
        raise wrong_type()
    return kept.scores.get(member)


def rank(db: Database, key: bytes, member: bytes, reverse: bool) -> tuple[int, float] | None:
    """A member's rank and score, None if there is no such member. The lowest score has rank 0; with `reverse` the
    highest."""
    value = db.read_as(ZsetValue, key)
    found = None if value is None else value.scores.get(member)
    if value is None or found is None:
        return None
    position: int = value.order.bisect_left((found, member))
    return (len(value.scores) - 1 - position if reverse else position), found
