"""The keeper's lock files, under its machine."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

from pyrepl.daemon.mailbox import uidlist_file
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeper import KeptGates
from pyrepl.daemon.mailbox.uidlist_file import UidlistFile
from pyrepl.daemon.mailbox.uidlist_lock import NAME, UidlistLock
from pyrepl.mailbox.gatekeeping import Gatekeeping


class Rig:
    """One mailbox, and a keeper that was told of its gate and has lost its daemon."""

    def __init__(self, folder: Path, *, is_open: bool) -> None:
        self.folder = os.fsencode(folder)
        self.path = folder / NAME.decode()
        uidlist_file.create(DiskFiles(), self.folder, 7, b"1" * 32, 5)
        lock = UidlistLock(DiskFiles(), b"host", time.sleep, keeper=os.getpid())
        self.keeper = Gatekeeping(KeptGates(lock))
        self.keeper.hear(b"apart 20000 100000 2 1")
        if not is_open:
            lock.shut(self.folder)
        self.keeper.hear((b"open " if is_open else b"shut ") + base64.b64encode(self.folder))
        self.keeper.daemon_gone(100.0)

    def next_uid(self) -> int:
        found = UidlistFile(DiskFiles(), self.folder)
        found.load()
        return found.next_uid


def test_a_gate_that_is_open_is_shut(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.keeper.tick(100.0)
    assert rig.path.read_bytes() == b"%d:host" % os.getpid()


def test_not_while_a_dovecot_has_the_lock(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=True)
    rig.path.write_bytes(b"1:host")
    rig.keeper.tick(100.0)
    assert rig.path.read_bytes() == b"1:host" and any(rig.keeper.gates.values())
    rig.path.unlink()
    rig.keeper.tick(100.1)
    assert rig.path.exists() and not any(rig.keeper.gates.values())


def test_a_gate_whose_next_uid_cannot_be_raised_stays_shut(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=False)
    uidlist, aside = tmp_path / "dovecot-uidlist", tmp_path / "aside"
    uidlist.rename(aside)
    uidlist.mkdir()
    rig.keeper.tick(120.0)
    assert rig.path.exists() and not rig.keeper.is_over
    uidlist.rmdir()
    aside.rename(uidlist)
    rig.keeper.tick(121.0)
    assert not rig.path.exists() and rig.keeper.is_over and rig.next_uid() == 100_005


def test_a_gate_is_opened_for_uids_of_the_node_alone(tmp_path: Path) -> None:
    rig = Rig(tmp_path, is_open=False)
    rig.keeper.tick(120.0)
    assert not rig.path.exists() and rig.next_uid() == 100_005


def test_a_mailbox_that_was_removed_is_forgotten(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    rig = Rig(box, is_open=True)
    for path in box.iterdir():
        path.unlink()
    box.rmdir()
    rig.keeper.tick(100.0)
    assert rig.keeper.gates == {}
    rig.keeper.gates[rig.folder] = False
    rig.keeper.tick(120.0)
    assert rig.keeper.is_over
