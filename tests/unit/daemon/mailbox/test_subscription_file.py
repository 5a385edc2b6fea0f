"""The list of subscriptions, which a Dovecot changes too."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.subscription_file import STALE_S, SubscriptionFile
from pyrepl.daemon.mailbox.uidlist_lock import LockBusy
from pyrepl.mailbox.maildir import subscriptions
from tests.unit.daemon.mailbox.model_disk import ModelDisk, full_from

LIST, LOCK = b"/user/subscriptions", b"/user/subscriptions.lock"
NOW = 1_700_000_000


class Rig:
    """`slept`: what is done while somebody else's lock is waited for."""

    def __init__(self) -> None:
        self.disk = ModelDisk()
        self.disk.make_folders(b"/user")
        self.slept = 0
        self.now = 0.0
        self.file = SubscriptionFile(self.disk, b"/user", ".", self.sleep, lambda: NOW, lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        if self.slept == 3:
            self.release()

    def release(self) -> None:
        """Nobody does."""

    def lock(self, age_s: int) -> None:
        self.disk.write_new(LOCK, b"V\t2\n\nClients\n")
        self.disk.set_mtime(LOCK, NOW - age_s)


def test_names_come_and_go() -> None:
    rig = Rig()
    assert rig.file.names() == ()
    rig.file.change("Work/Sub", True)
    rig.file.change("INBOX", True)
    rig.file.change("INBOX", True)
    assert rig.file.names() == ("Work/Sub", "INBOX") and rig.disk.names(b"/user") == [b"subscriptions"]
    rig.file.change("Work/Sub", False)
    rig.file.change("Other", False)
    assert rig.file.names() == ("INBOX",) and rig.disk.names(b"/user") == [b"subscriptions"]


def test_what_a_client_subscribes_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Dovecot has the lock, and puts its list into the place: that is read, not what was there before."""
    rig = Rig()
    rig.lock(age_s=1)
    monkeypatch.setattr(rig, "release", lambda: rig.disk.rename(LOCK, LIST))
    rig.file.change("Ours", True)
    assert rig.file.names() == ("Clients", "Ours") and rig.slept == 3


def test_a_dovecot_that_comes_later_finds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    parse, seen = subscriptions.parse, list[bool]()

    def look(data: bytes, separator: str) -> tuple[str, ...]:
        seen.append(rig.disk.stat(LOCK) is not None)
        return parse(data, separator)

    monkeypatch.setattr(subscriptions, "parse", look)
    rig.file.change("Ours", True)
    assert seen == [True], "it is read under the lock"


def test_a_lock_that_is_in_use_is_left_alone() -> None:
    rig = Rig()
    rig.lock(age_s=STALE_S)
    with pytest.raises(LockBusy, match="taken away when it is 30 seconds old"):
        rig.file.change("Ours", True)
    assert rig.disk.read(LOCK) == b"V\t2\n\nClients\n" and rig.file.names() == ()


def test_a_lock_that_a_dead_one_left_is_taken_away() -> None:
    rig = Rig()
    rig.lock(age_s=STALE_S + 1)
    rig.file.change("Ours", True)
    assert rig.file.names() == ("Ours",) and rig.slept == 0 and rig.disk.names(b"/user") == [b"subscriptions"]


def test_a_lock_of_a_time_that_is_to_come_is_taken_away_when_it_stays() -> None:
    """The clock was set back since a Dovecot was killed."""
    rig = Rig()
    rig.lock(age_s=-3600)
    for rig.now in (0.0, 30.0):
        with pytest.raises(LockBusy):
            rig.file.change("Ours", True)
    rig.disk.unlink(LOCK)
    rig.lock(age_s=-7200)
    for rig.now in (31.0, 61.0):
        with pytest.raises(LockBusy):
            rig.file.change("Ours", True)
    rig.now += 1
    rig.file.change("Ours", True)
    assert rig.file.names() == ("Ours",)


def test_names_that_cannot_be_read_stay() -> None:
    rig = Rig()
    rig.disk.write_new(LIST, b"V\t2\n\nWork\nR&D\n")
    rig.file.change("New", True)
    rig.file.change("Work", False)
    assert rig.disk.read(LIST) == b"V\t2\n\nR&D\nNew\n"


def test_a_lock_that_came_in_the_place_of_a_stale_one_is_put_back() -> None:
    rig = Rig()
    rig.lock(age_s=STALE_S + 1)

    def come(number: int, what: str, path: bytes) -> None:
        if what == "rename" and rig.slept == 0:
            rig.disk.before_call = lambda number, what, path: None
            rig.disk.unlink(LOCK)
            rig.lock(age_s=0)

    rig.disk.before_call = come
    with pytest.raises(LockBusy):
        rig.file.change("Ours", True)
    assert rig.disk.names(b"/user") == [b"subscriptions.lock"]


def test_a_full_disk_leaves_the_list_and_no_lock() -> None:
    rig = Rig()
    rig.file.change("Work", True)
    rig.disk.before_call = lambda number, what, path: full_from(0)(number, what if what == "append" else "", path)
    with pytest.raises(OSError, match="No space"):
        rig.file.change("Ours", True)
    assert rig.file.names() == ("Work",) and rig.disk.names(b"/user") == [b"subscriptions"]


def test_the_lock_that_another_takes_right_after_is_left_alone() -> None:
    rig = Rig()

    def come(number: int, what: str, path: bytes) -> None:
        if what == "sync" and path == b"/user":
            rig.disk.before_call = lambda number, what, path: None
            rig.lock(age_s=0)

    rig.disk.before_call = come
    rig.file.change("Ours", True)
    assert rig.file.names() == ("Ours",) and rig.disk.stat(LOCK) is not None
