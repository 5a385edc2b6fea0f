"""The shape that all machines of pyrepl have: a table of moves, (state, trigger) -> next state.

Not here: the tables themselves, each beside its machine, and what a machine does on the way.

A machine writes its state in one place, a method that asks its table:

    def _move(self, trigger: DoorTrigger) -> None:
        self.state = DOOR.after(self.state, trigger)

What the table does not hold is no move, so a message or a call at the wrong time ends in an error where it came in, and
never in a state that nobody thought of. docs/machines.md is drawn from the tables.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, Generic, TypeVar, final

from pyrepl.errors import PeerError

State = TypeVar("State", bound=enum.Enum)
Trigger = TypeVar("Trigger", bound=enum.StrEnum)


@final
class Table(Generic[State, Trigger]):
    """The moves of one machine. A state's value is its name in errors, a trigger's too."""

    __slots__ = ("moves", "name", "starts", "where")

    def __init__(
        self,
        name: str,
        starts: tuple[State, ...],
        moves: Mapping[tuple[State, Trigger], State],
        *,
        where: str = "",
    ) -> None:
        """`name` is the heading of its diagram. `starts` are the states in which a machine may begin, the usual one
        first. `where` says in errors which of two like machines is meant: " on the RDB connection".
        """
        self.name: Final = name
        self.starts: Final = starts
        self.moves: Final = dict(moves)
        self.where: Final = where

    def after(self, state: State, trigger: Trigger) -> State:
        """The state after `trigger`. Raises PeerError if that is not expected in `state`."""
        after = self.moves.get((state, trigger))
        if after is None:
            raise PeerError(f"{trigger} is not expected{self.where} in state {state.value}")
        return after

    def allows(self, state: State, trigger: Trigger) -> bool:
        """Is `trigger` expected in `state`?"""
        return (state, trigger) in self.moves
