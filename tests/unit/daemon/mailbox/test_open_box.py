"""One open mailbox: the order in which its files are changed, and what others do meanwhile."""

from __future__ import annotations

import errno
import itertools
import os
import random

import pytest

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_plan import BoxWork
from pyrepl.daemon.mailbox.listing import Listing
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.one_folder import OtherBox
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.uidlist_file import create
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.compare import Found
from pyrepl.mailbox.copies import is_told_guid
from pyrepl.mailbox.maildir.letters import SYSTEM
from pyrepl.mailbox.maildir.uidlist import LAST_UID
from pyrepl.mailbox.store import AddMessage, MoveMessage, Outcome, RemoveMessage, SetFlags
from tests.unit.daemon.mailbox.model_disk import ModelDisk

GUID = b"0" * 32


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    for name in (b"cur", b"new", b"tmp"):
        made.make_folders(b"/box/" + name)
    create(made, b"/box", 7, GUID, 1)
    made.write_new(b"/text", b"one")
    return made


@pytest.fixture
def box(disk: ModelDisk) -> OpenBox:
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: True)
    return OpenBox(disk, b"/box", GUID, lock, Aside(disk, b"", GUID))


def _add(guid: str, uid: int, *flags: str) -> AddMessage:
    return AddMessage("u", "b", guid, uid, flags, 0, 3, "text")


def test_the_order_of_a_batch(disk: ModelDisk, box: OpenBox) -> None:
    calls: list[tuple[str, bytes]] = []
    disk.before_call = lambda number, what, path: calls.append((what, path))
    results = box.perform([_add("a", 1, "kw"), _add("b", 2), RemoveMessage("u", "b", "none")], lambda work: b"/text")
    assert {result.outcome for result in results} == {Outcome.DONE}
    order = [(what, path.removeprefix(b"/box/")) for what, path in calls if what != "unlink" or b"lock" in path]
    assert order[0] == ("write_new", b"dovecot-uidlist.lock")
    assert order[-1] == ("unlink", b"dovecot-uidlist.lock")
    named = order.index(("rename", b"dovecot-keywords"))
    lines = order.index(("append", b"dovecot-uidlist"))
    assert named < lines and order[lines + 1 : lines + 4] == [
        ("sync", b"dovecot-uidlist"),
        ("link", b"cur/a:2,a"),
        ("link", b"cur/b:2,"),
    ]
    assert ("sync", b"cur") in order[lines + 4 :]
    assert [what for what, _ in order].count("append") == 1, "one write for all lines"


def test_who_cannot_have_the_lock_does_nothing(disk: ModelDisk, box: OpenBox) -> None:
    disk.write_new(b"/box/dovecot-uidlist.lock", b"1:host")
    before = disk.tree()
    [result] = box.perform([_add("a", 1)], lambda work: b"/text")
    assert result.outcome is Outcome.FAILED and "1:host" in result.reason
    assert disk.tree() == before


def test_a_message_that_dovecot_renamed_meanwhile_gets_its_flags(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")

    def rename(number: int, what: str, path: bytes) -> None:
        disk.before_call = lambda number, what, path: None
        disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,S")

    stat = disk.stat(b"/box/cur")
    assert stat is not None
    disk.before_call = rename
    [result] = box.perform([SetFlags("u", "b", "a", ("\\Flagged",))], lambda work: None)
    assert result.outcome is Outcome.DONE
    assert [message.flags for message in box.listing().messages] == [{"\\Flagged"}]


def test_letters_that_are_no_flags_stay(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,PS")
    box.perform([SetFlags("u", "b", "a", ("\\Flagged",))], lambda work: None)
    assert disk.names(b"/box/cur") == [b"a:2,FP"]


def test_a_message_in_new_is_moved_to_cur_with_its_flags(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    disk.rename(b"/box/cur/a:2,", b"/box/new/a")
    box.perform([SetFlags("u", "b", "a", ())], lambda work: None)
    assert disk.names(b"/box/cur") == [b"a:2,"] and disk.names(b"/box/new") == []


def test_a_delivery_without_a_line_is_unlisted(disk: ModelDisk, box: OpenBox) -> None:
    disk.write_new(b"/box/new/fresh", b"mail")
    listing = box.listing()
    assert listing == Listing(7, 1, (), frozenset({b"fresh"}), frozenset(SYSTEM))


def test_another_mailbox_in_the_folder_is_never_touched(disk: ModelDisk, box: OpenBox) -> None:
    box.load()
    disk.unlink(b"/box/dovecot-uidlist")
    create(disk, b"/box", 7, b"1" * 32, 1)
    for use in (
        lambda: box.perform([_add("a", 1)], lambda work: b"/text"),
        box.listing,
        lambda: box.set_uidvalidity(9),
    ):
        with pytest.raises(OtherBox):
            use()
    assert disk.stat(b"/box/dovecot-uidlist.lock") is None


@pytest.mark.parametrize("how", ["listing", "whole", "part"])
def test_folders_that_are_renamed_during_a_look_are_noticed(disk: ModelDisk, box: OpenBox, how: str) -> None:
    """All messages would count as expunged, since the folder that is listed has another mailbox's."""
    for number in itertools.count(1):
        box.perform([_add("a", 1)], lambda work: b"/text")
        assert [each.guid for each in box.look(Look(2)).messages] == ["a"]
        disk.make_folders(b"/other/cur")
        disk.make_folders(b"/other/new")
        create(disk, b"/other", 8, b"1" * 32, 1)
        swapped = _swap_before_listing(disk, number)
        try:
            if how == "listing":
                assert [each.guid for each in box.listing().messages] == [b"a"]
            else:
                found = box.look(Look(2, is_whole=how == "whole"))
                assert not found.gone and (how == "part" or len(found.messages) == 1)
        except OtherBox:
            assert swapped
        else:
            assert not swapped
            break
        del disk.names
        disk.rename(b"/box", b"/gone%d" % number)
        disk.rename(b"/old", b"/box")
        if how != "listing":
            disk.unlink(b"/box/dovecot-uidlist.lock")
        box = OpenBox(disk, b"/box", GUID, box._lock, Aside(disk, b"", GUID))
    assert number > 2


def _swap_before_listing(disk: ModelDisk, number: int) -> list[bytes]:
    """Another mailbox's folder takes the place of /box before the so many-th folder is listed; where it went, then."""
    names, listed, swapped = disk.names, itertools.count(1), list[bytes]()

    def swap_then_list(folder: bytes) -> list[bytes]:
        if folder.startswith(b"/box/") and next(listed) == number:
            disk.rename(b"/box", b"/old")
            disk.rename(b"/other", b"/box")
            swapped.append(b"/old")
        return names(folder)

    disk.names = swap_then_list  # type: ignore[method-assign]
    return swapped


def test_another_uidvalidity(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 3)], lambda work: b"/text")
    box.set_uidvalidity(9)
    listing = box.listing()
    assert (listing.uidvalidity, [message.uid for message in listing.messages]) == (9, [3])
    assert box.text("a") == b"/box/cur/a:2," and box.text("b") is None


def test_a_message_is_on_disk_in_its_new_place_before_it_leaves_the_old(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1), _add("b", 0)], lambda work: b"/text")
    calls: list[tuple[str, bytes]] = []
    disk.before_call = lambda number, what, path: calls.append((what, path))
    works = [MoveMessage("u", "b", "a", 0), MoveMessage("u", "b", "b", 5, ("\\Seen",))]
    assert {result.outcome for result in box.perform(works, lambda work: None)} == {Outcome.DONE}
    folder = b"/.pyrepl-aside/" + GUID
    assert (
        calls.index(("link", folder + b"/a"))
        < calls.index(("sync", folder))
        < calls.index(("unlink", b"/box/cur/a:2,"))
    )
    shown = next(path for what, path in calls if what == "link" and b"/cur/" in path)
    assert shown.endswith(b":2,S")
    assert calls.index(("link", shown)) < calls.index(("sync", b"/box/cur")) < calls.index(("unlink", folder + b"/b"))
    assert ([message.uid for message in box.listing().messages], box.aside()) == ([5], ["a"])


def _refusing(disk: ModelDisk, refused: str, where: bytes) -> None:
    """From now on the disk refuses this call there."""

    def check(number: int, what: str, path: bytes) -> None:
        if what == refused and where in path:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), path)

    disk.before_call = check


@pytest.mark.parametrize(
    ("refused", "where"), [("make_folder", b"/.pyrepl-aside"), ("rename", b"/cur/a:2,"), ("link", b"/b")]
)
def test_what_could_not_be_put_aside_stays_where_it_is(
    disk: ModelDisk, box: OpenBox, refused: str, where: bytes
) -> None:
    box.perform([_add("a", 1), _add("b", 2)], lambda work: b"/text")
    works: list[BoxWork] = [SetFlags("u", "b", "a", ("\\Seen",)), MoveMessage("u", "b", "b", 0)]
    _refusing(disk, refused, where)
    assert box.perform(works, lambda work: None)[-1].outcome is Outcome.FAILED
    assert (box.text("b"), box.aside()) == (b"/box/cur/b:2,", [])
    disk.before_call = lambda number, what, path: None
    assert {result.outcome for result in box.perform(works, lambda work: None)} == {Outcome.DONE}
    assert ([message.uid for message in box.listing().messages], box.aside()) == ([1], ["b"])


def _opened(disk: ModelDisk) -> OpenBox:
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: True)
    return OpenBox(disk, b"/box", GUID, lock, Aside(disk, b"", GUID))


def _copy(chance: random.Random, disk: ModelDisk, box: OpenBox, base: bytes) -> None:
    """As Dovecot does within a mailbox: the copy's line names the GUID of the original."""
    listing = box.listing()
    if listing.messages:
        original = chance.choice(listing.messages)
        disk.write_new(b"/box/cur/" + base + b":2,S", disk.read(original.path))
        disk.append(b"/box/dovecot-uidlist", b"%d G%b :%b\n" % (box.next_uid, original.guid, base))


def _change(chance: random.Random, disk: ModelDisk, box: OpenBox, number: int) -> None:
    """Something that a Dovecot does, or we."""
    files = [b"/box/cur/" + name for name in disk.names(b"/box/cur")]
    box.load()
    base, uid = b"m%d" % number, box.next_uid
    what = chance.choice(["save", "deliver", "flag", "expunge", "work", "move", "remove", "rewrite", "keyword", "copy"])
    if what == "save":
        disk.write_new(b"/box/cur/" + base + b":2,", b"x")
        disk.append(b"/box/dovecot-uidlist", b"%d :%b\n" % (uid, base))
    elif what == "deliver":
        disk.write_new(b"/box/new/" + base, b"x")
    elif what == "work":
        box.perform([_add(base.decode(), uid)], lambda work: b"/text")
    elif what == "keyword":
        box.perform([SetFlags("u", "b", "m1", (f"k{number % 4}",))], lambda work: None)
    elif what == "rewrite":
        disk.write_new(b"/box/other", disk.read(b"/box/dovecot-uidlist"))
        disk.rename(b"/box/other", b"/box/dovecot-uidlist")
    elif what == "copy":
        _copy(chance, disk, box, base)
    elif files:
        path = chance.choice(files)
        name = path.rpartition(b"/")[2].partition(b":")[0]
        if what == "flag":
            disk.rename(path, b"/box/cur/%b:2,%b" % (name, chance.choice([b"", b"F", b"FS", b"a"])))
        elif what == "expunge":
            disk.unlink(path)
        elif what == "move":
            box.perform([MoveMessage("u", "b", name.decode(), uid)], lambda work: None)
        else:
            box.perform([RemoveMessage("u", "b", name.decode())], lambda work: None)


@pytest.mark.parametrize("seed", range(20))
def test_what_has_changed_makes_of_what_was_told_what_is_there(disk: ModelDisk, seed: int) -> None:
    chance, box = random.Random(seed), _opened(disk)
    known: dict[str, Found] = {}
    parts = 0
    for number in range(60):
        for step in range(chance.randrange(3)):
            _change(chance, disk, box, 10 * number + step)
        found = box.found(Look(2**32, chance.random() < 0.5, is_whole=False))
        if found.is_whole:
            known.clear()
        assert not found.gone & {each.guid for each in found.messages}
        known = {guid: each for guid, each in known.items() if guid not in found.gone}
        known |= {each.guid: each for each in found.messages}
        whole = _opened(disk).found(Look(2**32, False))
        assert known == {each.guid: each for each in whole.messages}
        assert (found.keywords, found.unlisted) == (whole.keywords, whole.unlisted)
        parts += not found.is_whole
    assert parts > 5


def test_of_what_is_new_the_texts_are_told_and_of_what_is_as_it_was_nothing(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1), _add("b", 2)], lambda work: b"/text")
    assert [each.text is not None for each in box.found(Look(2, False)).messages] == [False, True]
    assert box.found(Look(3, False, is_whole=False)).messages == ()
    disk.write_new(b"/box/new/c", b"four")
    found = box.found(Look(3, True, is_whole=False))
    assert [(each.uid, each.text and each.text.size) for each in found.messages] == [(3, 4)]
    assert len(box.found(Look(1, True, is_whole=True)).messages) == 3


def test_not_more_texts_are_read_at_once_than_a_round_can_take(
    disk: ModelDisk, box: OpenBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrepl.daemon.mailbox.look.MOST_TEXTS", 2)
    box.perform([_add(name, uid) for uid, name in enumerate("abcde", start=1)], lambda work: b"/text")
    whole = box.found(Look(2, False))
    assert [each.text is not None for each in whole.messages] == [False, True, True, False, False]
    rest = box.found(Look(6, False, wanted=frozenset({"d", "e"})))
    assert [each.text is not None for each in rest.messages] == [False, False, False, True, True]


def test_lines_whose_files_never_came_have_shown_no_uids(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 3)], lambda work: b"/text")
    disk.append(b"/box/dovecot-uidlist", b"4 :b\n6 :c\n")
    assert box.listing().next_uid == 4
    disk.write_new(b"/box/new/b", b"four")
    assert box.listing().next_uid == 6
    box.open_gate(10)
    assert box.listing().next_uid == 10, "that was not for a message"


def test_which_uids_were_used_is_told_but_not_what_was_only_set(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    assert box.found(Look(1, False)).next_uid == 2
    box.open_gate(200_001)
    assert box.found(Look(1, False, is_whole=False)).next_uid == 0
    disk.write_new(b"/box/new/c", b"four")
    assert box.found(Look(1, True, is_whole=False)).next_uid == 200_002


def test_a_copy_within_the_mailbox_becomes_a_message_of_its_own(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    box.found(Look(2, True))
    _copy(random.Random(1), disk, box, b"copy")
    assert [message.uid for message in box.listing().messages] == [1], "without the lock"
    assert box.glance(Look(2)).unsure
    first, second = box.found(Look(1, True, is_whole=False)).messages
    assert (first.uid, first.guid, second.uid, second.flags) == (1, "a", 2, frozenset({"\\Seen"}))
    assert second.guid != "a" and second.text == first.text
    assert not box.found(Look(1, True, is_whole=False)).messages, "once"
    box.perform([RemoveMessage("u", "b", "a")], lambda work: None)
    assert [message.guid for message in box.listing().messages] == [second.guid.encode()]


def test_a_copy_is_a_message_of_its_own_before_works_touch_the_original(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    _copy(random.Random(1), disk, box, b"copy")
    box.perform([MoveMessage("u", "b", "a", 5)], lambda work: None)
    assert [message.uid for message in box.listing().messages] == [2, 5]
    names = disk.names(b"/box/cur")
    assert len(names) == 2 and b"copy:2,S" in names


def test_copies_get_the_same_guids_again_after_a_crash_before_they_were_on_disk(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    for name in (b"copy", b"other"):
        _copy(random.Random(1), disk, box, name)
    torn = disk.read(b"/box/dovecot-uidlist")
    first = _opened(disk).found(Look(9, True))
    disk.write_new(b"/box/before", torn)
    disk.rename(b"/box/before", b"/box/dovecot-uidlist")
    again = _opened(disk).found(Look(9, True))
    assert first == again and len({each.guid for each in again.messages}) == 3


def _missing_once(disk: ModelDisk, name: bytes, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing of cur/ misses a file, as it does while that is renamed; so many listings before it are whole."""
    whole, seen = disk.names, itertools.count()

    def names(path: bytes) -> list[bytes]:
        found = whole(path)
        return [each for each in found if each != name] if path.endswith(b"cur") and next(seen) == after else found

    monkeypatch.setattr(disk, "names", names)


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("after", [0, 1])
def test_a_file_that_one_listing_misses_is_not_gone(
    disk: ModelDisk, box: OpenBox, is_whole: bool, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.perform([_add("a", 1), _add("b", 2)], lambda work: b"/text")
    box.found(Look(3, True))
    disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,F")
    _missing_once(disk, b"a:2,F", after, monkeypatch)
    found = box.found(Look(3, True, is_whole=is_whole))
    assert not found.gone and found.messages[0].flags == frozenset({"\\Flagged"})
    disk.rename(b"/box/cur/a:2,F", b"/box/cur/a:2,S")
    _missing_once(disk, b"a:2,S", after, monkeypatch)
    box.perform([SetFlags("u", "b", "a", ("\\Answered",))], lambda work: None)
    assert b"a:2,R" in disk.names(b"/box/cur")


def test_a_glance_tells_no_message_before_one_with_a_lower_uid(disk: ModelDisk, box: OpenBox) -> None:
    """Who hears of a message gives out no UID below it: the other one would have to move."""
    box.perform([_add("a", 1)], lambda work: b"/text")
    box.found(Look(2, True))
    disk.append(b"/box/dovecot-uidlist", b"2 :b\n3 :c\n")
    disk.write_new(b"/box/cur/c:2,", b"x")
    disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,S")
    glance = box.glance(Look(2))
    assert glance.unsure and [each.uid for each in glance.messages] == [1]
    disk.write_new(b"/box/cur/b:2,", b"x")
    glance = box.glance(Look(2))
    assert not glance.unsure and [each.uid for each in glance.messages] == [1, 2, 3]


def test_a_glance_at_a_mailbox_whose_lock_a_dead_dovecot_left_is_unsure(disk: ModelDisk) -> None:
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: pid == 1)
    box = OpenBox(disk, b"/box", GUID, lock, Aside(disk, b"", GUID))
    box.found(Look(1, True))
    for owner, is_held in ((b"1:host", True), (b"2:host", False)):
        disk.write_new(b"/box/dovecot-uidlist.lock", owner)
        glance = box.glance(Look(1))
        assert (glance.is_held, glance.unsure) == (is_held, not is_held)
        disk.unlink(b"/box/dovecot-uidlist.lock")
    assert not box.glance(Look(1)).is_held


ODD = {
    b"h\xf6st": "no UTF-8",
    b"L" * 150: "too long",
    b"a\tb": "a control byte",
    b"good": "",
}


def test_messages_whose_names_can_be_no_guid_get_one(disk: ModelDisk, box: OpenBox) -> None:
    for name in ODD:
        disk.write_new(b"/box/new/" + name, b"mail")
    found = box.found(Look(0, may_list=True))
    guids = {each.uid: each.guid for each in found.messages}
    assert sorted(guids) == [1, 2, 3, 4] and found.unlisted == 0
    assert all(is_told_guid(guid.encode()) for guid in guids.values()) and "good" in guids.values()
    assert {each.uid: each.guid for each in box.found(Look(0)).messages} == guids, "and keep it"
    assert [message.guid.decode() for message in box.listing().messages] == list(guids.values())


def test_so_do_those_to_which_dovecot_gave_a_line(disk: ModelDisk, box: OpenBox) -> None:
    assert box.found(Look(0)).messages == ()
    for name in ODD:
        disk.write_new(b"/box/cur/" + name + b":2,S", b"mail")
    disk.append(b"/box/dovecot-uidlist", b"".join(b"%d :%b\n" % (uid, name) for uid, name in enumerate(ODD, 1)))
    glanced = box.glance(Look(0))
    assert glanced.unsure and glanced.messages == (), "in the order of UIDs"
    assert [message.uid for message in box.listing().messages] == [4], "those have none as yet"
    found = box.found(Look(0))
    assert [each.uid for each in found.messages] == [1, 2, 3, 4]
    assert all(is_told_guid(each.guid.encode("utf-8", "surrogateescape")) for each in found.messages)


def test_an_expunged_message_of_such_a_name_is_not_told(disk: ModelDisk, box: OpenBox) -> None:
    box.found(Look(0))
    disk.append(b"/box/dovecot-uidlist", b"1 :h\xf6st\n")
    assert box.found(Look(0, is_whole=False)).gone == frozenset()


def test_names_that_no_line_can_have_are_not_listed(disk: ModelDisk, box: OpenBox) -> None:
    for name in (b"foo\nbar", b":2,S", b"good"):
        disk.write_new(b"/box/new/" + name, b"mail")
    found = box.found(Look(0, may_list=True))
    assert [each.guid for each in found.messages] == ["good"] and found.unlisted == 0
    assert found.nameless == {'"/box/new/foo\\nbar"', '"/box/new/:2,S"'}
    assert disk.read(b"/box/dovecot-uidlist").endswith(b"\n1 :good\n")


def test_no_line_is_above_the_last_uid(disk: ModelDisk, box: OpenBox) -> None:
    disk.append(b"/box/dovecot-uidlist", b"%d :gone\n" % (LAST_UID - 1))
    for name in (b"a", b"b"):
        disk.write_new(b"/box/new/" + name, b"mail")
    assert [each.uid for each in box.found(Look(0, may_list=True)).messages] == [LAST_UID]


def test_a_message_that_cannot_be_read_holds_up_no_other(disk: ModelDisk, box: OpenBox) -> None:
    disk.make_folder(b"/box/cur/folder")
    disk.write_new(b"/box/new/mail", b"mail")
    disk.append(b"/box/dovecot-uidlist", b"1 :folder\n2 :mail\n")
    found = box.found(Look(0))
    assert [each.guid for each in found.messages] == ["mail"]
    assert found.unread == {"folder": '"/box/cur/folder": Is a directory'}
    later = box.found(Look(3, is_whole=False))
    assert (later.messages, later.unread, later.is_whole) == ((), found.unread, False)
    disk.remove_folder(b"/box/cur/folder")
    disk.write_new(b"/box/cur/folder:2,S", b"mail")
    [healed] = box.found(Look(3, is_whole=False)).messages
    assert (healed.guid, healed.text and healed.text.size) == ("folder", 4)


def test_a_date_before_1970_is_that_of_1970(disk: ModelDisk, box: OpenBox) -> None:
    disk.write_new(b"/box/new/old", b"mail")
    disk.set_mtime(b"/box/new/old", -1800)
    [found] = box.found(Look(0, may_list=True)).messages
    assert found.text is not None and found.text.received == 0


def test_keywords_that_nodes_cannot_tell_each_other_stay(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")
    assert not box.found(Look(0)).has_own_keywords
    disk.write_new(b"/box/dovecot-keywords", b"0 ge\xf6scht\n")
    disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,a")
    found = box.found(Look(0))
    assert [each.flags for each in found.messages] == [set()] and found.has_own_keywords
    assert found.keywords == frozenset(SYSTEM)
    box.perform([SetFlags("u", "b", "a", ("Junk",))], lambda work: None)
    assert disk.names(b"/box/cur") == [b"a:2,ab"] and disk.read(b"/box/dovecot-keywords") == b"0 ge\xf6scht\n1 Junk\n"


def test_a_keyword_is_removed_whatever_its_case(disk: ModelDisk, box: OpenBox) -> None:
    disk.write_new(b"/box/dovecot-keywords", b"0 nonjunk\n")
    box.perform([_add("a", 1, "NonJunk")], lambda work: b"/text")
    assert disk.names(b"/box/cur") == [b"a:2,a"]
    box.perform([SetFlags("u", "b", "a", (), ("NonJunk",))], lambda work: None)
    assert disk.names(b"/box/cur") == [b"a:2,"]


def test_flags_for_which_a_name_has_no_room_stay_away(disk: ModelDisk, box: OpenBox) -> None:
    name = b"n" * 251
    disk.write_new(b"/box/cur/" + name + b":2,", b"mail")
    [found] = box.found(Look(0, may_list=True)).messages
    [result] = box.perform([SetFlags("u", "b", found.guid, ("\\Seen", "\\Flagged"))], lambda work: None)
    assert result.outcome is Outcome.DONE and disk.names(b"/box/cur") == [name + b":2,F"]


def test_a_message_that_got_another_name_meanwhile_is_removed(disk: ModelDisk, box: OpenBox) -> None:
    box.perform([_add("a", 1)], lambda work: b"/text")

    def rename(number: int, what: str, path: bytes) -> None:
        disk.before_call = lambda number, what, path: None
        disk.rename(b"/box/cur/a:2,", b"/box/cur/a:2,S")

    disk.before_call = rename
    [result] = box.perform([RemoveMessage("u", "b", "a")], lambda work: None)
    assert result.outcome is Outcome.DONE and disk.names(b"/box/cur") == []
