"""Reads members with scores of a sorted set or of a plain set, for ZUNION, ZINTER and ZDIFF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import final

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.values import SetValue, ZsetValue, wrong_type


def read_scores(db: Database, key: bytes) -> Mapping[bytes, float]:
    """The members of a sorted set or set as they are stored: never change them. Empty without a key.

    Raises CommandError WRONGTYPE.
    """
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
