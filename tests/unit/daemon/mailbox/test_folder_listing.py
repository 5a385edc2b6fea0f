"""Folders are listed beside a Dovecot: what it made, and never an empty list of what is missing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

import pytest

from pyrepl.daemon.mailbox import maildir_store
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace, NotThere
from pyrepl.daemon.mailbox.uidlist_lock import GATE_S, UidlistLock
from pyrepl.mailbox.folders import FolderOrder, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateWork
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MoveMessage,
    Outcome,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.uids import UidBlocks
from tests.unit.daemon.mailbox.model_disk import OWNER, ModelDisk
from tests.unit.daemon.mailbox.store_rig import (
    HOME,
    INBOX_ID,
    ORIGIN,
    PATTERN,
    USER,
    WORK_ID,
    add,
    make_box,
    new_disk,
    outcomes,
    tell,
)

LIST = b"/dovecot-uidlist"
LOCK = b"/dovecot-uidlist.lock"
BLOCKS = UidBlocks(100_000, 2)


class Told:
    """Who is told of gates."""

    def __init__(self) -> None:
        self.followed: list[bytes] = []
        self.users: list[bytes] = []
        self.lost: list[str] = []
        self.gates: dict[bytes, bool] = {}

    def follow(self, box: str, folder: bytes) -> None:
        self.followed.append(folder)

    def follow_user(self, user: str, folder: bytes) -> None:
        self.users.append(folder)

    def gone(self, box: str) -> None:
        self.lost.append(box)

    def open(self, box: str, gate: bytes) -> None:
        self.gates[gate] = True

    def shut(self, gate: bytes) -> None:
        self.gates[gate] = False

    def changes(self, gate: bytes) -> None: ...


class Rig:
    def __init__(self, layout: str = "maildir++", disk: ModelDisk | None = None) -> None:
        self.disk = disk or new_disk()
        self.told = Told()
        place = MaildirsPlace(self.disk, PATTERN, OWNER)
        lock = UidlistLock(self.disk, b"host", lambda _: None, wait_s=0.1, keeper=1)
        self.store = MaildirStore(self.disk, place, LAYOUTS[layout], lock, ORIGIN, lambda _: None, self.told, BLOCKS)
        self.store.prepare(is_new=disk is None)
        if disk is None:
            tell(self.store, make_box(), make_box(WORK_ID, "Work", 9))

    def open(self, box: str) -> None:
        """Its gate, which is shut since the mailbox was made."""
        self.store.gate(GateOrder(GateWork.OPEN, USER, box))

    def listed(self, *known: str) -> FoundFolders | None:
        return self.store.folders(FolderOrder(USER, frozenset(known))).found


def test_a_mailbox_is_made_with_its_gate_shut() -> None:
    """Its Dovecot would give out the first UID, before it is known whether another node does."""
    rig = Rig()
    for folder in (HOME, HOME + b"/.Work"):
        found = rig.disk.stat(folder + LOCK)
        assert found is not None and found.mtime_ns == GATE_S * 1_000_000_000 and rig.told.gates[folder] is False
    rig.open(WORK_ID)
    tell(rig.store, make_box(WORK_ID, "Work", 9))
    assert rig.told.gates[HOME + b"/.Work"] is True and not rig.disk.stat(HOME + b"/.Work" + LOCK), "it was there"


def test_a_message_that_was_saved_apart_shuts_an_open_gate_behind_it() -> None:
    """A Dovecot would give out the UIDs behind it, which are another node's."""
    rig, lock = Rig(), HOME + b"/.Work" + LOCK
    rig.open(WORK_ID)
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))
    assert rig.disk.stat(lock) is None and rig.told.gates[HOME + b"/.Work"], "it goes on in the same block"
    steps: list[tuple[str, bytes]] = []
    rig.disk.before_call = lambda number, what, path: steps.append((what, path))
    tell(rig.store, add(rig.store, "G2", BLOCKS.gap + 3, b"two", box=WORK_ID))
    found = rig.disk.stat(lock)
    assert found is not None and found.mtime_ns == GATE_S * 1_000_000_000 and not rig.told.gates[HOME + b"/.Work"]
    assert not any(what == "unlink" and path == lock for what, path in steps), "it was not free for a moment"
    tell(rig.store, add(rig.store, "G3", 2 * BLOCKS.gap, b"three", box=WORK_ID))
    assert rig.disk.stat(lock) is not None, "it stays shut"


def sorted_(found: FoundFolders | None) -> Sequence[FoundFolder]:
    assert found is not None
    return sorted(found.boxes)


def test_what_is_there_is_told_and_watched_before() -> None:
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID), SubscribeBox(USER, WORK_ID, "Work", True))
    rig.disk.make_folders(HOME + b"/.Coming")
    found = rig.listed(INBOX_ID)
    assert sorted_(found) == [FoundFolder("INBOX", INBOX_ID), FoundFolder("Work", WORK_ID, 9, has_mail=True)]
    assert found is not None and found.subscribed == {"Work"} and rig.told.users == [HOME, HOME + b"/.Coming"]


def test_what_a_dovecot_is_removing_is_gone_already() -> None:
    """Else mail that comes for it would be put there, and be removed with it."""
    rig = Rig()
    rig.listed()
    rig.disk.rename(HOME + b"/.Work", HOME + b"/..DOVECOT-TRASHED")
    found = rig.listed()
    assert [each.name for each in sorted_(found)] == ["INBOX"] and found is not None and found.unnamed == ()


def test_a_file_with_a_dot_before_its_name_is_no_mail() -> None:
    rig = Rig()
    rig.disk.write_new(HOME + b"/.Work/cur/.keep", b"")
    assert sorted_(rig.listed(INBOX_ID)) == [FoundFolder("INBOX", INBOX_ID), FoundFolder("Work", WORK_ID, 9)]


def test_a_folder_that_was_copied_is_told() -> None:
    """As by `cp -a` from one that is known, or that is looked at first."""
    rig = Rig()
    rig.listed()
    for name in (b"/.Another", b"/.Zoo"):
        rig.disk.make_folders(HOME + name + b"/cur")
        rig.disk.write_new(HOME + name + b"/dovecot-uidlist", rig.disk.read(HOME + b"/.Work/dovecot-uidlist"))
    found = rig.listed()
    assert [each.name for each in sorted_(found)] == ["INBOX", "Work"]
    assert found is not None and found.copied == ((HOME + b"/.Another").decode(), (HOME + b"/.Zoo").decode())


def _copy_work(rig: Rig) -> None:
    """A message comes into Work after its folder was copied."""
    rig.disk.make_folders(HOME + b"/.Work-old/cur")
    rig.disk.make_folders(HOME + b"/.Work-old/new")
    rig.disk.write_new(HOME + b"/.Work-old" + LIST, rig.disk.read(HOME + b"/.Work" + LIST))
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))


def test_which_of_two_folders_is_a_copy_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mail that the copy does not have would be expunged on all nodes."""
    monkeypatch.setattr(maildir_store, "MOST_OPEN", 1)
    rig = Rig()
    assert rig.store.folders(ORDER).found is not None
    _copy_work(rig)
    tell(rig.store, MakeBox("bob", "8" * 32, "INBOX", 7, 1))
    assert rig.store.listing("bob", "8" * 32).messages == ()
    result = rig.store.gate(GateOrder(GateWork.SHUT, USER, WORK_ID))
    assert result.found is not None and [each.guid for each in result.found.messages] == ["G1"]


def test_a_gate_in_each_of_two_folders_is_not_shut() -> None:
    rig = Rig()
    _copy_work(rig)
    again = Rig(disk=rig.disk).store
    result = again.gate(GateOrder(GateWork.SHUT, USER, WORK_ID))
    assert "nothing tells which of them is its folder" in result.why and not result.is_shut and not result.is_gone
    assert outcomes(again.perform([SetFlags(USER, WORK_ID, "G1", ())])) == [Outcome.FAILED]
    assert "nothing tells" in again.folders(FolderOrder(USER, frozenset({WORK_ID}))).why


def test_works_of_a_mailbox_that_is_not_mounted_are_not_done() -> None:
    """What the rows call it is known before its user's folders are looked at for the first time."""
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))
    rig.disk.rename(HOME + b"/.Work", b"/elsewhere")
    rig.disk.make_folders(HOME + b"/.Work")
    again = Rig(disk=rig.disk).store
    again.remember(USER, {WORK_ID: "Work"})
    assert outcomes(again.try_again([SetFlags(USER, WORK_ID, "G1", ())])) == [Outcome.FAILED]


@pytest.mark.parametrize("name", [b".INBOX", b".&bad", b".two..dots"])
def test_folders_that_no_mailbox_can_have_are_told(name: bytes) -> None:
    rig = Rig()
    rig.disk.make_folders(HOME + b"/" + name)
    assert (found := rig.listed()) is not None and found.unnamed == (), "it holds no mail"
    rig.disk.make_folders(HOME + b"/" + name + b"/cur")
    found = rig.listed()
    assert found is not None and found.unnamed == ((HOME + b"/" + name).decode(),) and len(found.boxes) == 2


def test_in_nested_folders_all_are_watched() -> None:
    rig = Rig("fs")
    assert len(sorted_(rig.listed())) == 2 and rig.told.users == [HOME, HOME + b"/Work"]


def test_one_whose_name_was_taken_wants_it_still() -> None:
    rig = Rig()
    tell(rig.store, make_box("3" * 32, "Work", 10))
    assert FoundFolder("Work", WORK_ID, 9, is_aside=True) in sorted_(rig.listed())


@pytest.mark.parametrize("missing", [HOME, HOME + b"/cur", b"/mail/.pyrepl-mailboxes"])
def test_what_is_missing_is_told_as_such(missing: bytes) -> None:
    rig = Rig()
    rig.disk.rename(HOME + b"/.Work", b"/deleted")
    rig.disk.rename(missing, b"/elsewhere")
    result = rig.store.folders(FolderOrder(USER, frozenset()))
    assert result.found is None and "mounted" in result.why
    work = add(rig.store, "G1", 3, b"one", box=WORK_ID)
    assert outcomes(rig.store.perform([work])) != [Outcome.DONE]


def _refuse(rig: Rig, path: bytes) -> None:
    """Its list cannot be read from now on."""
    read_part = rig.disk.read_part

    def refused(called: bytes, start: int, most: int) -> bytes:
        if called == path + LIST:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), called)
        return read_part(called, start, most)

    rig.disk.read_part = refused  # type: ignore[method-assign, assignment]


def _empty(rig: Rig, path: bytes) -> None:
    """As a power cut leaves it."""
    rig.disk.unlink(path + LIST)
    rig.disk.write_new(path + LIST, b"")


@pytest.mark.parametrize("break_it", [_refuse, _empty])
def test_a_mailbox_whose_list_cannot_be_read_is_not_one_that_is_not_there(
    break_it: Callable[[Rig, bytes], None],
) -> None:
    """Other nodes would delete it with its mail, and works on it would count as done."""
    rig, work = Rig(), HOME + b"/.Work"
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))
    break_it(rig, work)
    result = rig.store.folders(FolderOrder(USER, frozenset({INBOX_ID, WORK_ID})))
    assert result.found is None and "/.Work/dovecot-uidlist" in result.why
    works: list[Work] = [
        SetFlags(USER, WORK_ID, "G1", ("\\Seen",)),
        RemoveMessage(USER, WORK_ID, "G1"),
        RenameBox(USER, WORK_ID, "Play"),
        RemoveBox(USER, WORK_ID),
        make_box(WORK_ID, "Work", 9),
    ]
    for each in works:
        assert outcomes(rig.store.perform([each])) == [Outcome.FAILED]
    assert rig.disk.names(work + b"/cur") == [b"G1:2,"]


@pytest.mark.parametrize(("guid", "path"), [(INBOX_ID, HOME), (WORK_ID, HOME + b"/.Work")])
def test_a_list_whose_first_line_is_written_anew_is_one_again(guid: str, path: bytes) -> None:
    """As the error advises."""
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=guid))
    _empty(rig, path)
    order = FolderOrder(USER, frozenset({INBOX_ID, WORK_ID}))
    assert "write its first line anew: 3 V<uidvalidity> N<uidnext> G<guid>" in rig.store.folders(order).why
    rig.disk.unlink(path + LIST)
    rig.disk.write_new(path + LIST, b"3 V9 N4 G%b\n" % guid.encode())
    assert len(sorted_(rig.listed(INBOX_ID, WORK_ID))) == 2
    assert rig.store.listing(USER, guid).unlisted == {b"G1"} and rig.store.listing(USER, guid).next_uid == 4


@pytest.mark.parametrize("name", [b".spamassassin", b".two..dots"])
def test_a_folder_of_somebody_else_that_cannot_be_read_stops_nothing(name: bytes) -> None:
    """Beside the mailboxes of a user whose home it is."""
    rig = Rig()
    rig.disk.make_folders(HOME + b"/" + name)
    rig.disk.foreign.add(HOME + b"/" + name)
    _refuse(rig, HOME + b"/" + name)
    assert len(sorted_(rig.listed(INBOX_ID, WORK_ID))) == 2 and len(rig.store.stored(USER)) == 2
    rig.store.check_missing(USER, {INBOX_ID, WORK_ID})
    tell(rig.store, make_box("3" * 32, "New", 8), RemoveBox(USER, "3" * 32), RemoveBox(USER, "3" * 32))
    order = FolderOrder(USER, frozenset({INBOX_ID, WORK_ID, "9" * 32}))
    assert rig.store.folders(order).found is None, "that may be it"


ORDER = FolderOrder(USER, frozenset({INBOX_ID}), ((INBOX_ID, "INBOX"), (WORK_ID, "Work")))
"""As if Work were shown under another name than its own."""


@pytest.mark.parametrize("how", ["no list", "unmounted", "a link"])
def test_a_mailbox_of_which_something_is_there_is_not_gone(how: str) -> None:
    """Other nodes would delete it with its mail, and this one when it is back."""
    rig, work = Rig(), HOME + b"/.Work"
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))
    assert rig.store.folders(ORDER).found is not None
    if how == "no list":
        rig.disk.rename(work + LIST, b"/list")
    else:
        rig.disk.rename(work, b"/elsewhere")
        rig.disk.make_folders(work) if how == "unmounted" else rig.disk.write_new(work, b"")
    for _ in range(2):
        result = rig.store.folders(ORDER)
        assert result.found is None and "/.Work " in result.why
        assert outcomes(rig.store.perform([SetFlags(USER, WORK_ID, "G1", ())])) == [Outcome.FAILED]
        again = Rig(disk=rig.disk)
        again.store.remember(USER, dict(ORDER.names))
        assert len(again.store.stored(USER)) == 1
        with pytest.raises(NotThere, match=r"/\.Work "):
            again.store.check_missing(USER, dict(ORDER.names))
    if how == "no list":
        rig.disk.rename(b"/list", work + LIST)
    else:
        rig.disk.remove_folder(work) if how == "unmounted" else rig.disk.unlink(work)
        rig.disk.rename(b"/elsewhere", work)
    assert len(sorted_(rig.store.folders(ORDER).found)) == 2


def test_a_mailbox_with_a_name_that_cannot_be_said_is_there_under_its_own() -> None:
    """A client may give it one, and another one later."""
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one", box=WORK_ID))
    rig.disk.rename(HOME + b"/.Work", HOME + b"/.two..dots")
    for store in (rig.store, Rig(disk=rig.disk).store):
        found = store.folders(ORDER).found
        assert [(each.name, each.box) for each in sorted_(found)] == [("INBOX", INBOX_ID), ("Work", WORK_ID)]
        assert found is not None and found.unnamed == (os.fsdecode(HOME) + "/.two..dots",)
        seen = SetFlags(USER, WORK_ID, "G1", ("\\Seen",))
        store.perform([seen])
        tell(store, seen)
    tell(rig.store, RenameBox(USER, WORK_ID, "Play"))
    assert rig.disk.names(HOME + b"/.Play/cur") == [b"G1:2,S"] and rig.disk.stat(HOME + b"/.two..dots") is None


@pytest.mark.parametrize(("guid", "folder"), [(WORK_ID, b"/.Work"), (INBOX_ID, b"")])
def test_of_two_folders_with_one_guid_the_one_that_was_seen_is_the_mailbox(guid: str, folder: bytes) -> None:
    """A copy by hand is no rename."""
    rig = Rig()
    copy = HOME + b"/.Work.old"
    for name in (b"cur", b"new", b"tmp"):
        rig.disk.make_folders(copy + b"/" + name)
    rig.disk.write_new(copy + LIST, rig.disk.read(HOME + folder + LIST))
    names = {INBOX_ID: "INBOX", WORK_ID: "Work"}
    for store in (rig.store, Rig(disk=rig.disk).store):
        assert {each.box: each.name for each in sorted_(store.folders(ORDER).found)} == names
    rig.disk.rename(HOME + b"/.Work", b"/gone") if guid == WORK_ID else None
    found = sorted_(rig.store.folders(ORDER).found)
    assert {each.box: each.name for each in found} == names | ({WORK_ID: "Work/old"} if guid == WORK_ID else {})


def test_a_mailbox_whose_deletion_was_cut_short_may_be_removed() -> None:
    rig = Rig()
    rig.disk.remove_folder(HOME + b"/.Work/cur")
    tell(rig.store, RemoveBox(USER, WORK_ID))
    assert sorted_(rig.listed(INBOX_ID)) == [FoundFolder("INBOX", INBOX_ID)]


def test_a_mailbox_that_is_to_go_on_at_a_uid_says_so_when_it_cannot() -> None:
    """Its Dovecot would give out UIDs that the others have used."""
    rig = Rig()

    def full(number: int, what: str, path: bytes) -> None:
        if path.endswith(b"/dovecot-uidlist.tmp") and what == "write_new":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    rig.disk.before_call = full
    assert outcomes(rig.store.perform([make_box(WORK_ID, "Work", 9, 500)])) == [Outcome.FAILED]
    rig.disk.before_call = lambda number, what, path: None
    tell(rig.store, make_box(WORK_ID, "Work", 9, 500))
    assert rig.store.listing(USER, WORK_ID).next_uid == 500


def test_a_mailbox_that_its_client_deleted_does_not_stop_its_user() -> None:
    rig = Rig()
    rig.disk.rename(HOME + b"/.Work", b"/elsewhere")
    works: list[Work] = [add(rig.store, "G1", 3, b"one", box=WORK_ID), SetFlags(USER, WORK_ID, "G1", ())]
    assert outcomes(rig.store.perform(works)) == [Outcome.TOO_LOW, Outcome.DONE]
    gone: list[Work] = [RenameBox(USER, WORK_ID, "Play"), RemoveBox(USER, "9" * 32)]
    assert outcomes(rig.store.perform(gone)) == [Outcome.DONE] * 2
    again: list[Work] = [
        make_box(WORK_ID, "Work", 9),
        MoveMessage(USER, WORK_ID, "G1", 4),
        AddMessage(USER, WORK_ID, "G1", 4, (), 1, 3, ""),
    ]
    assert outcomes(rig.store.perform(again)) == [Outcome.DONE] * 3
    assert [each.uid for each in rig.store.listing(USER, WORK_ID).messages] == [4]


@pytest.mark.parametrize("how", ["made", "expected", "listed"])
def test_works_on_an_inbox_in_whose_place_is_another_are_owed(how: str) -> None:
    """Nobody can delete INBOX: its Maildir is away, and a client has let its Dovecot make another one."""
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one"))
    if how != "made":
        rig.store.expect({USER: ""})
    if how == "expected":
        rig.store.expect({USER: INBOX_ID})
    elif how == "listed":
        rig.listed(INBOX_ID, WORK_ID)
    rig.disk.rename(HOME + b"/dovecot-uidlist", b"/away")
    works: list[Work] = [SetFlags(USER, INBOX_ID, "G1", ()), RemoveMessage(USER, INBOX_ID, "G1")]
    results = rig.store.perform(works)
    assert outcomes(results) == [Outcome.FAILED] * 2 and "another INBOX" in results[0].reason
    rig.disk.rename(b"/away", HOME + b"/dovecot-uidlist")
    assert outcomes(rig.store.perform(works)) == [Outcome.DONE] * 2


def test_a_mailbox_that_is_called_inbox_no_more_may_be_deleted() -> None:
    rig = Rig()
    tell(rig.store, RenameBox(USER, INBOX_ID, "Old"))
    rig.disk.rename(HOME + b"/.Old", b"/elsewhere")
    assert outcomes(rig.store.perform([SetFlags(USER, INBOX_ID, "G1", ())])) == [Outcome.DONE]


def test_a_mailbox_with_mail_that_nobody_knows_of_is_not_removed() -> None:
    rig = Rig()
    rig.disk.write_new(HOME + b"/.Work/new/1.vm", b"just come")
    assert outcomes(rig.store.perform([RemoveBox(USER, WORK_ID)])) == [Outcome.HAS_MAIL]
    assert len(sorted_(rig.listed())) == 2 and rig.told.lost == []
    rig.disk.unlink(HOME + b"/.Work/new/1.vm")
    tell(rig.store, RemoveBox(USER, WORK_ID), RemoveBox(USER, WORK_ID))
    assert sorted_(rig.listed(INBOX_ID)) == [FoundFolder("INBOX", INBOX_ID)]


def test_an_inbox_that_holds_no_mail_is_removed_beside_a_dovecot_too() -> None:
    rig = Rig()
    tell(rig.store, RemoveBox(USER, INBOX_ID), make_box("3" * 32, "INBOX", 8))
    assert FoundFolder("INBOX", "3" * 32, 8) in sorted_(rig.listed())


def test_a_dovecot_finishes_before_its_mailbox_is_renamed() -> None:
    rig = Rig()
    rig.open(WORK_ID)
    rig.disk.write_new(HOME + b"/.Work" + LOCK, b"1:host")
    assert outcomes(rig.store.perform([RenameBox(USER, WORK_ID, "Play")])) == [Outcome.FAILED]
    rig.disk.unlink(HOME + b"/.Work" + LOCK)
    tell(rig.store, RenameBox(USER, WORK_ID, "Play"))
    assert not rig.disk.stat(HOME + b"/.Play" + LOCK)


def test_a_gate_goes_along_with_its_folder() -> None:
    rig = Rig()
    rig.store.gate(GateOrder(GateWork.SHUT, USER, WORK_ID))
    tell(rig.store, RenameBox(USER, WORK_ID, "Play"))
    assert rig.told.gates[HOME + b"/.Play"] is False and rig.told.followed[-1] == HOME + b"/.Play"
    found = rig.disk.stat(HOME + b"/.Play" + LOCK)
    assert found is not None and found.mtime_ns == GATE_S * 1_000_000_000
    rig.store.gate(GateOrder(GateWork.OPEN, USER, WORK_ID))
    tell(rig.store, RenameBox(USER, WORK_ID, "Work"))
    assert rig.told.gates[HOME + b"/.Work"] is True


def test_a_lock_of_ours_that_a_client_took_along_goes() -> None:
    rig = Rig()
    rig.store.gate(GateOrder(GateWork.OPEN, USER, WORK_ID))
    lock = UidlistLock(rig.disk, b"host", lambda _: None, keeper=1)
    lock.take(HOME + b"/.Work")
    rig.disk.rename(HOME + b"/.Work", HOME + b"/.Play")
    tell(rig.store, RenameBox(USER, WORK_ID, "Play"))
    assert not rig.disk.stat(HOME + b"/.Play" + LOCK)


def is_kept(rig: Rig, folder: bytes) -> bool:
    found = rig.disk.stat(folder + LOCK)
    return found is not None and found.mtime_ns == GATE_S * 1_000_000_000


@pytest.mark.parametrize("is_open", [False, True])
def test_the_gate_of_an_inbox_goes_along_with_its_mail(is_open: bool) -> None:
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one"))
    if is_open:
        rig.open(INBOX_ID)
    tell(rig.store, RenameBox(USER, INBOX_ID, "Kept"))
    kept = HOME + b"/.Kept"
    assert is_kept(rig, kept) is not is_open and rig.told.gates[kept] is is_open and rig.told.followed[-1] == kept
    assert is_kept(rig, HOME) is not is_open, "until all works are done, another INBOX may come"
    tell(rig.store, make_box("3" * 32, "INBOX", 8))
    assert is_kept(rig, HOME) and rig.told.gates[HOME] is False
    rig.listed("3" * 32)
    assert is_kept(rig, HOME)


def test_where_no_inbox_is_any_more_no_lock_is_kept() -> None:
    rig = Rig()
    tell(rig.store, RenameBox(USER, INBOX_ID, "Kept"))
    rig.listed("9" * 32)
    assert is_kept(rig, HOME), "a mailbox is missing, perhaps INBOX, by an accident"
    rig.listed(INBOX_ID)
    assert rig.disk.stat(HOME + LOCK) is None
    rig = Rig()
    tell(rig.store, RemoveBox(USER, INBOX_ID))
    assert rig.disk.stat(HOME + LOCK) is None


def test_a_mailbox_whose_name_is_taken_keeps_its_gate() -> None:
    rig = Rig()
    tell(rig.store, add(rig.store, "G1", 3, b"one"))
    tell(rig.store, make_box("3" * 32, "INBOX", 8), make_box("4" * 32, "Work", 9))
    for name in (b"INBOX", b"Work"):
        folder = HOME + b"/.%b (00000000)" % name
        assert is_kept(rig, folder) and rig.told.gates[folder] is False and folder in rig.told.followed
    tell(rig.store, add(rig.store, "G2", 1, b"two", box="3" * 32), RenameBox(USER, "4" * 32, "INBOX"))
    folder = HOME + b"/.INBOX (33333333)"
    assert is_kept(rig, folder) and rig.told.gates[folder] is False and folder in rig.told.followed
    assert is_kept(rig, HOME) and rig.told.gates[HOME] is False


def test_a_gate_is_shut_though_the_list_behind_it_cannot_be_read() -> None:
    rig = Rig()
    rig.open(WORK_ID)
    rig.disk.append(HOME + b"/.Work/dovecot-uidlist", b"0 :no line\n")
    looked = rig.store.gate(GateOrder(GateWork.LOOK, USER, WORK_ID))
    assert "dovecot-uidlist" in looked.why and not looked.is_shut
    shut = rig.store.gate(GateOrder(GateWork.SHUT, USER, WORK_ID))
    assert "dovecot-uidlist" in shut.why and shut.is_shut and rig.disk.stat(HOME + b"/.Work" + LOCK)
    rig.disk.rename(HOME, b"/mail/away")
    assert rig.store.gate(GateOrder(GateWork.SHUT, USER, WORK_ID)).is_shut, "there is nothing that could be shut"
