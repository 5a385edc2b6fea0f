"""The keeper's part: what becomes of gates when the daemon is gone."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import uidlist_file
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeper import Gatekeeping
from pyrepl.daemon.mailbox.uidlist_file import UidlistFile
from pyrepl.daemon.mailbox.uidlist_lock import NAME, UidlistLock


class Rig:
    """One mailbox, and a keeper that was told of its gate."""

    def __init__(self, folder: Path, *, is_open: bool, orphaned: bytes = b"apart 20000 100000 2 1") -> None:
        self.folder = os.fsencode(folder)
        self.path = folder / NAME.decode()
        uidlist_file.create(DiskFiles(), self.folder, 7, b"1" * 32, 5)
        self.lock = UidlistLock(DiskFiles(), b"host", time.sleep, keeper=os.getpid())
        self.keeper = Gatekeeping(self.lock)
        self.keeper.hear(orphaned)
        if not is_open:
            self.lock.shut(self.folder)
        self.keeper.hear((b"open " if is_open else b"shut ") + base64.b64encode(self.folder))

    def next_uid(self) -> int:
        found = UidlistFile(DiskFiles(), self.folder)
        found.load()
        return found.next_uid


def test_while_there_is_a_daemon_nothing_is_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.keeper.tick(1e9)
    assert not rig.path.exists() and not rig.keeper.is_over


def test_without_one_a_gate_that_is_open_is_shut(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert rig.path.read_bytes() == b"%d:host" % os.getpid()


def test_a_dovecot_that_works_is_waited_for(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.path.write_bytes(b"1:host")
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert rig.path.read_bytes() == b"1:host" and rig.keeper.next_s(100.0) < 0.1
    rig.path.unlink()
    rig.keeper.tick(100.1)
    assert rig.path.exists() and rig.keeper.next_s(100.1) > 0.1


def test_a_daemon_that_comes_takes_over(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.keeper.daemon_gone(100.0)
    rig.keeper.daemon_came()
    rig.keeper.tick(1e9)
    assert not rig.path.exists() and not rig.keeper.is_over


def test_if_none_comes_dovecot_goes_on_with_uids_that_nobody_else_gives_out(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=False)
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(119.9)
    assert rig.path.exists() and rig.next_uid() == 5
    rig.keeper.tick(120.0)
    assert not rig.path.exists() and rig.next_uid() == 100_005 and rig.keeper.is_over


def test_or_waits_for_one_for_good(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=False, orphaned=b"wait")
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(1e9)
    assert rig.path.exists() and not rig.keeper.is_over


@pytest.mark.parametrize("is_open", [True, False])
def test_at_a_farewell_all_gates_go(tmp_path: Path, is_open: bool) -> None:
    rig = Rig(tmp_path, is_open=is_open)
    rig.keeper.hear(b"bye")
    assert not rig.path.exists() and rig.keeper.is_over and rig.next_uid() == 5


def test_a_mailbox_that_was_removed_is_forgotten(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    rig = Rig(box, is_open=True)
    for path in box.iterdir():
        path.unlink()
    box.rmdir()
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert rig.keeper.gates == {}
