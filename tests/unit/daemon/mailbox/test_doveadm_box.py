"""Works on messages that a Dovecot keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm_box as room
from pyrepl.daemon.mailbox.doveadm_mail import DoveadmMail
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    AddMessage,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveMessage,
    Result,
    SetFlags,
)
from tests.unit.daemon.mailbox.doveadm_rig import BOX, DATE, DoveadmRig
from tests.unit.daemon.mailbox.fake_doveadm import USER, Mail

HELLO = b"hello\n"


@pytest.fixture
def rig(tmp_path: Path) -> DoveadmRig:
    return DoveadmRig(tmp_path)


def move(guid: str, uid: int, *flags: str) -> MoveMessage:
    return MoveMessage(USER, BOX, guid, uid, flags)


def test_messages_come_with_their_uids_flags_and_dates(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 5, "kw", "\\Seen"), rig.add("G2", 9, text=b"two\r\n"))
    assert rig.shown() == {5: ("G1", ["\\Seen", "kw"], HELLO), 9: ("G2", [], b"two\n")}
    assert {each["received"] for each in rig.fake.box()["messages"]} == {DATE}
    assert len([line for line in rig.fake.asked() if line.startswith("flags ")]) == 1


def test_one_whose_uid_dovecot_gave_out_is_aside(rig: DoveadmRig) -> None:
    with rig.fake as mail:
        mail.save("INBOX", b"own", uid=7, guid="OWN")
    assert rig.outcome(rig.add("G1", 7)) == Result(Outcome.TOO_LOW, next_uid=8)
    assert list(rig.shown()) == [7] and rig.aside() == ["G1"]
    rig.tell(move("G1", 8, "\\Flagged"))
    assert rig.shown()[8] == ("G1", ["\\Flagged"], HELLO) and rig.aside() == []


def test_one_that_came_out_under_another_uid_is_taken_back(rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch) -> None:
    save = DoveadmMail.save

    def save_late(*args: object) -> None:
        with rig.fake as mail:
            mail.save("INBOX", b"own", uid=7, guid="OWN")
        save(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(DoveadmMail, "save", save_late)
    assert rig.outcome(rig.add("G1", 7)) == Result(Outcome.TOO_LOW, next_uid=9)
    assert rig.shown() == {7: ("OWN", [], b"own")} and rig.aside() == ["G1"]


def test_uid_0_puts_a_text_aside(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", UNPLACED), rig.add("G2", 3, "kw"))
    assert list(rig.shown()) == [3] and rig.aside() == ["G1"]
    rig.tell(move("G2", UNPLACED))
    assert rig.shown() == {} and sorted(rig.aside()) == ["G1", "G2"]
    rig.tell(move("G2", 4, "kw"), move("G1", 6))
    assert [each.outcome for each in rig.store.perform([move("G9", 7)])] == [Outcome.NO_TEXT], "it is not there"
    assert rig.shown() == {4: ("G2", ["kw"], HELLO), 6: ("G1", [], HELLO)} and rig.aside() == []


def test_a_message_gets_another_uid(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 3, "kw"), rig.add("G2", 4))
    with rig.fake as mail:
        mail.boxes["INBOX"]["messages"][0]["flags"].append("\\Seen")
    rig.tell(move("G1", 8, "kw"))
    assert rig.shown() == {4: ("G2", [], HELLO), 8: ("G1", ["\\Seen", "kw"], HELLO)}
    assert rig.fake.box()["messages"][1]["received"] == DATE
    assert rig.outcome(move("G2", 6)).outcome is Outcome.TOO_LOW
    assert list(rig.shown()) == [8] and rig.aside() == ["G2"]


def test_works_are_told_again_after_a_crash(rig: DoveadmRig) -> None:
    add = rig.add("G1", 3, "kw")
    with rig.fake as mail:
        mail.save("INBOX", HELLO, uid=3, guid="G1")
    rig.tell(add)
    assert rig.shown() == {3: ("G1", ["kw"], HELLO)}
    with rig.fake as mail:
        mail.save("INBOX", HELLO, uid=5, guid="G1")
    rig.tell(move("G1", 5))
    assert rig.shown() == {5: ("G1", ["kw"], HELLO)}
    rig.tell(move("G1", 5))
    rig.tell(rig.add("G1", UNPLACED))
    assert rig.shown() == {5: ("G1", ["kw"], HELLO)} and rig.aside() == []
    rig.tell(rig.add("G1", 6, "\\Seen"))
    assert rig.shown() == {6: ("G1", ["\\Seen"], HELLO)}
    with rig.fake as mail:
        mail.save("INBOX", HELLO, uid=7, guid="G2", flags="\\Flagged")
    again = rig.add("G2", 7, "kw")
    rig.tell(AddMessage(**{**again.__dict__, "before": ("kw",)}))
    assert rig.shown()[7] == ("G2", ["\\Flagged", "kw"], HELLO), "what a client flagged meanwhile stays"


def test_a_crash_while_one_becomes_visible(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", UNPLACED))
    with rig.fake as mail:
        mail.save("INBOX", HELLO, uid=4, guid="G1")
    rig.tell(move("G1", 4, "\\Seen"))
    assert rig.shown() == {4: ("G1", ["\\Seen"], HELLO)} and rig.aside() == []


def test_flags_change_only_where_a_work_says_so(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 3, "kw", "old"), rig.add("G2", 4, "x"))
    with rig.fake as mail:
        mail.boxes["INBOX"]["messages"][0]["flags"].append("client")
    rig.tell(SetFlags(USER, BOX, "G1", ("kw", "\\Seen"), ("kw", "old")), SetFlags(USER, BOX, "G2", ("y",)))
    assert {uid: sorted(flags) for uid, (_, flags, _) in rig.shown().items()} == {
        3: ["\\Seen", "client", "kw"],
        4: ["y"],
    }
    rig.tell(SetFlags(USER, BOX, "G1", ("a",), ("b",)), SetFlags(USER, BOX, "G1", ("b",), ("a",)))
    assert "b" in rig.shown()[3][1] and "a" not in rig.shown()[3][1]
    rig.tell(SetFlags(USER, BOX, "G9", ("a",)))


def test_messages_go_and_the_next_uid_rises(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 3), rig.add("G2", 4), rig.add("G3", UNPLACED))
    rig.tell(RemoveMessage(USER, BOX, "G1"), RemoveMessage(USER, BOX, "G3"), RemoveMessage(USER, BOX, "G9"))
    assert list(rig.shown()) == [4] and rig.aside() == []
    rig.tell(RaiseNext(USER, BOX, 50), RaiseNext(USER, BOX, 40))
    assert rig.fake.box()["uidnext"] == 50


def test_many_are_done_in_portions(rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_MOST_AT_ONCE", 2)
    rig.tell(*(rig.add(f"G{uid}", uid) for uid in range(1, 6)))
    assert list(rig.shown()) == [1, 2, 3, 4, 5]


def test_a_message_whose_text_is_nowhere(rig: DoveadmRig) -> None:
    for uid in (3, UNPLACED):
        assert rig.outcome(AddMessage(USER, BOX, "G1", uid, (), DATE, 5, "")).outcome is Outcome.NO_TEXT


def test_a_damaged_text_cannot_be_mended(rig: DoveadmRig) -> None:
    rig.tell(rig.add("G1", 3))
    result = rig.outcome(MendMessage(USER, BOX, "G1", 5, "x.1.G1"))
    assert result.outcome is Outcome.FAILED and "cannot mend" in result.reason


def test_what_a_client_does_while_a_message_comes_or_moves_stands(
    rig: DoveadmRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = DoveadmMail.save

    def save_and(do: Callable[[Mail], None]) -> None:
        def saved(*args: object) -> None:
            save(*args)  # type: ignore[arg-type]
            with rig.fake as mail:
                do(mail)

        monkeypatch.setattr(DoveadmMail, "save", saved)

    def flag(mail: Mail) -> None:
        for each in mail.boxes["INBOX"]["messages"]:
            each["flags"].append("\\Flagged")

    save_and(flag)
    rig.tell(rig.add("G1", 3, "kw"))
    assert sorted(rig.shown()[3][1]) == ["\\Flagged", "kw"]
    save_and(lambda mail: mail.boxes["INBOX"]["messages"][0]["flags"].remove("kw"))
    rig.tell(move("G1", 5, "kw"))
    assert rig.shown() == {5: ("G1", ["\\Flagged"], HELLO)}
    save_and(lambda mail: mail.boxes["INBOX"]["messages"].pop(0))
    rig.tell(move("G1", 7))
    assert rig.shown() == {}, "it is expunged everywhere when it is looked at"
