"""The store by doveadm: works on mailboxes, what it has, and what gates and folders are told."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm_store as room
from pyrepl.daemon.mailbox.doveadm_mail import DoveadmBox, DoveadmMail, DoveadmMessage
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError
from pyrepl.mailbox.compare import Text
from pyrepl.mailbox.folders import FolderOrder, FoundFolder
from pyrepl.mailbox.gate_states import GateOrder, GateWork
from pyrepl.mailbox.maildir.text_sums import sums_of
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    SURE,
    AddMessage,
    MakeBox,
    MoveMessage,
    Outcome,
    RemoveBox,
    RenameBox,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
)
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.mailbox.doveadm_rig import BOX, DATE, DoveadmRig
from tests.unit.daemon.mailbox.fake_doveadm import USER

SUB = "2" * 32
HELLO = b"hello\n"


@pytest.fixture
def rig(tmp_path: Path) -> DoveadmRig:
    return DoveadmRig(tmp_path)


def look(since: int = 0) -> GateOrder:
    return GateOrder(GateWork.SHUT, USER, BOX, since)


def test_mailboxes_are_made_renamed_subscribed_and_removed(rig: DoveadmRig) -> None:
    make = MakeBox(USER, SUB, "Work/Sub", 77, 9)
    rig.tell(make, SubscribeBox(USER, SUB, "Work/Sub", True))
    made = rig.fake.box("Work/Sub")
    assert (made["guid"], made["uidvalidity"], made["uidnext"]) == (SUB, 77, 9)
    assert rig.fake.subscribed() == ["Work/Sub"] and rig.store.stored(USER)[SUB].is_new
    rig.store.settle([make])
    assert not rig.store.stored(USER)[SUB].is_new
    rig.tell(make, RenameBox(USER, SUB, "Alt"), RenameBox(USER, SUB, "Alt"))
    assert rig.fake.names() == {"INBOX": BOX, "Alt": SUB}
    rig.tell(MakeBox(USER, SUB, "Neu", 78, 20))
    assert rig.fake.box("Neu")["uidnext"] == 20 and rig.fake.box("Neu")["uidvalidity"] == 78
    rig.tell(RemoveBox(USER, SUB), RemoveBox(USER, SUB))
    assert rig.fake.names() == {"INBOX": BOX}


def test_an_inbox_that_dovecot_made_becomes_the_one_that_is_wanted(rig: DoveadmRig) -> None:
    rig.tell(MakeBox(USER, "1" * 32, "INBOX", 7, 5))
    assert rig.fake.names() == {"INBOX": "1" * 32}
    assert (rig.fake.box()["uidvalidity"], rig.fake.box()["uidnext"]) == (7, 5)


def test_who_has_a_name_that_another_wants_is_put_aside(rig: DoveadmRig) -> None:
    with rig.fake as mail:
        mail.save("INBOX", b"x")
    rig.tell(MakeBox(USER, "1" * 32, "INBOX", 7, 5), MakeBox(USER, SUB, "Work", 7, 1))
    assert rig.fake.names() == {"INBOX (ffffffff)": BOX, "INBOX": "1" * 32, "Work": SUB}
    rig.tell(RenameBox(USER, BOX, "Work"))
    assert rig.fake.names() == {"Work": BOX, "INBOX": "1" * 32, "Work (22222222)": SUB}
    found = rig.store.folders(FolderOrder(USER, frozenset({BOX}))).found
    assert found is not None
    assert {each.box: each for each in found.boxes} == {
        BOX: FoundFolder("Work", BOX),
        "1" * 32: FoundFolder("INBOX", "1" * 32, 7),
        SUB: FoundFolder("Work", SUB, 7, is_aside=True),
    }


def test_one_that_holds_mail_is_not_removed(rig: DoveadmRig) -> None:
    make, remove = MakeBox(USER, SUB, "Work", 7, 1), RemoveBox(USER, BOX)
    rig.tell(make, rig.add("G1", 1), rig.add("G2", UNPLACED))
    assert rig.outcome(remove).outcome is Outcome.HAS_MAIL
    assert list(rig.shown()) == [1] and rig.aside() == ["G2"]
    with rig.fake as mail:
        mail.boxes["INBOX"]["messages"].clear()
    rig.tell(remove, remove)
    assert rig.fake.names() == {"Work": SUB} and rig.aside() == []


def test_one_that_gets_mail_at_the_last_moment_is_not_removed(rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = DoveadmMail.rename

    def saved(mail: DoveadmMail, name: str, to: str) -> None:
        rename(mail, name, to)
        with rig.fake as state:
            state.save(to, b"just come")

    rig.tell(MakeBox(USER, SUB, "Work", 7, 1))
    monkeypatch.setattr(DoveadmMail, "rename", saved)
    assert rig.outcome(RemoveBox(USER, BOX)).outcome is Outcome.HAS_MAIL
    monkeypatch.undo()
    assert rig.fake.names() == {"INBOX (ffffffff)": BOX, "Work": SUB}
    found = rig.store.folders(FolderOrder(USER, frozenset())).found
    assert found is not None and FoundFolder("INBOX", BOX, 1001, has_mail=True, is_aside=True) in found.boxes
    rig.tell(MakeBox(USER, BOX, "INBOX", 1001, 2))
    assert rig.fake.names() == {"INBOX": BOX, "Work": SUB}, "others bring it back"


def test_what_comes_for_a_mailbox_that_a_client_deleted_is_aside(rig: DoveadmRig) -> None:
    assert rig.outcome(rig.add("G1", 5, box=SUB)).outcome is Outcome.TOO_LOW
    assert rig.aside(SUB) == ["G1"]


def test_a_copy_is_saved_from_the_text_that_is_there(rig: DoveadmRig) -> None:
    at = Dot("a", 9)
    copy = AddMessage(USER, SUB, "G1", 3, ("kw",), DATE, 6, "", at)
    add = rig.add("G1", 1)
    rig.tell(add)
    rig.store.settle([add])
    rig.tell(MakeBox(USER, SUB, "Work", 7, 1), copy)
    assert rig.shown("Work") == {3: ("G1", ["kw"], HELLO)}
    assert rig.store.stored(USER)[SUB].messages["G1"].at == at
    rig.store.settle([copy])
    assert rig.store.stored(USER)[SUB].messages["G1"].at is None


def test_what_is_there_after_a_crash(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5, "kw"), rig.add("G2", UNPLACED))
    rig.tell(SetFlags(USER, BOX, "G1", ("kw", "\\Seen"), ("kw",)))
    with rig.fake as mail:
        mail.save("INBOX", b"x", guid="OWN")
        mail.save("INBOX", HELLO, guid="G1", uid=20)
    rig.restart()
    assert rig.store.stored(USER) == {
        BOX: StoredBox(
            "INBOX",
            False,
            {
                "G1": Stored(5, ("\\Seen", "kw"), Dot("b", 1)),
                "G2": Stored(UNPLACED, (), Dot("b", 2)),
                "OWN": Stored(6, ()),
            },
            unsure={"G1": frozenset({"\\seen"})},
        )
    }
    rig.store.clear({"b": 2}, frozenset())
    assert rig.store.stored(USER)[BOX].messages["G1"].at is None
    assert rig.store.stored(USER)[BOX].unsure == SURE


def test_a_mailbox_is_looked_at(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5, "kw"), rig.add("G2", 6, text=b"two\n"))
    found = rig.store.gate(look(since=6)).found
    assert found is not None and found.is_whole and found.keywords is None
    assert [(each.uid, each.guid, each.flags, each.text) for each in found.messages] == [
        (5, "G1", frozenset({"kw"}), None),
        (6, "G2", frozenset(), Text(4, DATE, sums_of(b"two\n"))),
    ]
    assert rig.store.fresh.get((USER, "G2")) == b"two\n" and rig.store.fresh.get((USER, "G1")) is None


def test_of_very_many_new_messages_some_are_read_at_a_time(rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_LOOKED_BYTES", 2100)
    rig.tell(*(rig.add(f"G{uid}", uid) for uid in (1, 2, 3, 4, 5)))

    def read(order: GateOrder) -> list[str]:
        found = rig.store.gate(order).found
        assert found is not None and len(found.messages) == 5
        return [each.guid for each in found.messages if each.text is not None]

    assert read(look()) == ["G1", "G2", "G3"]
    assert read(look(since=9)._replace(wanted=frozenset({"G2", "G5"}))) == ["G2", "G5"]
    monkeypatch.setattr(room, "MOST_LOOKED_BYTES", 1)
    assert read(look(since=4)) == ["G4"], "one at least"


def test_a_copy_within_its_mailbox_gets_a_guid_of_its_own(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5, "kw"))
    with rig.fake as mail:
        mail.save("INBOX", HELLO, guid="G1", flags="kw new", received=DATE)
    assert rig.store.gate(look()).is_busy, "it is asked again"
    found = rig.store.gate(look()).found
    assert found is not None
    [first, copy] = found.messages
    assert (first.uid, first.guid) == (5, "G1") and copy.uid == 7 and len(copy.guid) == 32
    assert copy.flags == {"kw", "new"} and copy.text == first.text
    with rig.fake as mail:
        mail.save("INBOX", HELLO, guid="G1")
        mail.save("INBOX", HELLO, guid="G1")
    assert rig.store.gate(look()).is_busy and not rig.store.gate(look()).is_busy
    assert list(rig.shown()) == [5, 7, 10, 11] and len({guid for guid, _, _ in rig.shown().values()}) == 4


def test_what_a_move_that_failed_left_twice_is_not_taken_for_a_copy(
    rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.tell(rig.add("G1", 5, "kw"))
    lists, listed = DoveadmMail.messages, 0

    def fails(mail: DoveadmMail, box: DoveadmBox) -> list[DoveadmMessage] | None:
        nonlocal listed
        listed += 1
        if listed == 2:
            raise DoveadmError("doveadm has not ended in 30 s")
        return lists(mail, box)

    monkeypatch.setattr(DoveadmMail, "messages", fails)
    move = MoveMessage(USER, BOX, "G1", 10)
    assert rig.outcome(move).outcome is Outcome.FAILED and list(rig.shown()) == [5, 10]
    assert rig.store.gate(look()).is_busy and rig.store.gate(look()).is_busy
    rig.tell(move)
    assert rig.shown() == {10: ("G1", ["kw"], HELLO)}
    assert not rig.store.gate(look()).is_busy


def test_where_doveadm_fails_nothing_is_concluded(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5))
    add = rig.add("G2", 6)
    rig.fake.refuse("Error: disk full")
    assert (
        "disk full" in rig.store.gate(look()).why
        and "disk full" in rig.store.folders(FolderOrder(USER, frozenset())).why
    )
    result = rig.outcome(add)
    assert result.outcome is Outcome.FAILED and "disk full" in result.reason
    assert rig.store.readable_text(USER, "G2", "") is not None, "as it came"
    rig.fake.refuse("")
    [again] = rig.store.try_again([add])
    assert again.outcome is Outcome.DONE
    assert rig.store.gate(GateOrder(GateWork.SHUT, USER, SUB)).why == f"Dovecot shows no mailbox with the GUID {SUB}"
    with rig.fake as mail:
        mail.boxes.clear()
    assert "is the disk of its mail mounted" in rig.store.gate(look()).why


def test_of_its_disk_the_drop_folder_tells(rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.store.check(writes=True)

    def refuses() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rig.store.drop, "probe", refuses)
    rig.store.check(writes=False)
    with pytest.raises(OSError, match="No space left"):
        rig.store.check(writes=True)


def test_texts_go_out(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5), rig.add("G2", UNPLACED, text=b"aside\n"))
    rig.store.clear({"b": 9}, frozenset())
    for guid, text in (("G1", HELLO), ("G2", b"aside\n")):
        path = rig.store.readable_text(USER, guid, "")
        assert path is not None and Path(path.decode()).read_bytes() == text and rig.store.has_text(USER, guid)
    assert not rig.store.has_text(USER, "G9") and rig.store.readable_text(USER, "G9", "") is None
    asked = len(rig.fake.asked())
    rig.store.readable_text(USER, "G1", "")
    assert len(rig.fake.asked()) == asked, "it is a file for a while"


def test_a_user_whose_folders_are_asked_for_is_watched(rig: DoveadmRig) -> None:
    rig.tell(SubscribeBox(USER, BOX, "INBOX", True))
    found = rig.store.folders(FolderOrder(USER, frozenset())).found
    assert rig.followed == [USER] and found is not None and found.subscribed == {"INBOX"}
    assert found.boxes == (FoundFolder("INBOX", BOX, 1001),)


def test_a_name_that_doveadm_takes_for_others_is_neither_watched_nor_changed(rig: DoveadmRig) -> None:
    assert "mean any other user" in rig.store.folders(FolderOrder("al*", frozenset())).why and rig.followed == []
    refused = rig.outcome(MakeBox("al*", "e" * 32, "Work", 7, 1))
    assert refused.outcome is Outcome.FAILED and rig.fake.names() == {"INBOX": BOX}
