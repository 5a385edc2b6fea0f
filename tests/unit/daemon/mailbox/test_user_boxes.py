"""Mailboxes are made, renamed, removed and subscribed, in both layouts."""

from __future__ import annotations

import errno
import os

import pytest

from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.user_boxes import UserBoxes
from pyrepl.mailbox.store import MakeBox, Outcome, RemoveBox, RemoveMessage, RenameBox, SubscribeBox
from tests.unit.daemon.mailbox.model_disk import ModelDisk
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
OTHER_ID = "3" * 32


@pytest.fixture
def disk() -> ModelDisk:
    return new_disk()


@pytest.fixture(params=["maildir++", "fs"])
def store(request: pytest.FixtureRequest, disk: ModelDisk) -> MaildirStore:
    made = new_store(disk, request.param, is_new=True)
    tell(made, make_box(), make_box(WORK_ID, "Work", 9, 20))
    return made


def _names(store: MaildirStore) -> dict[str, str]:
    return {place.name: place.guid.decode() for place in store.boxes(USER)}


def test_a_mailbox_is_made_whole(disk: ModelDisk, store: MaildirStore) -> None:
    assert _names(store) == {"INBOX": INBOX_ID, "Work": WORK_ID}
    listing = store.listing(USER, WORK_ID)
    assert (listing.uidvalidity, listing.next_uid) == (9, 20)
    folder = HOME + (b"/.Work" if disk.stat(HOME + b"/.Work") else b"/Work")
    assert sorted(disk.names(folder)) == [b"cur", b"dovecot-uidlist", b"maildirfolder", b"new", b"tmp"]
    store.settle([make_box(box) for box in (INBOX_ID, WORK_ID)])
    assert disk.names(b"/mail/.pyrepl-drop") == []


def test_what_differs_is_changed(store: MaildirStore) -> None:
    tell(store, make_box(WORK_ID, "Play", 11, 30))
    listing = store.listing(USER, WORK_ID)
    assert (_names(store)["Play"], listing.uidvalidity, listing.next_uid) == (WORK_ID, 11, 30)
    tell(store, make_box(WORK_ID, "Play", 11, 5))
    assert store.listing(USER, WORK_ID).next_uid == 30


def test_who_made_room_is_followed_though_there_is_none_for_the_new_one(
    disk: ModelDisk, store: MaildirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gate would else be looked for in the folder that it had."""
    followed: list[str] = []
    monkeypatch.setattr(MaildirStore, "_follow_moved", lambda self, user, boxes, guid: followed.append(guid.decode()))

    def full(call: int, what: str, path: bytes) -> None:
        if what == "make_folder" and THIRD_ID.encode() in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    disk.before_call = full
    [result] = store.perform([make_box(THIRD_ID, "Work")])
    assert result.outcome is Outcome.FAILED and followed == [WORK_ID]
    assert "Work" not in _names(store) and WORK_ID in _names(store).values()


def test_a_folder_above_others_becomes_a_mailbox(store: MaildirStore) -> None:
    tell(
        store,
        make_box(THIRD_ID, "A/B"),
        make_box("4" * 32, "A"),
        RenameBox(USER, WORK_ID, "C/D"),
        make_box("5" * 32, "C"),
    )
    assert set(_names(store)) == {"INBOX", "A/B", "A", "C/D", "C"}


def test_names_are_swapped(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(THIRD_ID, "Other"), add(store, "G1", 20, b"one", box=WORK_ID))
    tell(store, RenameBox(USER, WORK_ID, "Other"))
    assert _names(store) == {"INBOX": INBOX_ID, "Other": WORK_ID, "Other (00000000)": THIRD_ID}
    tell(store, RenameBox(USER, THIRD_ID, "Work"))
    assert _names(store) == {"INBOX": INBOX_ID, "Other": WORK_ID, "Work": THIRD_ID}
    assert content(disk, store, WORK_ID) == {20: ("G1", frozenset(), b"one")}


def test_parents_and_children_are_renamed_in_any_order(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(THIRD_ID, "Work/Sub"), add(store, "G1", 3, b"one", box=THIRD_ID))
    for works in (
        [RenameBox(USER, WORK_ID, "Old"), RenameBox(USER, THIRD_ID, "Old/Sub")],
        [RenameBox(USER, THIRD_ID, "New/Sub"), RenameBox(USER, WORK_ID, "New")],
    ):
        tell(store, *works)
    assert _names(store) == {"INBOX": INBOX_ID, "New": WORK_ID, "New/Sub": THIRD_ID}
    assert content(disk, store, THIRD_ID) == {3: ("G1", frozenset(), b"one")}


def test_a_removed_mailbox_is_gone_and_its_children_stay(store: MaildirStore) -> None:
    tell(store, make_box(THIRD_ID, "Work/Sub"), add(store, "G1", 20, b"one", box=WORK_ID))
    tell(store, RemoveBox(USER, WORK_ID), RemoveBox(USER, WORK_ID))
    assert _names(store) == {"INBOX": INBOX_ID, "Work/Sub": THIRD_ID}


@pytest.mark.parametrize("child", [None, "Work/Sub"])
def test_mail_that_comes_while_an_empty_mailbox_is_removed_keeps_it(
    disk: ModelDisk, store: MaildirStore, monkeypatch: pytest.MonkeyPatch, child: str | None
) -> None:
    """A delivery needs no lock: it may come behind the look that found no mail."""
    if child is not None:
        tell(store, make_box(THIRD_ID, child))
    before = _names(store)
    boxes = store._boxes(USER)
    [path] = [boxes.path(place) for place in boxes.places() if place.guid == WORK_ID.encode()]
    has_mail = UserBoxes.has_mail
    looked = False

    def look(boxes: UserBoxes, path: bytes) -> bool:
        nonlocal looked
        found = has_mail(boxes, path)
        if not looked:
            disk.write_new(path + b"/new/9.vm", b"answered 250")
        looked = True
        return found

    monkeypatch.setattr(UserBoxes, "has_mail", look)
    assert not boxes.remove_unless_mail(WORK_ID.encode())
    assert _names(store) == before and disk.read(path + b"/new/9.vm") == b"answered 250"
    assert store.listing(USER, WORK_ID).unlisted == {b"9.vm"}
    assert not boxes.remove_unless_mail(WORK_ID.encode())
    disk.unlink(path + b"/new/9.vm")
    assert boxes.remove_unless_mail(WORK_ID.encode()) and boxes.remove_unless_mail(WORK_ID.encode())
    assert _names(store) == {name: guid for name, guid in before.items() if guid != WORK_ID}
    assert boxes.remove_unless_mail(INBOX_ID.encode()) and "INBOX" not in _names(store)


def test_a_mailbox_moves_below_its_own_name(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 20, b"one", box=WORK_ID), RenameBox(USER, WORK_ID, "Work/Old"))
    assert _names(store) == {"INBOX": INBOX_ID, "Work/Old": WORK_ID}
    tell(store, RenameBox(USER, WORK_ID, "Work"))
    assert _names(store) == {"INBOX": INBOX_ID, "Work": WORK_ID}
    assert content(disk, store, WORK_ID) == {20: ("G1", frozenset(), b"one")}


def test_inbox_is_renamed_by_a_copy(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one", ["kw"]), RenameBox(USER, INBOX_ID, "Kept"), make_box(THIRD_ID, "INBOX", 12))
    assert _names(store) == {"INBOX": THIRD_ID, "Kept": INBOX_ID, "Work": WORK_ID}
    assert content(disk, store, INBOX_ID) == {3: ("G1", {"kw"}, b"one")}
    assert content(disk, store, THIRD_ID) == {}
    tell(store, add(store, "G2", 1, b"two", box=THIRD_ID), RemoveBox(USER, THIRD_ID), make_box("4" * 32, "INBOX"))
    assert content(disk, store, "4" * 32) == {}


def test_one_that_becomes_inbox_leaves_no_folder(disk: ModelDisk, store: MaildirStore) -> None:
    """As after MAILBOX RENEW: Dovecot shows every folder to clients, and a user's own is marked as none of theirs."""
    tell(store, make_box(THIRD_ID, "INBOX (2)"), add(store, "G1", 1, b"one", box=THIRD_ID))
    before = disk.names(HOME)
    tell(store, RenameBox(USER, THIRD_ID, "INBOX"), RemoveBox(USER, INBOX_ID))
    assert {*before} - {*disk.names(HOME)} in ({b".INBOX (2)"}, {b"INBOX (2)"})
    assert b"maildirfolder" not in disk.names(HOME)
    assert content(disk, store, THIRD_ID) == {1: ("G1", frozenset(), b"one")}


def test_one_whose_name_is_taken_is_found_where_it_is(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one"), make_box(THIRD_ID, "Other"))
    tell(store, RenameBox(USER, THIRD_ID, "INBOX"), RenameBox(USER, THIRD_ID, "Other"))
    tell(store, RemoveMessage(USER, INBOX_ID, "G1"))
    assert content(disk, store) == {}


def test_mail_that_comes_while_inbox_is_renamed_stays_in_inbox(
    disk: ModelDisk, store: MaildirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery needs no lock, and a message that has no UID yet is in no copy."""
    copy_out = UserBoxes._copy_out

    def copied(boxes: UserBoxes, guid: bytes, target: bytes) -> None:
        copy_out(boxes, guid, target)
        disk.write_new(HOME + b"/new/2.vm", b"just come")

    monkeypatch.setattr(UserBoxes, "_copy_out", copied)
    tell(store, add(store, "G1", 3, b"one"), RenameBox(USER, INBOX_ID, "Kept"), make_box(THIRD_ID, "INBOX", 12))
    assert content(disk, store, INBOX_ID) == {3: ("G1", frozenset(), b"one")}
    assert store.listing(USER, THIRD_ID).unlisted == {b"2.vm"} and store.listing(USER, THIRD_ID).messages == ()


def test_an_inbox_whose_copy_a_crash_left_is_emptied(
    disk: ModelDisk, store: MaildirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(store, add(store, "G1", 3, b"one"))
    monkeypatch.setattr(UserBoxes, "_empty_inbox", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.perform([RenameBox(USER, INBOX_ID, "Kept")])
    monkeypatch.undo()
    layout = "maildir++" if disk.stat(HOME + b"/.Work") else "fs"
    again = new_store(disk, layout)
    tell(again, RenameBox(USER, INBOX_ID, "Kept"))
    assert _names(again) == {"Kept": INBOX_ID, "Work": WORK_ID} and disk.names(HOME + b"/cur") == []
    assert content(disk, again, INBOX_ID) == {3: ("G1", frozenset(), b"one")}


def test_an_inbox_of_dovecots_gives_way(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(THIRD_ID, "INBOX", 12))
    assert _names(store) == {"INBOX": THIRD_ID, "Work": WORK_ID}, "an empty one leaves nothing"
    tell(store, add(store, "G1", 3, b"one", box=THIRD_ID), make_box("4" * 32, "INBOX", 13))
    assert _names(store) == {"INBOX": "4" * 32, "INBOX (00000000)": THIRD_ID, "Work": WORK_ID}
    assert content(disk, store, THIRD_ID) == {3: ("G1", frozenset(), b"one")}


def test_subscriptions(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, SubscribeBox(USER, WORK_ID, "Work", True), SubscribeBox(USER, INBOX_ID, "INBOX", True))
    assert store.subscribed(USER) == ("Work", "INBOX")
    disk.write_new(HOME + b"/subscriptions.lock", b"left by a dead Dovecot")
    tell(store, SubscribeBox(USER, WORK_ID, "Work", False), SubscribeBox(USER, WORK_ID, "Work", False))
    assert store.subscribed(USER) == ("INBOX",)


@pytest.mark.parametrize(
    "work", [make_box(THIRD_ID, "../up"), RenameBox(USER, WORK_ID, "a//b"), RenameBox(USER, THIRD_ID, "x")]
)
def test_what_cannot_be_is_told(store: MaildirStore, work: MakeBox | RenameBox) -> None:
    before = _names(store)
    [result] = store.perform([work])
    assert result.outcome is Outcome.FAILED and result.reason
    assert _names(store) == before


@pytest.mark.parametrize("name", ["v1.2", "cur/v1.2", "N" * 250, "N" * 300])
def test_a_name_that_the_layout_cannot_store(disk: ModelDisk, store: MaildirStore, name: str) -> None:
    """Of a mailbox that was made on a node with another layout: it is stored under another name, always the same, and
    its user's works go on."""
    made = make_box(OTHER_ID, name, 8)
    [first] = store.perform([made])
    [again] = store.perform([made])
    shown = [name for name, guid in _names(store).items() if guid == OTHER_ID]
    assert first == again and [first.stored_as or name] == shown and first.outcome is Outcome.DONE
    tell(store, add(store, "G1", 3, b"one", box=OTHER_ID), SubscribeBox(USER, OTHER_ID, name, True))
    assert list(store.subscribed(USER)) == shown
    [renamed] = store.perform([RenameBox(USER, WORK_ID, name)])
    assert renamed.outcome is Outcome.DONE, "whoever had the name is called otherwise, however long that is"
    assert sorted(_names(store).values()) == [INBOX_ID, WORK_ID, OTHER_ID]
    assert content(disk, store, OTHER_ID) == {3: ("G1", frozenset(), b"one")}
    tell(store, RemoveBox(USER, OTHER_ID), RenameBox(USER, WORK_ID, "Work"))
    assert _names(store) == {"INBOX": INBOX_ID, "Work": WORK_ID}


def test_two_mailboxes_that_no_name_tells_apart_stay_two(disk: ModelDisk, store: MaildirStore) -> None:
    """Their GUIDs begin alike."""
    tell(store, make_box(THIRD_ID, "N" * 300, 8), add(store, "G1", 3, b"one", box=THIRD_ID))
    [result] = store.perform([RenameBox(USER, WORK_ID, "N" * 300)])
    assert result.outcome is Outcome.FAILED and "two mailboxes" in result.reason
    assert sorted(_names(store).values()) == [INBOX_ID, WORK_ID, THIRD_ID]
