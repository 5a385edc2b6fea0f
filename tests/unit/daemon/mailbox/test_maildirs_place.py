"""Where the Maildirs lie, and that missing ones are told."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.maildirs_place import MARKER, MaildirsPlace, NotThere
from tests.unit.daemon.mailbox.model_disk import OWNER, ModelDisk


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    made.make_folders(b"/var/vmail")
    return made


@pytest.mark.parametrize(
    ("pattern", "root", "folder"),
    [
        ("/var/vmail/%d/%n/Maildir", b"/var/vmail", b"/var/vmail/example.org/alice/Maildir"),
        ("/var/vmail/%u", b"/var/vmail", b"/var/vmail/alice@example.org"),
        ("/var/vmail/user-%n@%d", b"/var/vmail", b"/var/vmail/user-alice@example.org"),
        ("/%u/Maildir", b"/", b"/alice@example.org/Maildir"),
    ],
)
def test_users_and_their_folders(disk: ModelDisk, pattern: str, root: bytes, folder: bytes) -> None:
    place = MaildirsPlace(disk, pattern, OWNER)
    assert (place.root, place.folder("alice@example.org")) == (root, folder)


@pytest.mark.parametrize("pattern", ["mail/%u", "/var/mail", "/var/%d"])
def test_patterns_that_name_no_user(disk: ModelDisk, pattern: str) -> None:
    with pytest.raises(ValueError, match="no absolute path"):
        MaildirsPlace(disk, pattern, OWNER)


@pytest.mark.parametrize(("pattern", "unknown"), [("/var/%Lu/%n", "%L"), ("/var/%n/%", "%"), ("/var/%%/%n", "%%")])
def test_patterns_with_variables_that_only_dovecot_has(disk: ModelDisk, pattern: str, unknown: str) -> None:
    with pytest.raises(ValueError, match=f"has {unknown}, which says nothing here"):
        MaildirsPlace(disk, pattern, OWNER)


@pytest.mark.parametrize(
    "user", ["alice", "@example.org", "alice@..", "alice@a/b", "..@a", "%u@a", ".a@b", "a@.pyrepl"]
)
def test_users_that_would_lead_elsewhere(disk: ModelDisk, user: str) -> None:
    with pytest.raises(NotThere):
        MaildirsPlace(disk, "/var/vmail/%d/%n", OWNER).folder(user)


@pytest.mark.parametrize("user", [".pyrepl-drop", ".pyrepl-aside", "..x"])
def test_no_user_lives_in_a_folder_of_our_own(disk: ModelDisk, user: str) -> None:
    with pytest.raises(NotThere):
        MaildirsPlace(disk, "/var/vmail/%u", OWNER).folder(user)


def test_the_marker_is_made_once_and_never_again(disk: ModelDisk) -> None:
    place = MaildirsPlace(disk, "/var/vmail/%u", OWNER)
    with pytest.raises(NotThere, match="is the disk of the Maildirs mounted"):
        place.check("a")
    place.prepare("a")
    place.prepare("a")
    place.check("a")
    assert disk.read(b"/var/vmail/" + MARKER) == b"a\n"
    for ask in (place.check, place.prepare):
        with pytest.raises(NotThere, match="another node's Maildirs"):
            ask("b")


def test_a_root_that_is_not_there_is_not_made(disk: ModelDisk) -> None:
    with pytest.raises(NotThere, match="make it, or mount it"):
        MaildirsPlace(disk, "/srv/mail/%u", OWNER).prepare("a")


def test_a_users_folder(disk: ModelDisk) -> None:
    place = MaildirsPlace(disk, "/var/vmail/%d/%n/Maildir", OWNER)
    with pytest.raises(NotThere, match="is its disk mounted"):
        place.present("alice@b")
    assert place.make("alice@b") == place.make("alice@b") == place.present("alice@b") == b"/var/vmail/b/alice/Maildir"


def test_a_folder_of_another_owner_is_left_alone(disk: ModelDisk) -> None:
    place = MaildirsPlace(disk, "/var/vmail/%u", OWNER + 1)
    disk.make_folders(b"/var/vmail/alice")
    for ask in (place.present, place.make):
        with pytest.raises(NotThere, match=f"belongs to uid {OWNER}, pyrepl runs as uid {OWNER + 1}"):
            ask("alice")


@pytest.mark.parametrize(
    ("pattern", "folders", "users"),
    [
        ("/var/vmail/%u", ["alice", "bob@example.org", ".pyrepl-drop"], ["alice", "bob@example.org"]),
        ("/var/vmail/%u/Maildir", ["alice/Maildir", "bob/other"], ["alice"]),
        (
            "/var/vmail/%d/%n/Maildir",
            ["b.org/bob/Maildir", "a.org/al/Maildir", "a.org/x@y/Maildir", "a.org/.al/Maildir"],
            ["al@a.org", "bob@b.org"],
        ),
        ("/var/vmail/user-%n", ["user-alice", "alice"], ["alice"]),
        ("/var/vmail/%d/%u", ["a.org/al@a.org", "b.org/al@a.org"], ["al@a.org"]),
        ("/var/vmail/%n/%n", ["al/al", "al/bob"], ["al"]),
    ],
)
def test_who_has_a_folder(disk: ModelDisk, pattern: str, folders: list[str], users: list[str]) -> None:
    for folder in folders:
        disk.make_folders(f"/var/vmail/{folder}".encode())
    disk.write_new(b"/var/vmail/no-folder", b"")
    assert MaildirsPlace(disk, pattern, OWNER).users() == users


@pytest.mark.parametrize(
    ("pattern", "user", "why"),
    [
        ("/mail/%d/%n", "alice", "has no folder in"),
        ("/mail/%u", "50%", "has no folder in"),
        ("/mail/%u", "ü" * 128, "too long for a folder"),
        ("/mail/%u", "ü" * 127, ""),
        ("/mail/%d/%n", "alice@here", ""),
        ("/mail/%n", "alice", ""),
        ("/mail/%n", "alice@here", "other domains' users would have it too"),
    ],
)
def test_who_can_have_no_folder_is_known_before(pattern: str, user: str, why: str) -> None:
    found = MaildirsPlace(ModelDisk(), pattern).why_no_user(user)
    assert why in found and bool(found) == bool(why)
