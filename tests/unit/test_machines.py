"""A table of moves: what it holds, and what it refuses."""

from __future__ import annotations

import enum

import pytest

from pyrepl.errors import PeerError
from pyrepl.machines import Table


class Door(enum.StrEnum):
    OPEN = "open"
    SHUT = "shut"


class Hand(enum.StrEnum):
    PUSH = "push"
    PULL = "pull"


DOOR = Table("A door", (Door.SHUT,), {(Door.SHUT, Hand.PUSH): Door.OPEN, (Door.OPEN, Hand.PULL): Door.SHUT})


def test_what_the_table_holds_is_a_move() -> None:
    assert DOOR.after(Door.SHUT, Hand.PUSH) is Door.OPEN and DOOR.after(Door.OPEN, Hand.PULL) is Door.SHUT
    assert DOOR.allows(Door.SHUT, Hand.PUSH) and not DOOR.allows(Door.SHUT, Hand.PULL)


def test_what_it_does_not_hold_is_refused() -> None:
    with pytest.raises(PeerError, match=r"^pull is not expected in state shut$"):
        DOOR.after(Door.SHUT, Hand.PULL)


def test_the_place_is_named_where_there_are_two() -> None:
    table = Table("A door", (Door.SHUT,), {(Door.SHUT, Hand.PUSH): Door.OPEN}, where=" at the back")
    with pytest.raises(PeerError, match=r"^push is not expected at the back in state open$"):
        table.after(Door.OPEN, Hand.PUSH)
