"""Where a user's mailboxes lie."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.uidlist_file import create
from pyrepl.daemon.mailbox.user_folders import Place, SeenPlaces, TwoFolders, UserFolders
from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir.layout import LAYOUTS
from tests.unit.daemon.mailbox.model_disk import ModelDisk


def _folders(layout: str, *folders: bytes) -> tuple[ModelDisk, UserFolders]:
    disk = ModelDisk()
    for number, folder in enumerate(folders):
        path = b"/user/" + folder if folder else b"/user"
        disk.make_folders(path + b"/cur")
        create(disk, path, 7, b"%032x" % number, 1)
    return disk, UserFolders(disk, b"/user", LAYOUTS[layout], {})


@pytest.mark.parametrize(
    ("layout", "folders"),
    [("maildir++", (b"", b".Work", b".Work.B&APw-cher")), ("fs", (b"", b"Work", b"Work/B&APw-cher"))],
)
def test_mailboxes_are_found_by_their_guid(layout: str, folders: tuple[bytes, ...]) -> None:
    disk, found = _folders(layout, *folders)
    disk.make_folders(b"/user/.none/cur")
    names = ["INBOX", "Work", "Work/Bücher"]
    assert found.scan() == [
        Place(name, b"%032x" % number, folder) for number, (name, folder) in enumerate(zip(names, folders))
    ]
    assert found.find(b"%032x" % 2) == Place("Work/Bücher", b"%032x" % 2, folders[2])
    assert found.find(b"f" * 32) is None


def test_one_that_was_renamed_is_looked_for() -> None:
    disk, found = _folders("maildir++", b"", b".Work")
    found.scan()
    disk.rename(b"/user/.Work", b"/user/.Old")
    assert found.find(b"%032x" % 1) == Place("Old", b"%032x" % 1, b".Old")
    disk.unlink(b"/user/.Old/dovecot-uidlist")
    assert found.find(b"%032x" % 1) is None


def test_a_guid_that_is_there_twice_is_not_inboxes() -> None:
    disk, found = _folders("maildir++", b"")
    disk.make_folders(b"/user/.Kept/cur")
    create(disk, b"/user/.Kept", 7, b"%032x" % 0, 1)
    assert found.scan() == [Place("Kept", b"%032x" % 0, b".Kept")]


WORK = b"%032x" % 1


def _copied(*copies: bytes, **names: str) -> tuple[ModelDisk, UserFolders]:
    """INBOX, Work and copies of Work's folder, looked at by a process that was told what the rows call mailboxes."""
    disk, _ = _folders("maildir++", b"", b".Work")
    for folder in copies:
        disk.make_folders(b"/user/" + folder + b"/cur")
        create(disk, b"/user/" + folder, 7, WORK, 1)
    seen = SeenPlaces()
    seen.remember("user", {guid: name for name, guid in names.items()}, LAYOUTS["maildir++"])
    return disk, UserFolders(disk, b"/user", LAYOUTS["maildir++"], seen.of("user"))


def test_of_two_folders_with_one_guid_none_is_chosen_if_nothing_tells_which() -> None:
    """Mail that the copy does not have would be expunged on all nodes."""
    disk, found = _copied(b".Work-old")
    for _ in range(2):
        assert [place.name for place in found.scan()] == ["INBOX"]
        assert found.copied == (b".Work", b".Work-old")
        for find in (found.find, found.find_own):
            with pytest.raises(TwoFolders, match=r"/\.Work and .*/\.Work-old have the GUID of one mailbox, 0*1,"):
                find(WORK)
        with pytest.raises(TwoFolders):
            found.check_missing({WORK})
        found.check_missing({b"%032x" % 0})
    disk.unlink(b"/user/.Work-old/dovecot-uidlist")
    assert found.find(WORK) == Place("Work", WORK, b".Work")


def test_a_copy_is_not_the_mailbox_that_the_rows_know_by_name() -> None:
    for copy in (b".Another", b".Work-old"):
        _, found = _copied(copy, Work=WORK.decode())
        assert found.find(WORK) == Place("Work", WORK, b".Work")
        assert found.copied == (copy,)


def test_a_copy_is_not_a_mailbox_of_which_something_is_where_it_was_seen() -> None:
    disk, found = _copied(b".Work-old", Work=WORK.decode())
    disk.unlink(b"/user/.Work/dovecot-uidlist")
    disk.write_new(b"/user/.Work/dovecot-uidlist", b"damaged\n")
    with pytest.raises(CorruptData, match="is damaged"):
        found.find(WORK)
    disk.rename(b"/user/.Work", b"/elsewhere")
    disk.make_folders(b"/user/.Work")
    with pytest.raises(NotThere, match="is its disk mounted"):
        found.find(WORK)
    disk.remove_folder(b"/user/.Work")
    assert found.find(WORK) == Place("Work-old", WORK, b".Work-old"), "it was renamed"


def test_where_a_mailbox_was_put_is_known_while_it_is_looked_for() -> None:
    disk, found = _copied(b".Copy", Work=WORK.decode())
    disk.rename(b"/user/.Work", b"/user/.New")
    found.lies(Place("New", WORK, b".New"))
    assert found.find(WORK) == Place("New", WORK, b".New")
    found.forget(WORK)
    with pytest.raises(TwoFolders):
        found.find(WORK)


def test_parents_and_children_of_fs() -> None:
    _, found = _folders("fs", b"", b"a", b"a/b")
    assert found.has_children(b"a") and not found.has_children(b"a/b")
    assert found.has_mailbox(b"a", b"b") and not found.has_mailbox(b"a", b"cur")
    found.make_parents(b"x/y/z")
    assert found.is_there(b"x/y") and not found.is_there(b"x/y/z")
    found.make_parents(b"x/y/z")
    assert found.path(b"") == b"/user" and found.path(b"x") == b"/user/x"


def test_no_child_lies_within_a_folder_of_maildir_plus_plus() -> None:
    disk, found = _folders("maildir++", b".a")
    disk.make_folders(b"/user/.a/sub")
    assert not found.has_children(b".a") and not found.has_mailbox(b".a", b"sub")
