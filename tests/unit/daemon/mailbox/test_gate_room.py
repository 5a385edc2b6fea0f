"""The watch and the keeper, as the store and the driver see them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from inotify_simple import INotify

from pyrepl.daemon.mailbox.gate_room import GateRoom
from pyrepl.daemon.mailbox.keeper_link import NoKeeper
from pyrepl.mailbox.gate_states import Seen
from tests.unit.daemon.rig import in_loop, until

ORPHANED = b"wait"


@in_loop
async def test_both_are_asked(tmp_path: Path) -> None:
    box = tmp_path / "box"
    for name in ("cur", "new"):
        (box / name).mkdir(parents=True)
    room = GateRoom(tmp_path, ORPHANED, lambda: None, lambda: None, 1.0)
    room.follow("1" * 32, os.fsencode(box))
    room.follow_user("alice", os.fsencode(tmp_path))
    (tmp_path / ".Work").mkdir()
    assert room.take_users() == ["alice"]
    gate = os.fsencode(box)
    room.open("1" * 32, gate)
    assert (room.changes(gate), room.changes(gate)) == (None, []), "while it is open"
    room.shut(gate)
    assert room.changes(gate) is None
    (box / "new" / "mail").write_bytes(b"x")
    assert room.take([]) == [("1" * 32, Seen(brought=True))] and room.keeper.pid != os.getpid()
    room.keeper.bye()
    room.close()


@in_loop
async def test_what_the_kernel_does_not_watch_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: INotify, path: bytes, mask: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    box, guid = tmp_path / "box", "1" * 32
    for name in ("cur", "new"):
        (box / name).mkdir(parents=True)
    woken: list[int] = []
    room = GateRoom(tmp_path, ORPHANED, lambda: woken.append(1), lambda: None, 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(INotify, "add_watch", full)
        room.follow(guid, os.fsencode(box))
        room.follow_user("alice", os.fsencode(tmp_path))
        assert [list(names) for names in room.unwatched] == [[guid], ["alice"]]
        room.open(guid, os.fsencode(box))
    await until(lambda: len(woken) >= 2)
    assert (guid, Seen(reads=True)) in room.take([]) and room.take_users() == ["alice"]
    room.follow(guid, os.fsencode(box))
    room.follow_user("alice", os.fsencode(tmp_path))
    assert [len(names) for names in room.unwatched] == [0, 0]
    with monkeypatch.context() as patch:
        patch.setattr(INotify, "add_watch", full)
        room.follow(guid, os.fsencode(box))
    room.gone(guid)
    assert [len(names) for names in room.unwatched] == [0, 0]
    with pytest.raises(FileNotFoundError):
        room.follow(guid, os.fsencode(tmp_path / "nothing"))
    room.keeper.bye()
    room.close()


@in_loop
async def test_without_a_keeper_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoKeeper):
        (tmp_path / "mailbox-keeper").mkdir()
        GateRoom(tmp_path, ORPHANED, lambda: None, lambda: None, 1.0)
