"""Unions, intersections and differences of the sorted sets at several keys. Plain sets count as scores of 1.

The sum of floating-point scores depends on the order in which they are added. So the inputs are taken in Redis's order:
by size, the smallest first. A product or sum that is not a number (such as inf - inf) becomes 0. Results are new
dictionaries, which belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, final

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.values import SetValue, ZsetValue, wrong_type

Aggregate = Callable[[float, float], float]
"""Makes one score of two, for a member that two inputs have."""


def _sum(one: float, other: float) -> float:
    total = one + other
    return total if total == total else 0.0


def _lesser(one: float, other: float) -> float:
    return min(one, other)


def _greater(one: float, other: float) -> float:
    return max(one, other)


AGGREGATES: Final[dict[bytes, Aggregate]] = {b"SUM": _sum, b"MIN": _lesser, b"MAX": _greater}


@final
class ScoredSets:
    """The sorted sets and sets at several keys, for one operation of one command. Nothing changes them through it."""

    __slots__ = ("_inputs", "aggregate")

    def __init__(self, db: Database, keys: Sequence[bytes]) -> None:
        """Reads at least one key; a missing one is empty. Raises CommandError WRONGTYPE."""
        self._inputs = [_Input(_scores(db, key)) for key in keys]
        self.aggregate: Aggregate = _sum
        """How the scores of a member that several inputs have become one."""

    def weigh(self, weights: Sequence[float]) -> None:
        """Set the factor of each input's scores; it is 1 until then."""
        for source, weight in zip(self._inputs, weights, strict=True):
            source.weight = weight

    def union(self) -> dict[bytes, float]:
        """The members of any input, scores aggregated."""
        result: dict[bytes, float] = {}
        aggregate = self.aggregate
        for source in self._by_size():
            for member, score in source.scores.items():
                weighed = source.weighed(score)
                known = result.get(member)
                result[member] = weighed if known is None else aggregate(known, weighed)
        return result

    def intersection(self) -> dict[bytes, float]:
        """The members of every input, scores aggregated."""
        first, *others = self._by_size()
        result: dict[bytes, float] = {}
        for member, score in first.scores.items():
            total = first.weighed(score)
            for source in others:
                other = source.scores.get(member)
                if other is None:
                    break
                total = self.aggregate(total, source.weighed(other))
            else:
                result[member] = total
        return result

    def difference(self) -> dict[bytes, float]:
        """The members of the first input that no other has, with their scores."""
        first, *others = self._inputs
        return {
            member: score
            for member, score in first.scores.items()
            if not any(member in source.scores for source in others)
        }

    def shared_count(self, limit: int) -> int:
        """How many members all inputs share, counted up to `limit`; 0 means no limit."""
        first, *others = self._by_size()
        count = 0
        for member in first.scores:
            if all(member in source.scores for source in others):
                count += 1
                if count == limit:
                    break
        return count

    def _by_size(self) -> list[_Input]:
        """The inputs, the smallest first; those of equal size in the order of the keys."""
        return sorted(self._inputs, key=lambda source: len(source.scores))


@final
class _Input:
    """One key's members with their scores, as they are stored, and the factor of the scores."""

    __slots__ = ("scores", "weight")

    def __init__(self, scores: Mapping[bytes, float]) -> None:
        self.scores = scores
        self.weight: float = 1.0

    def weighed(self, score: float) -> float:
        """The score times the weight; 0 where that is not a number (0 * inf)."""
        product = self.weight * score
        return product if product == product else 0.0


def _scores(db: Database, key: bytes) -> Mapping[bytes, float]:
    value = db.read(key)
    if value is None:
        return {}
    if isinstance(value, ZsetValue):
        return value.scores
    if isinstance(value, SetValue):
        return UnitScores(value.members)
    raise wrong_type()


@final
class UnitScores(Mapping[bytes, float]):
    """A plain set seen as if each member had the score 1; it shares the set, and copies nothing."""

    __slots__ = ("_members",)

    def __init__(self, members: set[bytes]) -> None:
        self._members = members

    def __getitem__(self, member: bytes) -> float:
        if member not in self._members:
            raise KeyError(member)
        return 1.0

    def __contains__(self, member: object) -> bool:
        return member in self._members

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
