"""The daemon's end of its keeper, with a real one."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.daemon.mailbox.keeper_link import KeeperLink, NoKeeper, _found, take_leave
from pyrepl.daemon.mailbox.uidlist_lock import NAME as LOCK
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
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
    lock = tmp_path / "box" / LOCK.decode()
    # Who makes the file writes to it then.
    await until(lambda: lock.exists() and lock.read_bytes() != b"", "the gate is shut")
    assert lock.read_bytes().startswith(b"%d:" % first.pid)
    second = KeeperLink(tmp_path, ORPHANED, ended)
    assert second.pid == first.pid
    second.shut(os.fsencode(tmp_path / "box"))
    second.bye()
    second.close()
    await until(lambda: not is_alive(first.pid), "it has ended")
    assert list((tmp_path / "box").iterdir()) == [] and not (tmp_path / NAME).exists()


@in_loop
async def test_one_that_ends_promises_nothing_to_whoever_comes(tmp_path: Path) -> None:
    first = KeeperLink(tmp_path, ORPHANED, ended)
    os.kill(first.pid, signal.SIGSTOP)
    first.bye()
    with socket.socket(socket.AF_UNIX) as late:
        late.connect(str(tmp_path / NAME))
        os.kill(first.pid, signal.SIGCONT)
        with pytest.raises(ConnectionResetError):
            late.recv(64)
    first.close()
    assert not (tmp_path / NAME).exists()


@in_loop
async def test_after_one_that_ends_another_is_started(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as ending:
        ending.bind(str(tmp_path / NAME))
        ending.listen()
        comes = asyncio.create_task(asyncio.to_thread(_found, tmp_path))
        await asyncio.to_thread(lambda: ending.accept()[0].close())
        (tmp_path / NAME).unlink()
    assert await comes is None
    link = KeeperLink(tmp_path, ORPHANED, ended)
    assert link.pid != os.getpid()
    link.bye()
    link.close()
    await until(lambda: not is_alive(link.pid), "it has ended")


@in_loop
async def test_one_that_came_and_went_harms_nobody(tmp_path: Path) -> None:
    first = KeeperLink(tmp_path, ORPHANED, ended)
    os.kill(first.pid, signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX) as passing:
        passing.connect(str(tmp_path / NAME))
    first.close()
    os.kill(first.pid, signal.SIGCONT)
    second = KeeperLink(tmp_path, ORPHANED, ended)
    assert second.pid == first.pid
    second.bye()
    second.close()
    await until(lambda: not is_alive(first.pid), "it has ended")


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


@in_loop
async def test_a_daemon_without_a_link_takes_leave_as_well(tmp_path: Path) -> None:
    link = KeeperLink(tmp_path, ORPHANED, lambda: None)
    lock = tmp_path / os.fsdecode(LOCK)
    link.shut(os.fsencode(tmp_path))
    UidlistLock(DiskFiles(), b"host", lambda s: None, keeper=link.pid).shut(os.fsencode(tmp_path))
    link.close()
    take_leave(tmp_path)
    await until(lambda: not is_alive(link.pid), "it has ended")
    assert not lock.exists()
    take_leave(tmp_path)
