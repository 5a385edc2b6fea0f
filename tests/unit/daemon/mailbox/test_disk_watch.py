"""The disk of all Maildirs is looked at, and found missing or full."""

from __future__ import annotations

import asyncio
import errno
import threading

from pyrepl.daemon.mailbox.disk_watch import LOOK_S, DiskRefuses, DiskWatch
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from tests.unit.daemon.rig import in_loop, until


class Disk:
    """As a store checks it; `looks`: whether each look wrote something."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.is_full = False
        self.looks: list[bool] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.found: list[str] = []
        self.watch = DiskWatch(self.check, self._note)

    def check(self, *, writes: bool) -> None:
        self.looks.append(writes)
        assert self.may_answer.wait(10)
        if self.error is not None:
            raise self.error
        if self.is_full and writes:
            raise OSError(errno.ENOSPC, "No space left on device", b"/mail/.pyrepl-drop")

    def _note(self, error: DiskRefuses) -> None:
        self.found.append(str(error))

    async def looked(self, count: int) -> None:
        """So many looks are over."""
        await until(lambda: len(self.looks) == count and self.watch._task is None)


@in_loop
async def test_it_is_looked_at_each_second_and_a_missing_one_is_found() -> None:
    disk = Disk()
    disk.watch.tick(0.0)
    await disk.looked(1)
    disk.watch.tick(LOOK_S / 2)
    assert disk.looks == [False] and disk.found == [], "nothing is written to a disk that nobody suspects"
    disk.error = NotThere("the marker is missing")
    disk.watch.tick(LOOK_S)
    await disk.looked(2)
    assert disk.found == ["the marker is missing"]


@in_loop
async def test_whether_it_takes_something_is_tried_when_it_is_suspected() -> None:
    disk = Disk()
    disk.is_full = True
    disk.watch.tick(0.0)
    await disk.looked(1)
    assert disk.found == []
    disk.watch.suspect()
    disk.watch.tick(0.1)
    await disk.looked(2)
    assert disk.looks == [False, True] and disk.found == ["/mail/.pyrepl-drop: No space left on device"]
    disk.is_full = False
    assert await disk.watch.why_not(writes=True) == ""


@in_loop
async def test_one_look_at_a_time_and_none_is_told_when_it_is_over() -> None:
    disk = Disk()
    disk.error = NotThere("gone")
    disk.may_answer.clear()
    disk.watch.tick(0.0)
    await until(lambda: disk.looks)
    disk.watch.tick(5 * LOOK_S)
    disk.watch.suspect()
    disk.watch.tick(5 * LOOK_S)
    assert disk.looks == [False]
    disk.watch.stop()
    disk.may_answer.set()
    await until(lambda: disk.watch._task is None)
    await asyncio.sleep(0)
    assert disk.found == []
