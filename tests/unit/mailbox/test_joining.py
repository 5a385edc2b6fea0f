"""Two nodes' rows become one: what is new, what is gone, and what stands of two."""

from __future__ import annotations

from pyrepl.mailbox.entries import Known
from pyrepl.mailbox.joining import Joiner, state_of
from pyrepl.mailbox.merging import Effects, Merger, Text
from pyrepl.mailbox.rows import UNPLACED, BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.store import AddMessage, MakeBox, MoveMessage, RemoveBox, RemoveMessage, RenameBox, SetFlags
from pyrepl.mailbox.words import Dot, Register, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

BOX = "1" * 32
MADE = BoxRow(BOX, "alice", "INBOX", Stamp(1, "a"), 5, uidnext=20, highest=9, created_stamp=Stamp(1, "a"))
FIRST = Token(1, 0)
FLAGGED = (Register("\\Seen", True, Stamp(3, "b")),)


def row(guid: str, uid: int, *dots: Dot, token: Token = FIRST, modseq: int = 12) -> MessageRow:
    return MessageRow(BOX, guid, uid, token, dots, 4, 7, modseq=modseq)


class Side:
    """A node's rows, with one mailbox."""

    def __init__(self, held: dict[str, int], *mine: MessageRow, box: BoxRow = MADE) -> None:
        self.rows = MemoryRows()
        self.rows.put_box(box)
        for each in mine:
            self.rows.put_message(each)
        self.effects = Effects()
        self.joiner = Joiner(Merger(self.rows, "x"), held)

    def take(self, theirs: MessageRow | str, held: dict[str, int], gone: GoneRow | None = None) -> bool:
        """The other's row, or the GUID of one that it has not."""
        known = Known(theirs, None, gone) if isinstance(theirs, str) else Known(theirs.guid, theirs, gone)
        return self.joiner.message("alice", BOX, known, Text("drop"), held, self.effects)

    def dots(self, guid: str) -> tuple[Dot, ...] | None:
        found = self.rows.message(BOX, guid)
        return None if found is None else found.dots


def test_what_is_new_comes_and_what_was_expunged_does_not() -> None:
    side = Side({"a": 5})
    assert side.joiner.needs_text("alice", BOX, Known("G1", row("G1", 20, Dot("a", 6)), None))
    assert not side.take(row("G1", 20, Dot("a", 6)), {"a": 8}), "its modseq is above all that clients saw"
    assert not side.take(row("G2", 3, Dot("a", 4)), {"a": 8}), "we had it, and expunged it"
    assert side.dots("G1") == (Dot("a", 6),) and side.dots("G2") is None
    assert [(work.uid, work.text) for work in side.effects.works if isinstance(work, AddMessage)] == [(20, "drop")]
    assert not side.joiner.needs_text("alice", BOX, Known("G2", row("G2", 3, Dot("a", 4)), None))
    assert not side.joiner.needs_text("alice", BOX, Known("G1", row("G1", 20, Dot("a", 6)), None))


def test_another_mail_of_a_guid_comes_beside_ours_be_ours_gone_there_or_not() -> None:
    theirs = row("G1", 3, Dot("b", 3))._replace(sums=(2,))
    for held, mine in (({"a": 3}, (Dot("a", 4),)), ({"a": 8}, None)):
        side = Side({"a": 5}, row("G1", 1, Dot("a", 4))._replace(sums=(1,)))
        assert side.joiner.needs_text("alice", BOX, Known("G1", theirs, None)), "the one that is here is not the one"
        side.take(theirs, held)
        [(apart, text)] = side.effects.apart
        assert side.dots("G1") == mine and (apart.dots, apart.sums, text.name) == ((Dot("b", 3),), (2,), "drop")
        assert not [work for work in side.effects.works if isinstance(work, AddMessage)]
        side.take(theirs, held)
        assert len(side.effects.apart) == 1 and not side.joiner.needs_text("alice", BOX, Known("G1", theirs, None))


def test_what_the_other_expunged_goes_and_what_it_never_saw_stays() -> None:
    side = Side({"a": 5, "b": 2}, row("G1", 1, Dot("a", 4)), row("G2", 2, Dot("b", 2)))
    assert not side.take("G1", {"a": 8, "b": 1}) and not side.take("G2", {"a": 8, "b": 1})
    assert side.dots("G1") is None and side.dots("G2") == (Dot("b", 2),)
    assert side.effects.works == [RemoveMessage("alice", BOX, "G1")]
    gone = side.rows.gone(BOX, "G1")
    assert gone is not None and (gone.uid, gone.dots) == (1, (Dot("a", 4),))


def test_clients_are_told_of_what_changed_below_what_they_saw() -> None:
    side = Side({"a": 5}, row("G1", 1, Dot("a", 4), modseq=3), row("G3", 3, Dot("a", 5), modseq=3))
    assert side.take("G1", {"a": 8}), "gone, with a modseq of 3 where clients saw 9"
    assert side.take(row("G2", 20, Dot("a", 6), modseq=9), {"a": 8})
    same = row("G3", 3, Dot("a", 5), modseq=8)
    assert not side.take(same, {"a": 8}), "nothing to see"
    assert side.take(same._replace(flags=FLAGGED), {"a": 8})
    assert not side.take(same._replace(flags=FLAGGED), {"a": 8}), "and nothing twice"
    assert [work for work in side.effects.works if isinstance(work, SetFlags)] == [
        SetFlags("alice", BOX, "G3", ("\\Seen",), ())
    ]


def test_of_saves_each_is_looked_at_by_itself() -> None:
    both, ours, theirs = Dot("a", 1), Dot("b", 7), Dot("c", 7)
    expunged_here, expunged_there = Dot("c", 1), Dot("b", 1)
    side = Side({"a": 5, "b": 7, "c": 5}, row("G1", 1, both, expunged_there, ours))
    side.take(row("G1", 1, both, expunged_here, theirs), {"a": 5, "b": 5, "c": 7})
    assert side.dots("G1") == (both, ours, theirs)


def test_the_uid_under_the_higher_token_stands_and_one_without_keeps_ours() -> None:
    for uid, token, stands in (
        (30, Token(2, 0), 30),
        (30, Token(0, 5), 2),
        (UNPLACED, Token(2, 0), 2),
        (10, Token(2, 0), UNPLACED),
    ):
        side = Side({"a": 5}, row("G1", 2, Dot("a", 1)))
        side.take(row("G1", uid, Dot("a", 1), token=token), {"a": 5})
        found = side.rows.message(BOX, "G1")
        assert found is not None and found.uid == stands
        assert [work.uid for work in side.effects.works if isinstance(work, MoveMessage)] == ([stands] * (stands != 2))


def test_one_that_was_expunged_and_came_again_is_another_one() -> None:
    old, new = Dot("b", 3), Dot("a", 28)
    side = Side({"a": 5, "b": 3}, row("G1", 3, old, token=Token(1, 1)))
    side.take(row("G1", 22, new, token=Token(1, -1)), {"a": 30, "b": 3})
    found = side.rows.message(BOX, "G1")
    assert found is not None and (found.uid, found.dots) == (22, (new,))
    side = Side({"a": 30, "b": 3}, row("G1", 22, new, token=Token(1, -1)))
    side.take(row("G1", 25, old, token=Token(1, 1)), {"a": 5, "b": 3})
    found = side.rows.message(BOX, "G1")
    assert found is not None and (found.uid, found.dots) == (22, (new,)), "and has nothing to do with the old UID"


def test_tombstones_are_joined_and_an_op_that_comes_later_brings_nothing_back() -> None:
    side = Side({"a": 5})
    gone = GoneRow(BOX, 25, "G1", (Dot("a", 6),), 30, FLAGGED)
    side.take("G1", {"a": 5}, gone)
    side.take("G1", {"a": 5}, gone._replace(dots=(Dot("a", 4), Dot("b", 1)), modseq=4, flags=()))
    assert side.rows.gone(BOX, "G1") == gone._replace(dots=(Dot("a", 6), Dot("b", 1)))
    side.take(row("G1", 25, Dot("a", 6)), {"a": 6})
    assert side.dots("G1") is None and side.effects.works == []


def test_a_mailbox_is_made_empty_and_ends_as_the_others() -> None:
    side = Side({})
    made = MADE._replace(guid="2" * 32, name="Work", subscribed=True, subscribed_stamp=Stamp(4, "b"), uidnext=77)
    state = state_of(made)
    assert side.joiner.box(state, side.effects)
    assert MakeBox("alice", made.guid, "Work", 5, 1) in side.effects.works
    side.joiner.end_box(state)
    assert side.rows.box(made.guid) == made
    assert not side.joiner.box(state.replaced(user="bob"), side.effects), "it is another user's"
    assert state_of(MADE).subscribed is None


def test_names_and_subscriptions_by_stamp_and_a_deletion_stands() -> None:
    side = Side({"a": 5}, row("G1", 1, Dot("a", 4)))
    newer = Stamp(2, "b")
    theirs = MADE._replace(name="Old", name_stamp=newer, created_stamp=newer, subscribed=True, subscribed_stamp=newer)
    side.joiner.box(state_of(theirs._replace(highest=4, uidnext=3)), side.effects)
    side.joiner.end_box(state_of(theirs._replace(highest=4, uidnext=3)))
    assert side.rows.box(BOX) == MADE._replace(subscribed=True, subscribed_stamp=newer), "nothing falls"
    side.joiner.box(state_of(theirs._replace(name="New", name_stamp=Stamp(3, "b"), deleted=True)), side.effects)
    assert RenameBox("alice", BOX, "New") in side.effects.works
    assert RemoveBox("alice", BOX) not in side.effects.works, "it has a message that may be new to the other"
    found = side.rows.box(BOX)
    assert found is not None and found.created_stamp == Stamp(1, "a")
    side.joiner.box(state_of(theirs._replace(created_stamp=Stamp(0, "b"))), side.effects)
    found = side.rows.box(BOX)
    assert found is not None and found.created_stamp == Stamp(0, "b"), "the older one stands"
    side.take("G1", {"a": 5})
    assert side.effects.works[-2:] == [RemoveMessage("alice", BOX, "G1"), RemoveBox("alice", BOX)]


def test_what_came_by_state_to_the_other_and_was_expunged_there_goes() -> None:
    side = Side({"b": 60}, row("G1", 1, Dot("b", 59)), row("G2", 2, Dot("b", 60)))
    gone = GoneRow(BOX, 1, "G1", (Dot("b", 59),), 30)
    side.take("G1", {"b": 39}, gone)
    side.take("G2", {"b": 39}, gone._replace(guid="G2"))
    assert side.dots("G1") is None and side.dots("G2") == (Dot("b", 60),), "it came again"


def test_a_twin_that_is_left_when_the_other_expunged_its_own_has_no_uid_of_that_one() -> None:
    side = Side({"a": 5, "b": 4}, row("G1", 3, Dot("a", 4), Dot("b", 3), token=Token(2, 0)))
    gone = GoneRow(BOX, 3, "G1", (Dot("a", 4),), 9)
    side.take(row("G1", 15, Dot("b", 3), token=Token(2, -1)), {"a": 8, "b": 4}, gone)
    found = side.rows.message(BOX, "G1")
    assert found is not None and (found.uid, found.dots) == (UNPLACED, (Dot("b", 3),))
    assert side.effects.unplaced == {BOX}, "it gets one by an op, which all hear of"
