"""The daemon's end of its keeper, with a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.daemon.mailbox.keeper_link import KeeperLink, NoKeeper
from pyrepl.daemon.mailbox.uidlist_lock import NAME as LOCK
from tests.unit.daemon.rig import in_loop, until

ORPHANED = b"apart 600000 100000 2 1"


def is_alive(pid: int) -> bool:
    """One that has ended and was not waited for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def ended() -> None:
    raise AssertionError("the keeper has ended")


@in_loop
async def test_it_is_started_found_again_and_taken_leave_of(tmp_path: Path) -> None:
    first = KeeperLink(tmp_path, ORPHANED, ended)
    (tmp_path / "box").mkdir()
    first.open(os.fsencode(tmp_path / "box"))
    first.close()
    await until((tmp_path / "box" / LOCK.decode()).exists, "the gate is shut")
    assert (tmp_path / "box" / LOCK.decode()).read_bytes().startswith(b"%d:" % first.pid)
    second = KeeperLink(tmp_path, ORPHANED, ended)
    assert second.pid == first.pid
    second.shut(os.fsencode(tmp_path / "box"))
    second.bye()
    second.close()
    await until(lambda: not is_alive(first.pid), "it has ended")
    assert list((tmp_path / "box").iterdir()) == [] and not (tmp_path / NAME).exists()


@in_loop
async def test_its_end_is_told(tmp_path: Path) -> None:
    told: list[bool] = []
    link = KeeperLink(tmp_path, ORPHANED, lambda: told.append(True))
    (tmp_path / NAME).unlink()
    await until(lambda: bool(told), "it is told")
    with pytest.raises(NoKeeper, match="the keeper is gone"):
        for _ in range(100):
            link.open(b"/box")
    link.bye()
    link.close()


@in_loop
async def test_a_folder_where_none_can_start(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(NoKeeper, match="did not start"):
        KeeperLink(tmp_path, ORPHANED, ended)
