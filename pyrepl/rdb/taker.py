"""Takes in keys that the reader decodes: the methods that the reader calls, and the form for a dictionary.

Only strings, and collections that are kept packed, are handed to a taker: they are complete when they are decoded, and
most keys are of these kinds. All other values are in `events.LoadedKeys`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

from pyrepl.rdb.compiled.bulk import Bulk
from pyrepl.rdb.events import Noted


class Taker(Protocol):
    """Takes in keys of one database. Nothing else changes the database meanwhile."""

    @property
    def holds(self) -> Callable[[bytes], bool]:
        """(key) -> is the key there already?"""

    @property
    def add(self) -> Callable[[bytes, bytes], None]:
        """(key, value): take in a key that is not there yet."""

    def run(self, decoder: Bulk, data: bytes, start: int, also: dict[bytes, object], noted: Noted) -> None:
        """Take in the keys that `decoder` decodes from `start` on (see `Bulk.run`); the decoder then tells how far it
        came.

        It stops before a key that is there already or is in `also`. What stands before the keys goes to `noted`.
        """

    def foresee(self, decoder: Bulk, count: int) -> None:
        """Make room at once for `count` keys more, a number that can be believed. Raises MemoryError."""


Into = Callable[[int], Taker]
"""(database) -> the taker of its keys."""

PresizeFor = Callable[[int, int, int | None], int]
"""(database, how many keys the snapshot says will come, how many bytes of the input are to come, None if its length
is not known) -> for how many of the keys the taker must make room."""


@final
class DictTaker:
    """See Taker. The two functions are methods of the dictionary, so that the plain form makes no extra calls."""

    __slots__ = ("_table", "add", "holds")

    def __init__(self, table: dict[bytes, Any]) -> None:
        self._table = table
        self.holds: Callable[[bytes], bool] = table.__contains__
        self.add: Callable[[bytes, bytes], None] = table.__setitem__

    def run(self, decoder: Bulk, data: bytes, start: int, also: dict[bytes, object], noted: Noted) -> None:
        decoder.run(data, start, self._table, also, noted)

    def foresee(self, decoder: Bulk, count: int) -> None:
        decoder.foresee(self._table, count)
