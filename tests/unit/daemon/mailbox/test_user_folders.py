"""Where a user's mailboxes lie."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.uidlist_file import create
from pyrepl.daemon.mailbox.user_folders import Place, UserFolders
from pyrepl.mailbox.maildir.layout import LAYOUTS
from tests.unit.daemon.mailbox.model_disk import ModelDisk


def _folders(layout: str, *folders: bytes) -> tuple[ModelDisk, UserFolders]:
    disk = ModelDisk()
    for number, folder in enumerate(folders):
        path = b"/user/" + folder if folder else b"/user"
        disk.make_folders(path + b"/cur")
        create(disk, path, 7, b"%032x" % number, 1)
    return disk, UserFolders(disk, b"/user", LAYOUTS[layout])


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
