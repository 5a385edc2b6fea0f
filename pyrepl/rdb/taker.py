"""Where the keys go that the reader decodes: what it asks of whoever takes them in, and a dictionary that does.

Only strings, and collections that are kept packed, go this way: they are complete when they are decoded, and most of
what there is. All other values are told in `events.LoadedKeys`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

from pyrepl.rdb.compiled.bulk import Bulk


class Taker(Protocol):
    """Takes in keys of one database. Nothing else changes it meanwhile."""

    @property
    def holds(self) -> Callable[[bytes], bool]:
        """(key) -> is it there already?"""

    @property
    def add(self) -> Callable[[bytes, bytes], None]:
        """(key, value): take in a key that is not there yet."""

    def run(self, decoder: Bulk, data: bytes, start: int, also: dict[bytes, object], expires: dict[bytes, int]) -> None:
        """Take in what `decoder` decodes from `start` on, see `Bulk.run`; it tells how far it came.

        It ends before a key that is there already, or is in `also`. Times to live, Unix ms, go to `expires`.
        """

    def foresee(self, decoder: Bulk, count: int) -> None:
        """Make room at once for `count` keys more, a number that can be believed. Raises MemoryError."""


Into = Callable[[int], Taker]
"""(database) -> who takes in its keys."""

PresizeFor = Callable[[int, int, int | None], int]
"""(database, how many keys are to come, or so it is said, how many bytes of the input are to come, None where nobody
knows) -> for how many of them the taker is to make room."""


@final
class DictTaker:
    """See Taker. The two functions are the dictionary's own, so that nothing stands between in the plain form."""

    __slots__ = ("_table", "add", "holds")

    def __init__(self, table: dict[bytes, Any]) -> None:
        self._table = table
        self.holds: Callable[[bytes], bool] = table.__contains__
        self.add: Callable[[bytes, bytes], None] = table.__setitem__

    def run(self, decoder: Bulk, data: bytes, start: int, also: dict[bytes, object], expires: dict[bytes, int]) -> None:
        decoder.run(data, start, self._table, also, expires)

    def foresee(self, decoder: Bulk, count: int) -> None:
        decoder.foresee(self._table, count)
