"""What doveadm is asked of a user's mail, and what is made of its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm_mail as room
from pyrepl.daemon.mailbox.doveadm_mail import DoveadmBox, DoveadmMail, DoveadmMessage, parsed_boxes, parsed_texts
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram
from pyrepl.mailbox.maildir.layout import LAYOUTS
from tests.unit.daemon.mailbox.fake_doveadm import USER, FakeDoveadm

FS = LAYOUTS["fs"]
INBOX = DoveadmBox("INBOX", "f" * 32, 1001, 1, 1, 0)


@pytest.fixture
def fake(tmp_path: Path) -> FakeDoveadm:
    return FakeDoveadm(tmp_path)


def mail_of(fake: FakeDoveadm, user: str = USER, layout: str = "fs") -> DoveadmMail:
    return DoveadmMail(DoveadmProgram(fake.command), user, LAYOUTS[layout])


def test_mailboxes_and_messages(fake: FakeDoveadm) -> None:
    mail = mail_of(fake)
    assert mail.boxes() == [INBOX] and mail.box("f" * 32) == INBOX and mail.box("e" * 32) is None
    mail.save(INBOX, 5, "G5", 1_700_000_000, b"hello\r\n\0")
    mail.save(INBOX, 3, "G3", 7, b"low")
    mail.change_flags("add", INBOX.guid, [5], ["kw", "\\Seen"])
    [box] = mail.boxes()
    assert (box.uidnext, box.messages) == (7, 2)
    five, six = (
        DoveadmMessage(5, "G5", frozenset({"kw", "\\Seen"}), 7, 1_700_000_000),
        DoveadmMessage(6, "G3", frozenset(), 3, 7),
    )
    assert mail.messages(box) == [five, six] and mail.all_messages() == {INBOX.guid: [five, six]}
    assert mail.holding("G3") == {INBOX.guid: [six]} and mail.holding("G9") == {}
    assert list(mail.texts(INBOX.guid, [five, six])) == [(five, b"hello\n\0"), (six, b"low")]
    mail.expunge(INBOX.guid, [5])
    assert mail.messages(box) == [six] and list(mail.texts(INBOX.guid, [five])) == []


def test_a_mailbox_that_went_or_was_emptied_by_another_is_not_told_as_empty(fake: FakeDoveadm) -> None:
    mail = mail_of(fake)
    gone = INBOX._replace(guid="9" * 32)
    assert mail.messages(gone) is None
    assert mail.messages(INBOX._replace(uidvalidity=5)) is None
    assert mail.messages(INBOX) == []


def test_mailboxes_are_made_renamed_deleted_and_changed(fake: FakeDoveadm) -> None:
    mail = mail_of(fake, layout="maildir++")
    mail.create("a" * 32, "Work/Sub")
    assert fake.names() == {"INBOX": "f" * 32, "Work.Sub": "a" * 32}
    mail.rename("Work/Sub", "Alt")
    mail.update("Alt", uidvalidity=77, uidnext=9)
    mail.subscribe("Alt", True)
    assert mail.box("a" * 32) == DoveadmBox("Alt", "a" * 32, 77, 9, 1, 0)
    assert mail.subscribed() == {"Alt"}
    mail.update("Alt", guid="b" * 32)
    mail.subscribe("Alt", False)
    assert mail.subscribed() == frozenset() and fake.names()["Alt"] == "b" * 32
    box = mail.box("b" * 32)
    assert box is not None
    mail.save(box, 9, "G", 1, b"x")
    assert not mail.delete_unless_mail(box) and "Alt" in fake.names()
    mail.expunge(box.guid, [9])
    assert mail.delete_unless_mail(box)
    assert mail.delete_unless_mail(box), "it is gone already"
    assert fake.names() == {"INBOX": "f" * 32}


def test_a_user_without_any_mailbox_is_an_accident(fake: FakeDoveadm) -> None:
    with fake as mail:
        mail.boxes.clear()
    assert mail_of(fake).boxes_or_none() == []
    with pytest.raises(DoveadmError, match="is the disk of its mail mounted"):
        mail_of(fake).boxes()
    with pytest.raises(DoveadmError, match="User doesn't exist"):
        mail_of(fake, "bob").boxes()


def test_names_that_the_protocol_cannot_say(fake: FakeDoveadm) -> None:
    with fake as mail:
        mail.create("~x")
        mail.create("a//b")
    assert [box.name for box in mail_of(fake).boxes()] == ["INBOX"]
    with pytest.raises(DoveadmError, match="cannot be kept"):
        mail_of(fake).create("a" * 32, "../x")


def test_texts_are_read_in_portions(fake: FakeDoveadm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_TEXT_BYTES", 10)
    monkeypatch.setattr(room, "MOST_UIDS", 2)
    mail = mail_of(fake)
    with fake as state:
        for size in (20, 4, 4, 1):
            state.save("INBOX", b"x" * size)
    messages = mail.messages(INBOX)
    assert messages is not None
    assert [len(text) for _, text in mail.texts(INBOX.guid, messages)] == [20, 4, 4, 1]
    assert [line.split()[-1] for line in fake.asked() if "size.physical text" in line] == ["1", "2:3", "4"]


@pytest.mark.parametrize(
    "said", [b"uid: 1\n", b"uid: 1\nsize.physical: 3\ntext:\nabcd", b"uid: 1\nsize.physical: 9\ntext:\nab"]
)
def test_what_is_no_text(said: bytes) -> None:
    with pytest.raises(DoveadmError, match="said no text"):
        list(parsed_texts(said))


def test_what_is_no_mailbox() -> None:
    with pytest.raises(DoveadmError, match="something else"):
        list(parsed_boxes([{"mailbox": "INBOX", "guid": "x", "messages": "many"}], FS))


@pytest.mark.parametrize("user", ["*", "al*", "a?ice"])
def test_a_name_that_doveadm_takes_for_others_is_nobodys(fake: FakeDoveadm, user: str) -> None:
    with pytest.raises(DoveadmError, match="mean any other user"):
        mail_of(fake, user)
