"""A mailbox comes to a place where mail lies that belongs to none: all of it is there then, whatever is cut short."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from pyrepl.daemon.mailbox import box_move
from pyrepl.daemon.mailbox.box_move import bases_in, link_over, move_over
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.user_boxes import UserBoxes
from pyrepl.daemon.mailbox.user_folders import TMP
from pyrepl.mailbox.store import Outcome, RenameBox
from tests.unit.daemon.mailbox.model_disk import Died, ModelDisk, die_at
from tests.unit.daemon.mailbox.store_rig import (
    HOME,
    INBOX_ID,
    USER,
    WORK_ID,
    add,
    content,
    make_box,
    new_disk,
    new_store,
    tell,
)

THIRD_ID = f"{3:032x}"
OLD, NEW = b"/old", b"/new"


@pytest.fixture
def disk() -> ModelDisk:
    return new_disk()


@pytest.fixture(params=["maildir++", "fs"])
def layout(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def store(layout: str, disk: ModelDisk) -> MaildirStore:
    made = new_store(disk, layout, is_new=True)
    tell(made, make_box(), make_box(WORK_ID, "Work", 9))
    tell(made, add(made, "4.vm", 3, b"ours", ["kw"], box=WORK_ID))
    return made


def _folder(layout: str, name: bytes) -> bytes:
    return HOME + (b"/." if layout == "maildir++" else b"/") + name


def _strangers(disk: ModelDisk, folder: bytes) -> None:
    """Mail that another program has put there, and what it has beside it."""
    for name in (b"cur", b"new", b"tmp"):
        if disk.stat(folder + b"/" + name) is None:
            disk.make_folders(folder + b"/" + name)
    disk.write_new(folder + b"/cur/4.vm,S=5:2,Sa", b"other")
    disk.write_new(folder + b"/cur/4.vm:2,S", b"another")
    disk.write_new(folder + b"/new/5.vm", b"just come")
    disk.write_new(folder + b"/" + TMP + b"/6.vm", b"coming")
    disk.write_new(folder + b"/dovecot-keywords", b"0 theirs\n")


STRANGERS = [b"another", b"coming", b"just come", b"other"]


def _texts(disk: ModelDisk) -> list[bytes]:
    """Of all files of mail, wherever they are."""
    folders = (b"/cur/", b"/new/", b"/tmp/")
    return sorted(data for path, data in disk.tree().items() if any(folder in path for folder in folders))


@pytest.mark.parametrize("name", ["X", "INBOX"])
def test_mail_in_the_target_joins_the_mailbox(disk: ModelDisk, store: MaildirStore, layout: str, name: str) -> None:
    tell(store, RenameBox(USER, INBOX_ID, "Kept"))
    folder = HOME if name == "INBOX" else _folder(layout, b"X")
    _strangers(disk, folder)
    tell(store, RenameBox(USER, WORK_ID, name))
    listing = store.listing(USER, WORK_ID)
    assert [(each.uid, each.guid, each.flags) for each in listing.messages] == [(3, b"4.vm", frozenset({"kw"}))]
    assert listing.unlisted == {b"4.vm,S=5", b"4.vm.2", b"5.vm"}
    assert sorted(disk.names(folder + b"/cur")) == [b"4.vm,S=5:2,Sb", b"4.vm.2:2,S", b"4.vm:2,a"]
    assert disk.read(folder + b"/dovecot-keywords") == b"0 kw\n1 theirs\n", "a keyword means what it meant"
    assert _texts(disk) == [*STRANGERS, b"ours"]
    assert disk.stat(_folder(layout, b"Work")) is None, "an empty folder would be a mailbox to Dovecot"


def test_a_list_that_a_power_cut_emptied_costs_no_mail(disk: ModelDisk, store: MaildirStore, layout: str) -> None:
    tell(store, make_box(THIRD_ID, "X", 8))
    tell(store, add(store, "G1", 1, b"theirs", box=THIRD_ID))
    disk.unlink(_folder(layout, b"X") + b"/dovecot-uidlist")
    disk.write_new(_folder(layout, b"X") + b"/dovecot-uidlist", b"")
    [result] = store.perform([RenameBox(USER, WORK_ID, "X")])
    assert result.outcome is Outcome.FAILED and "write its first line anew" in result.reason
    disk.unlink(_folder(layout, b"X") + b"/dovecot-uidlist")
    tell(store, RenameBox(USER, WORK_ID, "X"))
    assert _unlisted(disk, store, _folder(layout, b"X")) == [b"theirs"]


def _unlisted(disk: ModelDisk, store: MaildirStore, folder: bytes) -> list[bytes]:
    names = store.listing(USER, WORK_ID).unlisted
    return [disk.read(folder + b"/cur/" + name) for name in disk.names(folder + b"/cur") if name[:-3] in names]


def test_a_delivery_to_inbox_between_its_copy_and_the_next_inbox(
    disk: ModelDisk, store: MaildirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when two INBOXes were united: the one that was `INBOX (2)` is INBOX from now on."""
    copy_out = UserBoxes._copy_out

    def copied(boxes: UserBoxes, guid: bytes, target: bytes) -> None:
        copy_out(boxes, guid, target)
        disk.write_new(HOME + b"/new/2.vm", b"just come")

    monkeypatch.setattr(UserBoxes, "_copy_out", copied)
    tell(store, add(store, "G1", 3, b"one"), RenameBox(USER, WORK_ID, "INBOX"))
    assert disk.read(HOME + b"/new/2.vm") == b"just come"
    assert store.listing(USER, WORK_ID).unlisted == {b"2.vm"}
    assert content(disk, store, INBOX_ID) == {3: ("G1", frozenset(), b"one")}


@pytest.mark.parametrize("target", ["X", "Work/X"])
@pytest.mark.parametrize("guid", [INBOX_ID, WORK_ID])
def test_a_crash_at_any_point_loses_no_mail(layout: str, target: str, guid: str) -> None:
    number = 0
    while True:
        number += 1
        disk = new_disk()
        store = new_store(disk, layout, is_new=True)
        tell(store, make_box(), make_box(WORK_ID, "Work", 9))
        tell(store, add(store, "4.vm", 3, b"ours", ["kw"], box=guid))
        _strangers(disk, _folder(layout, target.encode().replace(b"/", b"." if layout == "maildir++" else b"/")))
        store.settle([make_box(box) for box in (INBOX_ID, WORK_ID)])
        store.drop.clear({"b": 9})
        disk.calls, disk.before_call = 0, die_at(number)
        try:
            store.perform([RenameBox(USER, guid, target)])
            break
        except Died:
            disk.before_call = lambda number, what, path: None
        again = new_store(disk, layout)
        again.drop.clear({"b": 9})
        assert set(_texts(disk)) == {*STRANGERS, b"ours"}, number
        tell(again, RenameBox(USER, guid, target))
        again.drop.clear({"b": 9})
        assert _texts(disk) == sorted([*STRANGERS, b"ours"]), number
        [ours] = again.listing(USER, guid).messages
        assert (ours.uid, ours.guid, ours.flags) == (3, b"4.vm", frozenset({"kw"}))
    assert number > 10


def test_inbox_gets_the_name_of_a_folder_above_others(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(THIRD_ID, "A/B", 8), add(store, "G1", 3, b"one"), RenameBox(USER, INBOX_ID, "A"))
    assert content(disk, store, INBOX_ID) == {3: ("G1", frozenset(), b"one")}
    assert {place.name for place in store.boxes(USER)} == {"A", "A/B", "Work"}
    assert disk.names(HOME + b"/cur") == []


def _maildirs(disk: ModelDisk) -> None:
    for folder in (OLD, NEW):
        for name in (b"cur", b"new", b"tmp"):
            disk.make_folders(folder + b"/" + name)


def test_mail_that_comes_faster_than_it_can_be_moved_is_not_awaited_for_ever(
    disk: ModelDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _maildirs(disk)
    come = 0
    bases = box_move.bases_in

    def coming(files: ModelDisk, folder: bytes) -> set[bytes]:
        nonlocal come
        come += 1
        disk.write_new(NEW + b"/cur/%d.vm" % come, b"just come")
        return bases(files, folder)

    disk.write_new(NEW + b"/cur/0.vm", b"just come")
    monkeypatch.setattr(box_move, "bases_in", coming)
    monkeypatch.setattr(disk, "rename", _refusing(disk))
    with pytest.raises(OSError, match="faster"):
        move_over(disk, OLD, NEW)


def _refusing(disk: ModelDisk) -> Callable[[bytes, bytes], None]:
    rename = disk.rename

    def refuse(path: bytes, new: bytes) -> None:
        if path == OLD + b"/cur":
            raise OSError(errno.ENOTEMPTY, "not empty", new)
        rename(path, new)

    return refuse


def test_what_else_the_disk_refuses_is_told(disk: ModelDisk) -> None:
    _maildirs(disk)
    disk.write_new(NEW + b"/file", b"")
    with pytest.raises(NotADirectoryError):
        move_over(disk, OLD, NEW + b"/file")


def test_a_folder_that_only_the_target_has_stays(disk: ModelDisk) -> None:
    _maildirs(disk)
    disk.make_folders(NEW + b"/sieve")
    disk.write_new(NEW + b"/sieve/script", b"keep")
    disk.write_new(OLD + b"/sieve", b"a file")
    move_over(disk, OLD, NEW)
    assert disk.read(NEW + b"/sieve/script") == b"keep" and disk.names(OLD) == [b"sieve"]


def test_links_may_be_made_again(disk: ModelDisk) -> None:
    _maildirs(disk)
    disk.write_new(OLD + b"/cur/4.vm:2,S", b"ours")
    disk.write_new(NEW + b"/new/4.vm", b"other")
    for _ in range(2):
        link_over(disk, OLD, NEW)
    assert (disk.names(NEW + b"/cur"), disk.names(NEW + b"/new")) == ([b"4.vm:2,S"], [b"4.vm.2"])
    assert bases_in(disk, NEW) == {b"4.vm", b"4.vm.2"} and bases_in(disk, b"/nothing") == set()
