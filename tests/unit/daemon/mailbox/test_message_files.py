"""The files of messages: found by their base, wherever another process put them."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox import message_files
from pyrepl.daemon.mailbox.message_files import CUR, MOST_HEARD, NEW, Change, MessageFiles
from pyrepl.mailbox.maildir.filename import Name, base_of
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


def test_what_others_heard_of_is_believed_for_a_while(disk: ModelDisk, found: MessageFiles) -> None:
    disk.write_new(b"/box/cur/c:2,", b"three")
    found.hear([])
    assert not found.has(b"c")
    found.hear([Change(CUR, b"c:2,", True), Change(CUR, b"c:2,", False), Change(CUR, b"c:2,F", True)])
    assert found.find(b"c") == Name(b"c", b"F"), "in their order"
    found.hear([Change(NEW, b"unknown", False), Change(NEW, b"b", False)])
    assert found.bases() == {b"a", b"c"}
    for _ in range(MOST_HEARD - 3):
        found.hear([])
    assert not found.has(b"b")
    found.hear([])
    assert found.find(b"c") == Name(b"c", b"") and found.has(b"b"), "it is listed"
    found.hear([Change(NEW, b"b", False)])
    assert not found.has(b"b")
    found.hear(None)
    assert found.has(b"b")
    disk.rename(b"/box/cur", b"/box/elsewhere")
    with pytest.raises(FileNotFoundError):
        found.hear([])


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


def test_what_was_touched_is_told_from_when_it_was_asked_for(disk: ModelDisk, found: MessageFiles) -> None:
    assert found.touched is None
    found.track()
    disk.write_new(b"/box/new/c", b"three")
    disk.rename(b"/box/cur/a:2,S", b"/box/cur/a:2,")
    found.load()
    found.remove(b"b")
    assert found.touched == {b"a", b"b", b"c"}
    found.track()
    assert found.touched == set()


def test_too_much_that_was_touched_is_forgotten(
    disk: ModelDisk, found: MessageFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrepl.daemon.mailbox.message_files.MOST_TOUCHED", 2)
    found.track()
    for base in (b"c", b"d"):
        disk.write_new(b"/box/new/" + base, b"")
    found.load()
    assert found.touched == {b"c", b"d"}
    found.remove(b"a")
    assert found.touched is None


@pytest.mark.parametrize("gone", [b"/box/cur/a:2,S", b"/box/cur/a:2,T", b"/box/new/a"])
def test_a_message_with_several_names_is_there_as_long_as_one_is(
    disk: ModelDisk, found: MessageFiles, gone: bytes
) -> None:
    names = {b"/box/cur/a:2,S", b"/box/cur/a:2,T", b"/box/new/a"}
    for path in names - {b"/box/cur/a:2,S"}:
        disk.write_new(path, b"")
    found.load()
    assert found.path(b"a") in names
    disk.unlink(gone)
    found.load()
    assert found.path(b"a") in names - {gone}
    for path in sorted(names - {gone}):
        assert found.find(b"a") is not None
        disk.unlink(path)
        found.load()
    assert found.find(b"a") is None


@pytest.mark.parametrize("is_link", [True, False])
def test_a_message_with_several_names_goes_with_all_of_them(
    disk: ModelDisk, found: MessageFiles, is_link: bool
) -> None:
    """As where a restore brought its file back under the flags that it had; it would come back everywhere."""
    for path in (b"/box/cur/a:2,T", b"/box/new/a"):
        disk.link(b"/box/cur/a:2,S", path) if is_link else disk.write_new(path, b"one")
    found.load()
    found.remove(b"a")
    assert disk.names(b"/box/cur") == [] and disk.names(b"/box/new") == [b".hidden", b"b"] and not found.has(b"a")


@pytest.mark.parametrize("flags", [b"F", b"S", b"T"])
def test_a_message_with_several_names_has_one_when_its_flags_were_set(
    disk: ModelDisk, found: MessageFiles, flags: bytes
) -> None:
    disk.write_new(b"/box/cur/a:2,T", b"one")
    disk.link(b"/box/cur/a:2,S", b"/box/new/a")
    found.load()
    found.rename(b"a", Name(b"a", flags))
    assert disk.names(b"/box/cur") == [b"a:2," + flags] and disk.names(b"/box/new") == [b".hidden", b"b"]
    found.load(force=True)
    assert found.find(b"a") == Name(b"a", flags)


def test_a_file_of_another_size_is_not_taken_for_the_same_message(disk: ModelDisk, found: MessageFiles) -> None:
    disk.write_new(b"/box/cur/a:2,T", b"another text")
    found.load()
    found.rename(b"a", Name(b"a", b"F"))
    assert len(disk.names(b"/box/cur")) == 2


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_message_in_cur_keeps_its_flags_beside_one_of_its_name_in_new(
    disk: ModelDisk, found: MessageFiles, is_heard: bool
) -> None:
    disk.write_new(b"/box/new/a", b"")
    found.hear([Change(NEW, b"a", True)] if is_heard else None)
    assert found.find(b"a") == Name(b"a", b"S")
    disk.unlink(b"/box/cur/a:2,S")
    found.hear([Change(CUR, b"a:2,S", False)] if is_heard else None)
    assert found.path(b"a") == b"/box/new/a"


def test_only_the_folders_that_we_changed_are_synced(disk: ModelDisk, found: MessageFiles) -> None:
    calls: list[tuple[str, bytes]] = []
    disk.before_call = lambda number, what, path: calls.append((what, path))
    for base in (b"a", b"b"):
        found.rename(base, Name(base))
        found.sync()
    synced = [path for what, path in calls if what == "sync"]
    assert synced == [b"/box/cur", b"/box/cur", b"/box/new"]


def test_what_no_line_can_name_is_passed_over(disk: ModelDisk, found: MessageFiles) -> None:
    for name in (b"new/foo\nbar", b"new/:2,S", b"cur/x\r:2,"):
        disk.write_new(b"/box/" + name, b"mail")
    found.load()
    assert found.bases() == {b"a", b"b"}
    assert found.passed_over == {b"/box/new/foo\nbar", b"/box/new/:2,S", b"/box/cur/x\r:2,"}
    found.hear([Change(NEW, b"foo\nbar", False), Change(NEW, b"more\n", True), Change(NEW, b":2,S", False)])
    assert found.passed_over == {b"/box/new/more\n", b"/box/cur/x\r:2,"} and found.bases() == {b"a", b"b"}


def test_a_file_that_was_renamed_meanwhile_is_removed(disk: ModelDisk, found: MessageFiles) -> None:
    disk.rename(b"/box/cur/a:2,S", b"/box/cur/a:2,FS")
    found.remove(b"a")
    assert not found.has(b"a") and disk.names(b"/box/cur") == []
    disk.unlink(b"/box/new/b")
    found.remove(b"b")
    assert not found.has(b"b")


def test_messages_with_several_names_do_not_have_all_others_looked_through(
    disk: ModelDisk, found: MessageFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was heard of twice, as changes before a listing are heard of after it, is there twice for a moment."""
    many = 100
    found.hear([Change(CUR, b"m%d:2,FS" % number, True) for number in range(many)])
    looked = 0

    def counting(name: bytes) -> bytes:
        nonlocal looked
        looked += 1
        return base_of(name)

    monkeypatch.setattr(message_files, "base_of", counting)
    steps = [b":2,", b":2,S"]
    changes = [
        Change(CUR, b"m%d%b" % (number, step), is_there)
        for number in range(many)
        for step in steps
        for is_there in (True, False)
    ]
    found.hear(changes)
    assert looked <= 3 * len(changes)
    assert all(found.find(b"m%d" % number) == Name(b"m%d" % number, b"FS") for number in range(many))
