"""The watch and the keeper, as the store and the driver see them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.gate_room import GateRoom
from pyrepl.daemon.mailbox.keeper_link import NoKeeper
from pyrepl.mailbox.gates import Seen
from tests.unit.daemon.rig import in_loop

ORPHANED = b"wait"


@in_loop
async def test_both_are_asked(tmp_path: Path) -> None:
    box = tmp_path / "box"
    for name in ("cur", "new"):
        (box / name).mkdir(parents=True)
    room = GateRoom(tmp_path, ORPHANED, lambda: None, lambda: None)
    room.follow("1" * 32, os.fsencode(box))
    room.follow_user("alice", os.fsencode(tmp_path))
    (tmp_path / ".Work").mkdir()
    assert room.take_users() == ["alice"]
    gate = os.fsencode(box)
    room.open(gate)
    assert (room.changes(gate), room.changes(gate)) == (None, []), "while it is open"
    room.shut(gate)
    assert room.changes(gate) is None
    (box / "new" / "mail").write_bytes(b"x")
    assert room.take([]) == [("1" * 32, Seen(brought=True))] and room.keeper.pid != os.getpid()
    room.keeper.bye()
    room.close()


@in_loop
async def test_without_a_keeper_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoKeeper):
        (tmp_path / "mailbox-keeper").mkdir()
        GateRoom(tmp_path, ORPHANED, lambda: None, lambda: None)
