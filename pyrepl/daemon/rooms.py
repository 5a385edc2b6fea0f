"""Room for the keys of a snapshot that is being loaded: large tables are made in a thread, beside all else.

What a room is stands in `pyrepl.rdb.compiled.room`, when room is wanted in `pyrepl.keyspace.loader`. Tables that grow
later are `growing`'s.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple, final

from pyrepl.rdb.compiled.room import Room, move_in, size_for

MOST_BELIEVED: Final = 1 << 23
"""Keys that a snapshot's word is taken for; a table for so many has a third of a gigabyte."""
_FEW: Final = 20_000
"""Keys that move into another table in a millisecond."""


class _Making(NamedTuple):
    table: dict[bytes, Any]
    room: Room
    made: asyncio.Future[None]


@final
class Rooms:
    """The rooms of one load, see `loader.RoomMaker`. Each table gets one at most, however often it is asked for."""

    def __init__(self) -> None:
        self._making: list[_Making] = []
        self._tables: list[dict[bytes, Any]] = []
        """Those that have been asked for."""

    @property
    def is_making(self) -> bool:
        return any(not making.made.done() for making in self._making)

    def make(self, table: dict[bytes, Any], count: int) -> bool:
        """Must be called inside the loop. Raises MemoryError when there is none."""
        if any(table is known for known in self._tables):
            return True
        size = size_for(min(count, MOST_BELIEVED)) if len(table) < _FEW else 0
        if not size:
            return False
        room = Room(size)
        self._tables.append(table)
        self._making.append(_Making(table, room, asyncio.get_running_loop().run_in_executor(None, room.make)))
        return True

    def move_in(self) -> None:
        """A table that has many keys by now stays where it is."""
        if not self._making:
            return
        for making in self._making:
            if making.made.done() and len(making.table) < 2 * _FEW:
                move_in(making.table, making.room)
        self._making = [making for making in self._making if not making.made.done()]
