"""A dictionary of the plain store, as a table that can be made larger while clients are served.

`pyrepl.rdb.compiled.room` makes it larger; `pyrepl.daemon.memory` decides when, and in which thread. In the plain form,
and for small dictionaries, no room is made.
"""

from __future__ import annotations

from typing import Any, final

from pyrepl.rdb.compiled.room import Growth, Room, filling, move_in, size_for
from pyrepl.store import store


@final
class PlainTable:
    """See `store.Growable`."""

    __slots__ = ("_table",)

    def __init__(self, table: dict[bytes, Any]) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainTable) and self._table is other._table

    def __hash__(self) -> int:
        return id(self._table)

    def size_for(self, count: int) -> int:
        return size_for(count)

    def filling(self) -> tuple[int, int]:
        return filling(self._table)

    def room(self, size: int) -> Room:
        return Room(size)

    def move_in(self, room: store.Room) -> None:
        assert isinstance(room, Room)
        move_in(self._table, room)

    def growth(self, room: store.Room) -> Growth:
        assert isinstance(room, Room)
        return Growth(self._table, room)
