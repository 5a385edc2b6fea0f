"""What the kernel tells of files that come and go in mailboxes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import name_watch as room
from pyrepl.daemon.mailbox.message_files import Change
from pyrepl.daemon.mailbox.name_watch import NameWatch


class Rig:
    """One mailbox that is watched, of which all is known."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "box"
        for name in ("cur", "new"):
            (self.path / name).mkdir(parents=True)
        self.watch = NameWatch()
        self.watch.begin(os.fsencode(self.path))
        assert self.take() is None, "nobody knows what was before"

    def take(self) -> list[Change] | None:
        return self.watch.take(os.fsencode(self.path))

    def deliver(self, name: str = "1.vm") -> None:
        (self.path / "new" / name).write_bytes(b"x")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.watch.close()


def test_what_came_and_went_is_told_once_and_in_order(rig: Rig) -> None:
    rig.deliver()
    rig.deliver(".hidden")
    (rig.path / "new" / "1.vm").rename(rig.path / "cur" / "1.vm:2,S")
    (rig.path / "cur" / "1.vm:2,S").unlink()
    assert rig.take() == [
        Change(b"new", b"1.vm", True),
        Change(b"new", b"1.vm", False),
        Change(b"cur", b"1.vm:2,S", True),
        Change(b"cur", b"1.vm:2,S", False),
    ]
    assert rig.take() == []


def test_who_is_not_watched_is_not_known(rig: Rig, tmp_path: Path) -> None:
    assert rig.watch.take(b"/other") is None
    rig.watch.end(os.fsencode(rig.path))
    rig.deliver()
    assert rig.take() is None and rig.take() is None
    rig.watch.begin(os.fsencode(tmp_path / "missing"))
    assert rig.watch.take(os.fsencode(tmp_path / "missing")) is None


def test_too_many_changes_are_not_known(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_CHANGES", 3)
    for number in range(5):
        rig.deliver(f"{number}.vm")
    assert rig.take() is None and rig.take() == []


def test_what_the_kernel_dropped_is_not_known(rig: Rig) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for _ in range(most // 2 + 1):
        rig.deliver()
        (rig.path / "new" / "1.vm").unlink()
    assert rig.take() is None and rig.take() == []
    rig.deliver()
    assert rig.take() == [Change(b"new", b"1.vm", True)]


def test_a_folder_that_went_is_not_known(rig: Rig) -> None:
    (rig.path / "cur").rename(rig.path / "elsewhere")
    (rig.path / "cur").mkdir()
    rig.deliver()
    assert rig.take() is None and rig.take() is None
    rig.watch.begin(os.fsencode(rig.path))
    shutil.rmtree(rig.path)
    assert rig.take() is None and rig.take() is None


def test_a_mailbox_that_has_another_name_is_known_by_that(rig: Rig, tmp_path: Path) -> None:
    before, rig.path = os.fsencode(rig.path), rig.path.rename(tmp_path / "renamed")
    rig.watch.begin(os.fsencode(rig.path))
    assert rig.watch.take(before) is None and rig.take() is None
    rig.deliver()
    assert rig.take() == [Change(b"new", b"1.vm", True)] and rig.watch.take(before) is None
