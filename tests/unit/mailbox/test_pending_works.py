"""Works that follow from what was applied, and those that another one takes back."""

from __future__ import annotations

from pyrepl.mailbox.pending_works import PendingWorks
from pyrepl.mailbox.store import AddMessage, MakeBox, RaiseNext, RemoveBox, RemoveMessage, SetFlags

MANY = 100_000


def brought(guid: str, box: str = "B") -> AddMessage:
    return AddMessage("alice", box, guid, 1, (), 0, 5, "")


def test_what_takes_away_is_done_behind_the_rest() -> None:
    works = PendingWorks()
    raised, gone = RaiseNext("alice", "B", 7), RemoveMessage("alice", "B", "g1")
    works.extend([gone, raised])
    works.add(brought("g2"))
    assert len(works) == 3 and works.keep() == [raised, brought("g2")]
    assert works.keep() == [] and works.take_away() == [gone] and not works


def test_what_follows_from_works_that_were_done_is_done_after_the_commit_with_the_rest() -> None:
    works = PendingWorks()
    raised, gone = RaiseNext("alice", "B", 7), RemoveMessage("alice", "B", "g1")
    works.add(gone)
    assert works.keep() == []
    works.add(raised)
    assert works.take_away() == [gone, raised] and not works


def test_what_comes_back_is_not_taken_away() -> None:
    works = PendingWorks()
    works.extend([RemoveMessage("alice", "B", "g1"), RemoveMessage("alice", "B", "g2"), RemoveBox("alice", "B")])
    works.extend([RemoveMessage("alice", "B", "g1"), RemoveBox("alice", "C")])
    made = MakeBox("alice", "B", "Work", 7, 1)
    works.add(brought("g1"))
    works.add(made)
    assert works.keep() == [brought("g1"), made]
    assert works.take_away() == [RemoveMessage("alice", "B", "g2"), RemoveBox("alice", "C")]


def test_what_goes_after_it_came_back_is_taken_away() -> None:
    works = PendingWorks()
    works.add(RemoveMessage("alice", "B", "g1"))
    works.add(brought("g1"))
    works.add(RemoveMessage("alice", "B", "g1"))
    assert works.keep() == [brought("g1")] and works.take_away() == [RemoveMessage("alice", "B", "g1")]
    works.add(brought("g1"))
    assert works.keep() == [brought("g1")], "nothing is known of what was taken"


def test_what_a_mail_program_has_put_there_is_not_added() -> None:
    works = PendingWorks()
    works.add(brought("g1"))
    works.add(brought("g1", box="C"))
    works.was_added("B", "g1")
    works.was_added("B", "g9")
    assert works.keep() == [brought("g1", box="C")]


def test_flags_that_a_mail_program_has_set_are_not_set() -> None:
    works = PendingWorks()
    first = SetFlags("alice", "B", "g1", ("\\Seen",))
    works.add(first)
    before = len(works)
    works.add(SetFlags("alice", "B", "g2", ("\\Seen",)))
    works.forget_flags(before)
    assert works.keep() == [first]


def test_none_is_looked_for_among_all() -> None:
    """With a list this would take minutes."""
    works = PendingWorks()
    works.extend(RemoveMessage("alice", "B", f"g{number}") for number in range(MANY))
    for number in range(MANY):
        works.add(brought(f"g{number}"))
    for number in range(MANY):
        works.was_added("B", f"g{number}")
    assert works.take_away() == [] and works.keep() == []
