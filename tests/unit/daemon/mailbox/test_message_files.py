"""The files of messages: found by their base, wherever another process put them."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.message_files import MessageFiles
from pyrepl.mailbox.maildir.filename import Name
from tests.unit.daemon.mailbox.model_disk import ModelDisk


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    for name in (b"cur", b"new"):
        made.make_folders(b"/box/" + name)
    made.write_new(b"/box/cur/a:2,S", b"one")
    made.write_new(b"/box/new/b", b"two")
    made.write_new(b"/box/new/.hidden", b"")
    return made


@pytest.fixture
def found(disk: ModelDisk) -> MessageFiles:
    made = MessageFiles(disk, b"/box")
    made.load()
    return made


def test_messages_are_found(found: MessageFiles) -> None:
    assert found.bases() == {b"a", b"b"}
    assert (found.find(b"a"), found.find(b"b"), found.find(b"c")) == (Name(b"a", b"S"), Name(b"b"), None)
    assert (found.path(b"a"), found.path(b"b")) == (b"/box/cur/a:2,S", b"/box/new/b")


def test_our_changes_are_known(disk: ModelDisk, found: MessageFiles) -> None:
    disk.write_new(b"/text", b"three")
    for _ in range(2):
        found.add(b"/text", Name(b"c", b"F"))
    found.rename(b"b", Name(b"b", b"T"))
    found.rename(b"c", Name(b"d", b"F"))
    found.remove(b"a")
    found.remove(b"a")
    found.sync()
    assert (found.bases(), sorted(disk.tree(b"/box/cur"))) == ({b"b", b"d"}, [b"/box/cur/b:2,T", b"/box/cur/d:2,F"])
    calls = disk.calls
    found.sync()
    found.load()
    assert disk.calls == calls and found.bases() == {b"b", b"d"}


def test_others_changes_are_seen(disk: ModelDisk, found: MessageFiles) -> None:
    disk.rename(b"/box/new/b", b"/box/cur/b:2,R")
    disk.unlink(b"/box/cur/a:2,S")
    with pytest.raises(FileNotFoundError):
        found.rename(b"a", Name(b"a"))
    found.remove(b"a")
    found.load()
    assert (found.bases(), found.find(b"b")) == ({b"b"}, Name(b"b", b"R"))


def test_a_change_within_one_tick_is_seen_when_asked_for(disk: ModelDisk, found: MessageFiles) -> None:
    stat = disk.stat(b"/box/cur")
    assert stat is not None
    disk.rename(b"/box/cur/a:2,S", b"/box/cur/a:2,ST")
    disk._mtime[stat.inode] = stat.mtime_ns
    found.load()
    assert found.find(b"a") == Name(b"a", b"S")
    found.load(force=True)
    assert found.find(b"a") == Name(b"a", b"ST")


@pytest.mark.parametrize("name", [b"cur", b"new"])
def test_a_missing_folder_is_no_empty_one(disk: ModelDisk, found: MessageFiles, name: bytes) -> None:
    disk.rename(b"/box/" + name, b"/away")
    with pytest.raises(FileNotFoundError):
        found.load()
