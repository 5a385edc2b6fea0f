"""Makes room for the keys of a snapshot that is being loaded: large tables are made in a thread, while the loop serves
clients.

`pyrepl.rdb.compiled.room` says what a room is; `pyrepl.keyspace.foresight` decides for how many keys one is wanted, and
calls this module. Tables that grow later are made larger by `growing`.

A table with few keys moves into its room when the room is made, and the load waits for that. A table with many keys
(a snapshot's statement of its size is not believed at once) moves in parts, while more keys come.
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from pyrepl.store.store import Growable, Growth, Room

_FEW: Final = 20_000
"""Keys that a table can move in about a millisecond."""
_STEP: Final = 50_000
"""Keys of a large table for which a step finds places, in less than a millisecond."""
_REST: Final = 20_000
"""The last step may still move so many keys."""


@final
class _Making:
    """One room, for one table, from the order to make it until the table has moved in."""

    __slots__ = ("_growth", "_made", "_room", "_table", "size")

    def __init__(self, table: Growable, size: int, *, is_sure: bool) -> None:
        """Begin to make room for `size`. Raises MemoryError."""
        self._table = table
        room = table.room(size)
        self._room: Room | None = room
        """None once there is nothing more to do."""
        self.size = size
        self._growth: Growth | None = None
        self._made = asyncio.get_running_loop().run_in_executor(None, room.make, is_sure)

    def is_for(self, table: Growable) -> bool:
        return self._table == table

    @property
    def is_made(self) -> bool:
        return self._made.done()

    @property
    def is_awaited(self) -> bool:
        """Should the load wait until this room is made? Not if the table has many keys: it moves in parts anyway."""
        return not self.is_made and len(self._table) < _FEW

    def go_on(self) -> bool:
        """Move the table into its room, or a part of it. True when the whole table has moved."""
        room = self._room
        if room is None or not self.is_made:
            return room is None
        if self._growth is None and len(self._table) < 2 * _FEW:
            self._table.move_in(room)
        elif not self._grow(room):
            return False
        self._room = self._growth = None
        return True

    def _grow(self, room: Room) -> bool:
        if self._growth is None:
            self._growth = self._table.growth(room)
        left = self._growth.step(_STEP)
        if left > _REST:
            return False
        old = self._growth.finish() if left >= 0 else None
        if old is not None:
            asyncio.get_running_loop().run_in_executor(None, old.give_back)
        return True


@final
class Rooms:
    """The rooms of one load (`foresight.RoomMaker`). A table that has outgrown its room when that is made stays where
    it is."""

    def __init__(self) -> None:
        self._making: list[_Making] = []
        """The last room of each table."""

    @property
    def is_making(self) -> bool:
        return any(making.is_awaited for making in self._making)

    def make(self, table: Growable, count: int, *, is_sure: bool) -> bool:
        """See `foresight.RoomMaker`. Must be called inside the event loop. Raises MemoryError when memory is out."""
        size = table.size_for(count)
        if not size:
            return False
        last = next((making for making in self._making if making.is_for(table)), None)
        if last is not None and (last.size >= size or not last.go_on()):
            return True
        making = _Making(table, size, is_sure=is_sure)
        self._making = [*(one for one in self._making if one is not last), making]
        return True

    def move_in(self) -> None:
        """Let each table move into its room as far as it can now; to be called again and again during the load."""
        for making in self._making:
            making.go_on()
