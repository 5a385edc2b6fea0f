"""What every store does, asked alike of the simulator's model, of the Maildirs, and of one without files and links."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.mailbox.store import (
    DONE,
    AddMessage,
    MakeBox,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    Result,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.unit.mailbox.stores import AT, BOX, OTHER, TEXT, USER, MaildirRig, ModelRig, PackedRig, Rig, plain

RIGS: list[Callable[[], Rig]] = [ModelRig, MaildirRig, PackedRig]


@pytest.fixture(params=RIGS, ids=["model", "maildir", "packed"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """With an INBOX whose next UID is 5."""
    made: Rig = request.param()
    made.done(MakeBox(USER, BOX, "INBOX", 7, 5))
    return made


def messages(rig: Rig, box: str = BOX) -> dict[str, Stored]:
    return rig.store.stored(USER)[box].messages


def test_works_are_compared_by_what_they_say() -> None:
    work = AddMessage("alice", "b1", "G1", 57, ("\\Seen",), 1795333408, 1204, "a.901.G1", Dot("a", 901))
    assert work == AddMessage("alice", "b1", "G1", 57, ("\\Seen",), 1795333408, 1204, "a.901.G1", Dot("a", 901))
    assert work != RemoveMessage("alice", "b1", "G1")
    with pytest.raises(TypeError, match="MakeBox takes user, box, name, uidvalidity, uidnext"):
        MakeBox("alice", "b1")  # type: ignore[call-arg]


def test_mailboxes(rig: Rig) -> None:
    rig.done(MakeBox(USER, OTHER, "Work/2026", 8, 1), SubscribeBox(USER, OTHER, "Work/2026", True))
    assert plain(rig.store.stored(USER)) == {
        BOX: StoredBox("INBOX", False, {}, True, next_uid=5),
        OTHER: StoredBox("Work/2026", True, {}, True, next_uid=1),
    }
    rig.store.settle([MakeBox(USER, BOX, "INBOX", 7, 5)])
    rig.done(RenameBox(USER, OTHER, "Old"), SubscribeBox(USER, OTHER, "Work/2026", False))
    assert plain(rig.store.stored(USER)) == {
        BOX: StoredBox("INBOX", False, {}, next_uid=5),
        OTHER: StoredBox("Old", False, {}, True, next_uid=1),
    }
    rig.done(RemoveBox(USER, OTHER), RemoveBox(USER, OTHER))
    assert plain(rig.store.stored(USER)) == {BOX: StoredBox("INBOX", False, {}, next_uid=5)}
    rig.done(MakeBox(USER, BOX, "INBOX", 7, 1))
    assert rig.store.stored(USER)[BOX].is_new is False, "it was there"


def test_names_that_change_places(rig: Rig) -> None:
    rig.done(MakeBox(USER, OTHER, "Work", 8, 1), MakeBox(USER, "3" * 32, "Old", 9, 1), rig.add("G1", 3, box=OTHER))
    rig.done(RenameBox(USER, OTHER, "Old"), RenameBox(USER, "3" * 32, "Work"))
    assert {box.name: list(box.messages) for box in rig.store.stored(USER).values()} == {
        "INBOX": [],
        "Old": ["G1"],
        "Work": [],
    }


def test_a_message_comes_changes_and_goes(rig: Rig) -> None:
    work = rig.add("G1", 5, "\\Seen", "work", at=Dot("b~1", 7))
    rig.done(work)
    assert messages(rig) == {"G1": Stored(5, ("\\Seen", "work"), Dot("b~1", 7))}
    rig.store.settle([work])
    rig.done(SetFlags(USER, BOX, "G1", ("\\Flagged",)), MoveMessage(USER, BOX, "G1", 9))
    assert messages(rig) == {"G1": Stored(9, ("\\Flagged",))} and rig.store.has_text(USER, "G1")
    rig.done(RemoveMessage(USER, BOX, "G1"))
    assert messages(rig) == {} and not rig.store.has_text(USER, "G1")


def test_a_copy_is_linked_from_another_mailbox_and_knows_its_op(rig: Rig) -> None:
    rig.done(MakeBox(USER, OTHER, "Work", 8, 1), first := rig.add("G1", 5, at=Dot("a", 1)))
    rig.store.settle([first])
    copy = AddMessage(USER, OTHER, "G1", 1, ("\\Seen",), 1, rig.size, "", Dot("a", 2))
    rig.done(copy)
    assert messages(rig, OTHER) == {"G1": Stored(1, ("\\Seen",), Dot("a", 2))}
    rig.store.settle([copy])
    rig.done(RemoveMessage(USER, BOX, "G1"))
    assert messages(rig, OTHER) == {"G1": Stored(1, ("\\Seen",))} and rig.store.has_text(USER, "G1")


def test_a_text_that_is_nowhere(rig: Rig) -> None:
    missing = AddMessage(USER, BOX, "G1", 5, (), 1, rig.size, "", Dot("a", 2))
    assert [result.outcome for result in rig.store.perform([missing, rig.add("G2", 6)])] == [
        Outcome.NO_TEXT,
        Outcome.DONE,
    ]
    assert list(messages(rig)) == ["G2"]


def test_uid_0_is_kept_aside_until_it_moves(rig: Rig) -> None:
    rig.done(rig.add("G1", 0, "\\Seen", at=Dot("b", 1)), SetFlags(USER, BOX, "G1", ("kw",)))
    assert messages(rig) == {"G1": Stored(0, (), Dot("b", 1))} and rig.store.has_text(USER, "G1")
    rig.done(MoveMessage(USER, BOX, "G1", 8, ("\\Flagged", "kw")))
    assert messages(rig) == {"G1": Stored(8, ("\\Flagged", "kw"), Dot("b", 1))}
    rig.done(MoveMessage(USER, BOX, "G1", 0))
    assert messages(rig)["G1"][:2] == (0, ())
    rig.done(MakeBox(USER, OTHER, "Work", 8, 1), AddMessage(USER, OTHER, "G1", 1, (), 1, rig.size, "", Dot("a", 3)))
    rig.done(RemoveMessage(USER, BOX, "G1"))
    assert messages(rig) == {} and list(messages(rig, OTHER)) == ["G1"]


def test_a_uid_below_the_next_is_told_and_its_message_kept_aside(rig: Rig) -> None:
    assert rig.store.perform([rig.add("G1", 4), rig.add("G2", 6), rig.add("G3", 6)]) == [
        Result(Outcome.TOO_LOW, next_uid=5),
        DONE,
        Result(Outcome.TOO_LOW, next_uid=7),
    ]
    assert rig.store.perform([MoveMessage(USER, BOX, "G2", 5)]) == [Result(Outcome.TOO_LOW, next_uid=7)]
    assert {guid: has.uid for guid, has in messages(rig).items()} == {"G1": 0, "G2": 0, "G3": 0}
    rig.done(RaiseNext(USER, BOX, 50), RaiseNext(USER, BOX, 20))
    assert rig.store.perform([MoveMessage(USER, BOX, "G1", 49)]) == [Result(Outcome.TOO_LOW, next_uid=50)]
    rig.done(MoveMessage(USER, BOX, "G1", 50))
    assert messages(rig)["G1"].uid == 50


def test_a_mailbox_that_is_made_again_goes_on_at_its_next_uid(rig: Rig) -> None:
    rig.done(rig.add("G1", 5), rig.add("G2", 0), RemoveBox(USER, BOX), MakeBox(USER, BOX, "INBOX", 7, 6))
    assert messages(rig) == {}
    assert rig.store.perform([rig.add("G3", 5)]) == [Result(Outcome.TOO_LOW, next_uid=6)]


def test_works_that_are_told_again_change_nothing(rig: Rig) -> None:
    works: list[Work] = [
        MakeBox(USER, OTHER, "Work", 8, 1),
        rig.add("G1", 5, "kw", at=Dot("b", 1)),
        rig.add("G2", 0, at=Dot("b", 2)),
        SetFlags(USER, BOX, "G1", ("\\Seen",)),
        MoveMessage(USER, BOX, "G1", 8),
        MoveMessage(USER, BOX, "G2", 9, ("kw",)),
        SubscribeBox(USER, OTHER, "Work", True),
        RaiseNext(USER, BOX, 30),
    ]
    rig.done(*works)
    before = rig.store.stored(USER)
    for _ in range(2):
        rig.restart()
        rig.done(works[0], *works[3:])
        assert rig.store.stored(USER) == before


def test_a_message_that_a_try_before_brought_is_as_the_work_says(rig: Rig) -> None:
    rig.done(rig.add("G1", 5, "\\Seen"), rig.add("G1", 5, "kw"))
    assert messages(rig)["G1"][:2] == (5, ("kw",))
    rig.done(rig.add("G1", 9, "\\Flagged"))
    assert messages(rig)["G1"][:2] == (9, ("\\Flagged",))
    rig.done(rig.add("G1", 0))
    assert messages(rig)["G1"][:2] == (9, ()), "clients may have seen it"


def test_works_on_what_is_not_there_change_nothing(rig: Rig) -> None:
    before = plain(rig.store.stored(USER))
    rig.done(RemoveMessage(USER, BOX, "G1"), SetFlags(USER, BOX, "G1", ("kw",)))
    assert [each.outcome for each in rig.store.perform([MoveMessage(USER, BOX, "G1", 9)])] == [Outcome.NO_TEXT]
    rig.done(RemoveBox(USER, OTHER), SubscribeBox(USER, OTHER, "Work", False))
    assert plain(rig.store.stored(USER)) == before


def test_a_work_on_flags_is_known_until_its_rows_are_committed(rig: Rig) -> None:
    add, change = rig.add("G1", 5), SetFlags(USER, BOX, "G1", ("kw",))
    rig.done(add)
    rig.store.settle([add])
    assert rig.store.stored(USER)[BOX].unsure == {}
    rig.done(change, SetFlags(USER, BOX, "G2", ("KW", "\\Seen"), ("\\Seen",)))
    rig.done(SetFlags(USER, BOX, "G2", (), ("work",)))
    rig.restart()
    assert rig.store.stored(USER)[BOX].unsure == {"G1": None, "G2": {"kw", "work"}}
    rig.store.settle([change])
    assert rig.store.stored(USER)[BOX].unsure == {}


def test_l7_a_store_in_which_a_message_is_no_file_copies_and_mends_without_links() -> None:
    """All other tests here are asked of it as well."""
    rig = PackedRig()
    rig.done(MakeBox(USER, BOX, "INBOX", 7, 5), MakeBox(USER, OTHER, "Work", 8, 1), rig.add("G1", 5), rig.add("G2", 6))
    copy = AddMessage(USER, OTHER, "G1", 1, (), 1, rig.size, "", Dot("a", 2))
    rig.done(copy)
    assert rig.packed.text(BOX, "G1") == rig.packed.text(OTHER, "G1") == TEXT
    rig.packed.came["good"] = b"good"
    rig.done(mend := MendMessage(USER, BOX, "G1", 4, "good"))
    assert rig.packed.text(BOX, "G1") == b"good" and rig.packed.text(OTHER, "G1") == TEXT, "each has its own"
    rig.store.settle([mend, copy, rig.add("G1", 5, at=AT)])
    assert rig.store.perform([mend])[0].outcome is Outcome.NO_TEXT
    rig.done(RemoveBox(USER, BOX))
    assert messages(rig, OTHER) == {"G1": Stored(1, ())} and rig.packed.text(OTHER, "G1") == TEXT


def test_a_damaged_text_is_replaced_by_the_one_that_came(rig: Rig) -> None:
    rig.done(add := rig.add("G1", 5, "\\Seen"), MendMessage(USER, BOX, "G1", rig.size, add.text))
    rig.store.settle([add])
    assert messages(rig) == {"G1": Stored(5, ("\\Seen",))}
    rig.done(MendMessage(USER, BOX, "G9", rig.size, rig.add("G9", 6).text))
    assert list(messages(rig)) == ["G1"], "one that is not there stays so"
