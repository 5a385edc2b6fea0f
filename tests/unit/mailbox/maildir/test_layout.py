"""Where folders lie, and that no name leads out of them."""

from __future__ import annotations

import unicodedata

import pytest

from pyrepl.mailbox.maildir.layout import LAYOUTS, Layout, normal

BOTH = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
PLACES = [
    ("maildir++", "INBOX", b""),
    ("maildir++", "Work", b".Work"),
    ("maildir++", "Work/Sub", b".Work.Sub"),
    ("maildir++", "Bücher/& x", b".B&APw-cher.&- x"),
    ("maildir++", "INBOX/child", b".INBOX.child"),
    ("maildir++", "cur", b".cur"),
    ("fs", "INBOX", b""),
    ("fs", "Work/Sub", b"Work/Sub"),
    ("fs", "a.b/.c", b"a.b/.c"),
    ("fs", "Bücher/& x", b"B&APw-cher/&- x"),
]


@pytest.mark.parametrize(("layout", "name", "folder"), PLACES)
def test_names_and_their_folders(layout: str, name: str, folder: bytes) -> None:
    assert LAYOUTS[layout].why_not(name) is None
    assert LAYOUTS[layout].folder(name) == folder
    assert LAYOUTS[layout].name(folder) == name


@BOTH
@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        "..",
        "a/../b",
        ".",
        "~a",
        "a\0",
        "a\nb",
        "\udcff",
        "x" * 256,
        "é" * 120,
        "a/" * 40 + "b",
        "/".join(["x" * 240] * 5),
    ],
)
def test_names_that_no_mailbox_has(layout: Layout, name: str) -> None:
    assert layout.why_not(name) is not None


@pytest.mark.parametrize(
    "name", ["cur", "a/new", "tmp/b", "subscriptions", "dovecot-uidlist", ".pyrepl-drop", "pyrepl.x"]
)
def test_names_of_files_that_a_maildir_has(name: str) -> None:
    assert LAYOUTS["fs"].why_not(name) is not None


def test_inbox_is_written_in_ascii() -> None:
    """The capital of a dotless i is an I."""
    assert normal("inbox/a") == "INBOX/a" and normal("\u0131nbox") == "\u0131nbox"
    for layout in LAYOUTS.values():
        folder = layout.folder("\u0131nbox")
        assert folder and layout.name(folder) == "\u0131nbox"


def test_the_dot_parts_folders_in_maildir_plus_plus() -> None:
    assert "dot" in str(LAYOUTS["maildir++"].why_not("a.b"))
    assert LAYOUTS["fs"].why_not("a.b") is None


@pytest.mark.parametrize(
    "folder", [b"Work", b".", b"..", b".a..b", b".a.", b".B\xc3\xbc", b".INBOX", b".inbox.x", b".a/b", b".&AP-", b".~a"]
)
def test_folders_that_are_none_of_ours(folder: bytes) -> None:
    assert LAYOUTS["maildir++"].name(folder) is None


@pytest.mark.parametrize("folder", [b"INBOX", b"inbox/x", b"a//b", b"a/cur", b"../a", b"dovecot.x", b"B\xc3\xbc"])
def test_folders_that_are_none_of_ours_in_fs(folder: bytes) -> None:
    assert LAYOUTS["fs"].name(folder) is None


@BOTH
def test_names_have_one_form(layout: Layout) -> None:
    split = unicodedata.normalize("NFD", "é")
    assert normal(split) == normal("é") == "é"
    assert (normal("inbox"), normal("Inbox/x"), normal("inboxes"), normal("a/inbox")) == (
        "INBOX",
        "INBOX/x",
        "inboxes",
        "a/inbox",
    )
    assert layout.folder(split) == layout.folder("é")


def test_a_folder_in_another_form_has_the_same_name() -> None:
    assert LAYOUTS["maildir++"].name(b".e&AwE-") == LAYOUTS["maildir++"].name(b".&AOk-") == "é"
