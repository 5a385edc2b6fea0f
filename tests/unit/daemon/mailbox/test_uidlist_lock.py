"""The lock of a mailbox: another's is waited for, a dead one's is overridden."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.uidlist_file import NAME as LIST
from pyrepl.daemon.mailbox.uidlist_lock import GATE_S, NAME, LockBusy, LocksHere, UidlistLock, is_alive_here
from tests.unit.daemon.mailbox.model_disk import ModelDisk

FOLDER = b"/box"
PATH = FOLDER + b"/" + NAME


class Rig:
    def __init__(self, held: bytes | None = None) -> None:
        self.disk = ModelDisk()
        self.disk.make_folders(FOLDER)
        self.slept = 0
        self.now = 0.0
        self.released_after = 10**9
        if held is not None:
            self.disk.write_new(PATH, held)
        self.lock = UidlistLock(self.disk, b"host", self.sleep, 2.0, lambda pid: pid == 1, now=lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        if self.slept == self.released_after:
            self.disk.unlink(PATH)


def test_it_is_taken_and_released() -> None:
    rig = Rig()
    rig.lock.take(FOLDER)
    assert rig.disk.read(PATH) == b"%d:host" % os.getpid()
    rig.lock.release(FOLDER)
    assert rig.disk.names(FOLDER) == []
    rig.lock.take(FOLDER)


def test_the_next_one_who_takes_it_keeps_it() -> None:
    class Quick(ModelDisk):
        def unlink(self, path: bytes) -> None:
            super().unlink(path)
            self.write_new(PATH, b"1:host")

    disk = Quick()
    disk.make_folders(FOLDER)
    lock = UidlistLock(disk, b"host", lambda _: None)
    lock.take(FOLDER)
    lock.release(FOLDER)
    assert disk.read(PATH) == b"1:host"


def test_it_is_looked_at_often_where_dovecots_hand_it_to_each_other() -> None:
    rig = Rig(b"1:host")
    rig.released_after = 90
    with rig.lock.briefly():
        rig.lock.take(FOLDER)
    assert rig.slept == 90


def test_it_goes_along_with_a_mailbox_that_is_moved() -> None:
    rig = Rig()
    rig.lock.take(FOLDER)
    rig.disk.rename(FOLDER, b"/moved")
    rig.lock.release(FOLDER, moved_to=b"/moved")
    assert rig.disk.names(b"/moved") == []
    rig.lock.take(b"/moved")


def test_another_ones_is_waited_for() -> None:
    rig = Rig(b"1:host")
    rig.released_after = 7
    rig.lock.take(FOLDER)
    assert rig.slept == 7


def test_who_waits_too_long_is_told_who_holds_it() -> None:
    rig = Rig(b"1:host")
    with pytest.raises(LockBusy, match="1:host"):
        rig.lock.take(FOLDER)
    assert rig.slept == 100 and rig.disk.read(PATH) == b"1:host"


@pytest.mark.parametrize("owner", [b"2:host", b"%d:host" % os.getpid()], ids=["another", "our own pid"])
def test_a_dead_owners_is_overridden_at_once(owner: bytes) -> None:
    rig = Rig(owner)
    rig.lock.take(FOLDER)
    assert rig.slept == 0


def test_the_list_behind_a_dead_owners_lock_has_another_date() -> None:
    """What a dead Dovecot's index says of the list as it is now is not believed by the next one."""
    rig = Rig(b"2:host")
    rig.disk.write_new(FOLDER + b"/" + LIST, b"3 V1 N1 G0\n")
    rig.disk.set_mtime(FOLDER + b"/" + LIST, 100)
    rig.lock.take(FOLDER)
    rig.lock.release(FOLDER)
    changed = rig.disk.stat(FOLDER + b"/" + LIST)
    assert changed is not None and changed.mtime_ns == 101 * 10**9
    rig.lock.take(FOLDER)
    rig.lock.release(FOLDER)
    assert rig.disk.stat(FOLDER + b"/" + LIST) == changed, "a free lock is taken without that"


@pytest.mark.parametrize(("owner", "is_alive"), [(None, None), (b"1:host", True), (b"2:host", False), (b"", None)])
def test_whether_its_owner_lives_is_told(owner: bytes | None, is_alive: bool | None) -> None:
    assert Rig(owner).lock.has_living_owner(FOLDER) is is_alive


class Hasty(ModelDisk):
    """Somebody else overrides a dead owner's lock just before this process does, and takes it."""

    then_taken = False

    def rename(self, path: bytes, new: bytes) -> None:
        if path == PATH:
            self.unlink(PATH)
            self.write_new(PATH, b"1:host")
        super().rename(path, new)
        if path == PATH and self.then_taken:
            self.write_new(PATH, b"1:other")


@pytest.mark.parametrize("then_taken", [False, True], ids=["put back", "taken meanwhile"])
def test_of_two_who_override_a_dead_owners_one_gets_it(then_taken: bool) -> None:
    disk = Hasty()
    disk.then_taken = then_taken
    disk.make_folders(FOLDER)
    disk.write_new(PATH, b"2:host")
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: pid == 1)
    with pytest.raises(LockBusy):
        lock.take(FOLDER)
    assert disk.read(PATH) == (b"1:other" if then_taken else b"1:host")
    assert disk.names(FOLDER) == [NAME], "nothing else is left"


def test_who_is_late_takes_nothing_away() -> None:
    class Gone(ModelDisk):
        def rename(self, path: bytes, new: bytes) -> None:
            self.unlink(path)
            super().rename(path, new)

    disk = Gone()
    disk.make_folders(FOLDER)
    disk.write_new(PATH, b"2:host")
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: pid == 1)
    lock.take(FOLDER)
    assert disk.read(PATH) == b"%d:host" % os.getpid()


def test_one_of_another_host_is_not() -> None:
    with pytest.raises(LockBusy):
        Rig(b"2:elsewhere").lock.take(FOLDER)


@pytest.mark.parametrize("torn", [b"", b"12", b"12:", b"2:ho"])
def test_what_a_power_cut_left_is_overridden_after_a_second(torn: bytes) -> None:
    rig = Rig(torn)
    rig.lock.take(FOLDER)
    assert rig.slept == 50


def test_a_lock_that_is_gone_is_released_well() -> None:
    rig = Rig()
    rig.lock.take(FOLDER)
    rig.disk.unlink(PATH)
    rig.lock.release(FOLDER)


def test_who_is_alive() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_alive_here(os.getpid()) and is_alive_here(1) and not is_alive_here(ended.pid)
    assert not is_alive_here(9_999_999_999), "no pid can be that"


def gated(held: bytes | None = None, keeper: int = 1) -> Rig:
    rig = Rig(held)
    rig.lock = UidlistLock(rig.disk, b"host", rig.sleep, 2.0, lambda pid: pid == 1, keeper=keeper)
    return rig


def test_a_lock_that_is_kept_names_the_keeper_and_work_is_done_under_it() -> None:
    rig = gated()
    rig.lock.shut(FOLDER)
    assert rig.disk.read(PATH) == b"1:host"
    rig.lock.take(FOLDER)
    rig.lock.release(FOLDER)
    rig.lock.shut(FOLDER)
    assert rig.slept == 0 and rig.disk.read(PATH) == b"1:host"
    rig.lock.open(FOLDER)
    assert rig.disk.names(FOLDER) == []


def test_a_lock_that_was_taken_is_kept_without_being_free_for_a_moment() -> None:
    rig = gated()
    rig.disk.write_new(PATH + b".pyrepl", b"of a crash")
    rig.lock.take(FOLDER)
    there: list[bool] = []
    rig.disk.before_call = lambda number, what, path: there.append(rig.disk.stat(PATH) is not None)
    rig.lock.keep(FOLDER)
    rig.disk.before_call = lambda number, what, path: None
    assert there and all(there)
    rig.lock.release(FOLDER)
    assert rig.lock.is_shut(FOLDER) and rig.disk.read(PATH) == b"1:host" and rig.disk.names(FOLDER) == [NAME]


def test_a_lock_that_is_not_kept_is_not_opened() -> None:
    rig = gated(b"1:host")
    rig.lock.open(FOLDER)
    assert rig.disk.read(PATH) == b"1:host"


def test_a_lock_that_an_earlier_keeper_kept_is_taken_over() -> None:
    gone = gated()
    gone.lock.shut(FOLDER)
    gone.lock = UidlistLock(gone.disk, b"host", gone.sleep, 2.0, lambda pid: True, keeper=7)
    there: list[bool] = []
    gone.disk.before_call = lambda number, what, path: there.append(gone.disk.stat(PATH) is not None)
    assert gone.lock.shut(FOLDER)
    assert gone.disk.read(PATH) == b"7:host" and gone.slept == 0 and gone.lock.is_shut(FOLDER)
    assert there and all(there), "it was not free for a moment"


class Unread(ModelDisk):
    """No lock can be opened, as where a process has as many files open as it may."""

    def read(self, path: bytes, start: int = 0) -> bytes:
        if path.startswith(PATH):
            raise OSError(errno.EMFILE, "Too many open files")
        return super().read(path, start)


@pytest.mark.parametrize("is_kept", [True, False])
def test_one_that_cannot_be_opened_is_not_a_dead_owners(is_kept: bool) -> None:
    """A gate would be open without anybody having asked for the mastership."""
    disk = Unread()
    disk.make_folders(FOLDER)
    disk.write_new(PATH, b"1:host")
    if is_kept:
        disk.set_mtime(PATH, GATE_S)
    before = disk.stat(PATH)
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: pid == 1, keeper=1)
    for use in (lock.shut, lock.take, lock.has_living_owner):
        with pytest.raises(OSError, match="Too many open files"):
            use(FOLDER)
    assert disk.stat(PATH) == before and disk.names(FOLDER) == [NAME]


def test_one_that_cannot_be_opened_any_more_is_not_taken_away() -> None:
    class Later(Unread):
        def read(self, path: bytes, start: int = 0) -> bytes:
            return b"2:host" if path == PATH else super().read(path, start)

    disk = Later()
    disk.make_folders(FOLDER)
    disk.write_new(PATH, b"2:host")
    before = disk.stat(PATH)
    with pytest.raises(OSError, match="Too many open files"):
        UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: False).take(FOLDER)
    assert disk.stat(PATH) == before and disk.names(FOLDER) == [NAME]


def test_one_that_a_keeper_kept_which_is_gone_keeps_nobody_out() -> None:
    """As after a reboot: a Dovecot overrides it, so work under it would be beside the Dovecot's."""
    gone = gated(keeper=1)
    gone.lock.shut(FOLDER)
    gone.lock = UidlistLock(gone.disk, b"host", gone.sleep, 2.0, lambda pid: False, keeper=7)
    gone.lock.take(FOLDER)
    assert gone.disk.read(PATH) == b"7:host"
    gone.lock.release(FOLDER)
    assert gone.lock.is_shut(FOLDER)
    gone.lock.take(FOLDER)
    assert gone.disk.read(PATH) == b"7:host" and gone.lock.is_shut(FOLDER)


def test_to_keep_a_lock_a_dovecot_is_waited_for() -> None:
    rig = gated(b"1:host", keeper=7)
    with pytest.raises(LockBusy), rig.lock.without_waiting():
        rig.lock.shut(FOLDER)
    rig.released_after = rig.slept + 3
    rig.lock.shut(FOLDER)
    assert rig.disk.read(PATH) == b"7:host"


def test_what_a_power_cut_left_is_overridden_by_many_short_looks() -> None:
    rig = gated(b"", keeper=7)
    for _ in range(100):
        try:
            with rig.lock.without_waiting():
                rig.lock.shut(FOLDER)
            break
        except LockBusy:
            continue
    assert rig.disk.read(PATH) == b"7:host"


def test_one_of_another_host_is_overridden_when_it_stays_for_ten_seconds() -> None:
    rig = Rig(b"2:elsewhere")
    for _ in range(5):
        with pytest.raises(LockBusy):
            rig.lock.take(FOLDER)
    rig.lock.take(FOLDER)
    assert 500 <= rig.slept <= 501


def test_one_of_another_host_is_overridden_by_who_looks_seldom() -> None:
    rig = Rig(b"2:elsewhere")
    with rig.lock.without_waiting():
        for rig.now in (0.0, 9.0):
            with pytest.raises(LockBusy):
                rig.lock.take(FOLDER)
        rig.now = 10.0
        rig.lock.take(FOLDER)
    assert rig.disk.read(PATH) == b"%d:host" % os.getpid()


def test_one_of_another_host_that_is_taken_anew_is_waited_for_anew() -> None:
    rig = Rig(b"2:elsewhere")
    for rig.now in range(0, 50, 5):
        with pytest.raises(LockBusy), rig.lock.without_waiting():
            rig.lock.take(FOLDER)
        rig.disk.unlink(PATH)
        rig.disk.write_new(PATH, b"2:elsewhere")


def test_a_lock_that_is_taken_to_be_kept_stays_when_the_work_is_done() -> None:
    rig = gated()
    with rig.lock.keeping(), rig.lock.keeping(False):
        rig.lock.take(FOLDER)
        rig.lock.release(FOLDER)
    assert rig.lock.is_shut(FOLDER) and rig.disk.read(PATH) == b"1:host"
    rig.lock.open(FOLDER)
    rig.lock.take(FOLDER)
    rig.lock.release(FOLDER)
    assert rig.disk.names(FOLDER) == []


def test_without_gates_none_is_kept() -> None:
    rig = Rig()
    with rig.lock.keeping():
        rig.lock.take(FOLDER)
        rig.lock.release(FOLDER)
    assert rig.disk.names(FOLDER) == []


def test_one_that_another_thread_of_this_process_holds_is_held(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    here = LocksHere()
    one, two = (UidlistLock(DiskFiles(), b"host", lambda s: None, 0.1, here=here) for _ in range(2))
    one.take(folder)
    with pytest.raises(LockBusy, match="another thread of this process"):
        two.take(folder)
    one.release(folder)
    two.take(folder)
    two.release(folder)
    (tmp_path / "dovecot-uidlist.lock").write_bytes(b"1:host")
    with pytest.raises(LockBusy, match="is that process stuck"):
        one.take(folder)
    (tmp_path / "dovecot-uidlist.lock").unlink()
    two.take(folder)
    two.release(folder)


def test_no_other_thread_gets_it_before_its_file_is_gone() -> None:
    """It would take the file for one that a dead process left, and work under it while that is removed."""
    disk, here = ModelDisk(), LocksHere()
    disk.make_folders(FOLDER)
    one, two = (UidlistLock(disk, b"host", lambda s: None, 0.1, here=here) for _ in range(2))
    one.take(FOLDER)
    refused: list[LockBusy] = []

    def come(number: int, what: str, path: bytes) -> None:
        if what == "unlink" and not refused:
            with pytest.raises(LockBusy, match="another thread of this process") as busy:
                two.take(FOLDER)
            refused.append(busy.value)

    disk.before_call = come
    one.release(FOLDER)
    assert refused and disk.stat(PATH) is None
    two.take(FOLDER)
    two.release(FOLDER)


def test_who_shuts_a_gate_hears_whether_it_was_shut() -> None:
    rig = gated()
    assert rig.lock.shut(FOLDER) and not rig.lock.shut(FOLDER)
    rig.disk.unlink(PATH)
    assert rig.lock.shut(FOLDER)
