"""What the kernel tells of lock files and new mail."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import time
from pathlib import Path

import pytest
from inotify_simple import INotify

from pyrepl.daemon.mailbox import gate_watch as room
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.gate_watch import REST_S, GateWatch
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.gate_states import Seen
from tests.unit.daemon.rig import in_loop, until

BOX = "1" * 32


class Rig:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.woken = 0
        (folder / "new").mkdir()
        self.watch = GateWatch(self._wake)
        self.watch.follow(BOX, os.fsencode(folder))
        self.path = folder / "dovecot-uidlist.lock"
        self.lock = UidlistLock(DiskFiles(), b"host", time.sleep, keeper=os.getpid())

    def _wake(self) -> None:
        self.woken += 1

    def deliver(self) -> None:
        (self.folder / "text").write_bytes(b"x")
        (self.folder / "text").rename(self.folder / "new" / "1.vm")

    def take(self, *ours: str) -> list[tuple[str, Seen]]:
        return self.watch.take(ours)


@in_loop
async def test_who_reads_the_lock_file_is_seen_and_wakes(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.lock.shut(os.fsencode(tmp_path))
    assert rig.take(BOX) == [], "that was this process"
    rig.path.read_bytes()
    await until(lambda: rig.woken > 0, "it wakes")
    assert rig.take() == [(BOX, Seen(reads=True))] and rig.take() == []
    rig.watch.close()


@in_loop
async def test_dovecots_lock_file_goes_and_ours_is_no_news(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    folder = os.fsencode(tmp_path)
    rig.path.write_bytes(b"1:host")
    rig.path.unlink()
    assert rig.take() == [(BOX, Seen(reads=True, released=True))]
    rig.lock.shut(folder)
    rig.take(BOX)
    rig.lock.take(folder)
    rig.lock.release(folder)
    rig.lock.open(folder)
    assert rig.take() == [] and not rig.path.exists()
    rig.watch.close()


@in_loop
async def test_while_a_gate_is_open_nobody_is_told_of_who_reads_the_lock_file(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    folder = os.fsencode(tmp_path)
    rig.watch.follow_user("alice", folder)
    rig.watch.follow_open(folder)
    rig.path.write_bytes(b"1:host")
    rig.path.read_bytes()
    assert rig.take() == []
    rig.path.unlink()
    assert rig.take() == [(BOX, Seen(released=True))]
    (tmp_path / ".Work").mkdir()
    assert rig.watch.take_users() == ["alice"], "the folder is watched for its user as before"
    rig.watch.follow(BOX, folder)
    rig.path.write_bytes(b"1:host")
    rig.path.read_bytes()
    assert rig.take() == [(BOX, Seen(reads=True))]
    rig.watch.close()


@in_loop
async def test_a_lock_file_that_a_dead_dovecot_left_counts_as_released(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    rig.path.write_bytes(b"%d:host" % ended.pid)
    rig.take()
    rig.lock.take(os.fsencode(tmp_path))
    assert rig.take(BOX) == [(BOX, Seen(released=True))]
    rig.watch.close()


@in_loop
async def test_a_lock_file_behind_an_open_gate_that_is_not_released_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "HELD_S", 0.05)
    rig = Rig(tmp_path)
    folder = os.fsencode(tmp_path)
    rig.path.write_bytes(b"1:host")
    rig.take()
    rig.path.unlink()
    rig.take()
    rig.watch.follow_open(folder)
    rig.path.write_bytes(b"1:host")
    await until(lambda: rig.take() == [(BOX, Seen(holds=True))], "it is told of")
    rig.path.unlink()
    assert rig.take() == [(BOX, Seen(released=True))]
    rig.path.write_bytes(b"1:host")
    rig.path.unlink()
    rig.path.write_bytes(b"1:host")
    rig.watch.follow(BOX, folder)
    await asyncio.sleep(0.2)
    [(_, seen)] = rig.take()
    assert not seen.holds, "the gate is shut"
    rig.watch.close()


@in_loop
async def test_new_mail_is_seen(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.deliver()
    assert rig.take() == [(BOX, Seen(brought=True))]
    rig.watch.close()


@in_loop
async def test_mailboxes_and_subscriptions_of_a_user_are_seen(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.watch.follow_user("alice", os.fsencode(tmp_path))
    for change in (
        lambda: (tmp_path / ".Work").mkdir(),
        lambda: (tmp_path / ".Work").rename(tmp_path / ".Play"),
        lambda: (tmp_path / "subscriptions.lock").write_bytes(b""),
        lambda: (tmp_path / "subscriptions.lock").rename(tmp_path / "subscriptions"),
        lambda: (tmp_path / "dovecot-uidlist").write_bytes(b""),
        lambda: (tmp_path / ".Play").rmdir(),
    ):
        change()
        is_telling = not (tmp_path / "subscriptions.lock").exists()
        assert rig.watch.take_users() == (["alice"] if is_telling else []) and rig.take() == []
    (tmp_path / "dovecot-uidlist.lock").write_bytes(b"1:host")
    assert rig.watch.take_users() == [] and rig.take() == [(BOX, Seen(reads=True))], "INBOX's own watch goes on"
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert rig.watch.take_users() == ["alice"]
    rig.watch.close()


@in_loop
async def test_when_a_dovecot_is_done_what_comes_next_is_taken_together(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.path.write_bytes(b"1:host")
    rig.path.unlink()
    await until(lambda: rig.woken == 1, "it wakes")
    began = time.monotonic()
    rig.path.write_bytes(b"1:host")
    assert rig.take() == [(BOX, Seen(reads=True, released=True))], "who asks is told all"
    assert rig.woken == 1, "and needs not be woken for it"
    rig.path.unlink()
    await until(lambda: rig.woken == 2, "it wakes")
    assert time.monotonic() - began >= REST_S / 2
    rig.watch.close()


@in_loop
async def test_who_waits_or_brings_mail_keeps_nobody_from_being_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "REST_S", 60.0)
    rig = Rig(tmp_path)
    rig.path.write_bytes(b"1:host")
    for number, change in enumerate((rig.path.read_bytes, rig.path.read_bytes, rig.deliver, rig.path.unlink), start=1):
        rig.take()
        change()
        await until(lambda number=number: rig.woken == number, "it wakes")  # type: ignore[misc]
    rig.deliver()
    await asyncio.sleep(0.05)
    assert rig.woken == 4, "a Dovecot was done"
    assert rig.take(BOX) == [(BOX, Seen(brought=True, released=True))]
    rig.deliver()
    await until(lambda: rig.woken == 5, "a gate was shut: who waits there is heard")
    rig.watch.close()


@in_loop
async def test_users_of_whom_it_is_heard_late_are_asked_for_in_another_round(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.watch.follow_user("alice", os.fsencode(tmp_path))
    assert rig.watch.take_users() == []
    (tmp_path / ".Work").mkdir()
    assert rig.take() == [] and rig.woken == 1
    assert rig.watch.take_users() == ["alice"]
    rig.watch.close()


@in_loop
async def test_a_folder_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    (tmp_path / "new").rmdir()
    rig.take()
    with pytest.raises(OSError, match="No such file"):
        rig.watch.follow(BOX, os.fsencode(tmp_path))
    rig.watch.close()


@in_loop
async def test_too_few_watches_are_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)

    def full(self: INotify, path: bytes, mask: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(INotify, "add_watch", full)
    with pytest.raises(OSError, match=r"raise fs\.inotify\.max_user_watches"):
        rig.watch.follow(BOX, os.fsencode(tmp_path))
    rig.watch.close()


def box_in(folder: Path, name: str) -> Path:
    (folder / name / "new").mkdir(parents=True)
    return folder / name


@in_loop
async def test_a_kept_lock_file_that_goes_counts_as_released_and_one_that_is_there_does_not(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    folder = os.fsencode(tmp_path)
    rig.path.write_bytes(b"1:host")
    rig.path.unlink()
    rig.lock.shut(folder)
    assert rig.take(BOX) == [], "whoever released it was done before it was taken"
    rig.path.unlink()
    assert rig.take() == [(BOX, Seen(released=True))]
    rig.lock.shut(folder)
    rig.path.unlink()
    assert rig.take(BOX) == [(BOX, Seen(released=True))]
    rig.watch.close()


@in_loop
async def test_a_folder_that_is_renamed_or_removed_counts_as_released_and_is_watched_anew(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    rig = Rig(folder)
    folder.rename(tmp_path / "aside")
    assert rig.take() == [(BOX, Seen(released=True))]
    box_in(tmp_path, folder.name)
    rig.watch.follow(BOX, os.fsencode(folder))
    (tmp_path / "aside" / "new" / "1.vm").write_bytes(b"x")
    assert rig.take() == [], "what was there is not watched any more"
    rig.path.write_bytes(b"1:host")
    assert rig.take() == [(BOX, Seen(reads=True))]
    rig.path.unlink()
    rig.take()
    (folder / "new").rmdir()
    folder.rmdir()
    assert rig.take() == [(BOX, Seen(released=True))]
    rig.watch.close()


@in_loop
async def test_with_a_folder_above_all_mailboxes_below_count_as_released(tmp_path: Path) -> None:
    users = {name: tmp_path / "mail" / "example.org" / name for name in ("alice", "bob")}
    watch = GateWatch(lambda: None)
    for number, (user, home) in enumerate(users.items()):
        for place, folder in enumerate((home, home / ".Work")):
            (folder / "new").mkdir(parents=True)
            watch.follow(f"{number}{place}", os.fsencode(folder))
        watch.follow_user(user, os.fsencode(home))
    released = Seen(released=True)
    users["alice"].rename(tmp_path / "aside")
    assert watch.take([]) == [("00", released), ("01", released)] and watch.take_users() == ["alice"]
    (tmp_path / "mail").rename(tmp_path / "gone")
    assert {box for box, seen in watch.take([]) if seen == released} == {"00", "01", "10", "11"}
    assert "bob" in watch.take_users()
    (users["bob"] / "new").mkdir(parents=True)
    watch.follow("10", os.fsencode(users["bob"]))
    watch.follow_user("bob", os.fsencode(users["bob"]))
    watch.gone("11")
    watch.take([])
    (tmp_path / "mail").rename(tmp_path / "gone again")
    assert ("10", released) in (seen := watch.take([])) and "11" not in dict(seen)
    watch.close()
