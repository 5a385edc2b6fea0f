"""What ops change: the same in any order that respects what their origins knew. Requirements M3, L4."""

from __future__ import annotations

from itertools import permutations

from pyrepl.mailbox.merging import Effects, Merger, Text
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow
from pyrepl.mailbox.store import AddMessage, MakeBox, MoveMessage, RemoveBox, RemoveMessage, RenameBox, Stored
from pyrepl.mailbox.verbs import Copy, Create, Delete, Expunge, Modseqs, Op, Rename, Renumber, Save, Store
from pyrepl.mailbox.words import Box, Dot, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

GUID = "1" * 32
FIRST = Token(1, 0)
BOX = Box(GUID, True)
CREATE = Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=5, stamp=Stamp(1, "a"), at=Dot("a", 1), modseq=1)


def save(guid: str, uid: int, at: Dot, token: Token = FIRST, modseq: int = 1) -> Save:
    return Save(user="alice", box=BOX, uid=uid, guid=guid, size=4, received=7, token=token, at=at, modseq=modseq)


def merge(*ops: Op) -> tuple[MemoryRows, Effects]:
    rows, effects = MemoryRows(), Effects()
    merger = Merger(rows, "x")
    for op in (CREATE, *ops):
        merger.apply(op, {"G1": Text("drop"), "G2": Text("drop")}, effects)
    return rows, effects


def state(rows: MemoryRows) -> object:
    return (rows.box(GUID), list(rows.messages(GUID)))


def test_changes_that_did_not_know_of_each_other_commute_but_for_modseqs() -> None:
    first = save("G1", 1, Dot("a", 2))
    store_b = Store(user="alice", box=BOX, guids=("G1",), add=("\\Seen",), at=Dot("b", 1), modseq=2)
    store_c = Store(user="alice", box=BOX, guids=("G1",), remove=("\\Seen",), add=("work",), at=Dot("c", 1), modseq=2)
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("d", 1), modseq=2)
    for ops in ((store_b, store_c), (store_b, store_c, expunge)):
        flags = set()
        for order in permutations(ops):
            rows, _ = merge(first, *order)
            row = rows.message(GUID, "G1")
            flags.add(None if row is None else row.flags)
        assert len(flags) == 1


def test_an_expunge_is_of_the_saves_that_its_origin_knew() -> None:
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    again = save("G1", 5, Dot("c", 1))
    one, _ = merge(save("G1", 1, Dot("a", 2)), expunge, again)
    other, _ = merge(save("G1", 1, Dot("a", 2)), again, expunge)
    assert [row.dots for row in one.messages(GUID)] == [row.dots for row in other.messages(GUID)] == [(Dot("c", 1),)]


def test_a_message_that_comes_again_has_the_flags_of_changes_that_did_not_know_it_was_gone() -> None:
    first = save("G1", 1, Dot("a", 2))
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    store = Store(user="alice", box=BOX, guids=("G1",), add=("work",), at=Dot("c", 1), modseq=2)
    again = save("G1", 5, Dot("d", 1))
    for order in ((expunge, store, again), (store, expunge, again), (again, expunge, store)):
        rows, _ = merge(first, *order)
        [row] = rows.messages(GUID)
        assert row.set_flags() == ("work",)


def test_a_copy_of_which_a_message_came_by_state_numbers_only_the_others_anew() -> None:
    """MODSEQ tells the others of these alone."""
    rows, effects = merge(save("G1", 1, Dot("a", 2)), save("G2", 2, Dot("a", 3), modseq=9))
    came = rows.message(GUID, "G1")
    assert came is not None
    rows.put_message(came._replace(dots=(Dot("a", 2), Dot("b", 1))))
    copy = Copy(user="alice", box=BOX, to=BOX, guids=("G1", "G2"), touids=((1, 2),), at=Dot("b", 1), modseq=3)
    Merger(rows, "x").apply(copy, {}, effects)
    assert [(row.guid, row.modseq) for row in rows.messages(GUID)] == [("G1", 3), ("G2", 10)]
    assert effects.crossed[-1].guids == ("G2",)


def test_a_uid_below_what_clients_have_seen_is_not_given() -> None:
    rows, effects = merge(save("G1", 9, Dot("a", 2)), save("G2", 4, Dot("b", 1)))
    row = rows.message(GUID, "G2")
    assert row is not None and row.uid == UNPLACED and effects.unplaced == {GUID} and effects.burned == []
    assert [work.uid for work in effects.works if isinstance(work, AddMessage)] == [9, 0]


def test_l1_a_message_that_two_nodes_saved_is_one_and_no_uid_of_either_is_given_again() -> None:
    first, twin = save("G1", 9, Dot("a", 2)), save("G1", 100, Dot("b", 1), Token(0, 9))
    for order in ((first, twin), (twin, first)):
        rows, effects = merge(*order)
        [row] = rows.messages(GUID)
        assert (row.dots, row.token) == ((Dot("a", 2), Dot("b", 1)), FIRST)
        assert sum(isinstance(work, AddMessage) for work in effects.works) == 1
        box = rows.box(GUID)
        assert box is not None and box.uidnext == 101


def test_of_two_mails_of_one_guid_the_one_that_comes_second_needs_another() -> None:
    first, other = save("G1", 9, Dot("a", 2)).replaced(sum=(1,)), save("G1", 10, Dot("b", 1)).replaced(sum=(2,))
    rows, effects = merge(first, other.replaced(flags=("kw",)))
    [row], gone, box = rows.messages(GUID), rows.gone(GUID, "G1"), rows.box(GUID)
    assert (row.dots, row.uid, row.sums) == ((Dot("a", 2),), 9, (1,)) and row.set_flags() == ("kw",)
    assert gone is not None and gone.dots == (Dot("b", 1),) and box is not None and box.uidnext == 11
    [(apart, text)] = effects.apart
    assert (apart.guid, apart.dots, apart.sums, text.name) == ("G1", (Dot("b", 1),), (2,), "drop")
    assert "drop" in effects.taken()
    for same in ((1,), ()):
        assert merge(first, other.replaced(sum=same))[1].apart == []


def test_another_mail_does_not_come_under_a_guid_whose_text_the_store_still_has() -> None:
    """In the round in which that message was expunged."""
    merger, effects = Merger(MemoryRows(), "x"), Effects()
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    other = save("G1", 2, Dot("c", 1)).replaced(sum=(2,))
    for op in (CREATE, save("G1", 1, Dot("a", 2)).replaced(sum=(1,)), expunge, other):
        merger.apply(op, {"G1": Text("drop")}, effects)
    assert [row.dots for row, _ in effects.apart] == [(Dot("c", 1),)] and list(merger.rows.messages(GUID)) == []
    merger.going.clear()
    merger.apply(other.replaced(at=Dot("c", 2), uid=3), {"G1": Text("drop")}, effects)
    assert [row.uid for row in merger.rows.messages(GUID)] == [3]


def test_a_message_that_comes_again_below_where_clients_saw_it_is_told_to_go_there() -> None:
    merger, effects = Merger(MemoryRows(), "x"), Effects()
    merger.kept[GUID], merger.floors[GUID] = {"G1": Stored(4, (), Dot("a", 2))}, 5
    for op in (CREATE, save("G1", 3, Dot("a", 2))):
        merger.apply(op, {"G1": Text("drop")}, effects)
    assert [(row.guid, row.uid, uid) for row, uid in effects.behind] == [("G1", 3, 4)]


def test_a_twin_that_is_left_gets_a_uid_on_which_all_agree() -> None:
    first, twin = save("G1", 9, Dot("a", 2), Token(2, 0)), save("G1", 100, Dot("c", 1))
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    rows, effects = merge(twin, first, expunge)
    [row] = rows.messages(GUID)
    assert (row.uid, row.dots, effects.unplaced) == (UNPLACED, (Dot("c", 1),), {GUID})
    assert row.modseq >= 2, "what was told of it"
    [*_, moved] = effects.works
    assert isinstance(moved, MoveMessage) and moved.uid == UNPLACED
    move = Renumber(user="alice", box=BOX, to=((200, 200),), guids=("G1",), token=Token(3, 0), at=Dot("b", 2), modseq=3)
    found = [merge(*order, move)[0].message(GUID, "G1") for order in ((twin, first, expunge), (first, expunge, twin))]
    assert [(row.uid, row.dots) for row in found if row is not None] == [(200, (Dot("c", 1),))] * 2


def test_a_uid_with_two_meanings_is_burned() -> None:
    _, effects = merge(save("G1", 9, Dot("a", 2)), save("G2", 9, Dot("b", 1)))
    assert effects.burned == [(GUID, 9)]


def test_of_two_uids_the_one_under_the_higher_token_stands() -> None:
    move = Renumber(user="alice", box=BOX, to=((20, 20),), guids=("G1",), token=Token(2, 0), at=Dot("b", 1), modseq=2)
    late = Renumber(user="alice", box=BOX, to=((30, 30),), guids=("G1",), token=Token(1, 9), at=Dot("c", 1), modseq=2)
    rows, effects = merge(save("G1", 1, Dot("a", 2)), move, late)
    row, box = rows.message(GUID, "G1"), rows.box(GUID)
    assert row is not None and (row.uid, row.token) == (20, Token(2, 0))
    assert box is not None and box.uidnext == 31, "what was given out is passed over all the same"
    assert [work.uid for work in effects.works if isinstance(work, MoveMessage)] == [20]


def test_m3_modseqs_of_expunged_messages_are_kept_and_raised() -> None:
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    raised = Modseqs(user="alice", box=BOX, guids=("G1",), at=Dot("c", 1), modseq=9)
    rows, _ = merge(save("G1", 1, Dot("a", 2)), expunge, raised)
    gone, box = rows.gone(GUID, "G1"), rows.box(GUID)
    assert gone is not None and gone.modseq == 9 and box is not None and box.highest == 9


def test_m3_of_a_message_that_goes_a_second_time_the_higher_modseq_is_kept() -> None:
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=9)
    rows, _ = merge(save("G1", 1, Dot("a", 2)), expunge)
    again, effects = MessageRow(GUID, "G1", 7, FIRST, (Dot("c", 1),), 4, 7, modseq=5), Effects()
    rows.put_message(again)
    Merger(rows, "x").kill("alice", again, again.dots, 6, effects)
    gone = rows.gone(GUID, "G1")
    assert gone is not None and (gone.uid, gone.modseq, gone.dots) == (7, 9, (Dot("a", 2), Dot("c", 1)))


def test_m2_a_change_that_came_late_is_told_with_a_higher_modseq() -> None:
    store = Store(user="alice", box=BOX, guids=("G1",), add=("\\Seen",), at=Dot("b", 1), modseq=1)
    _, effects = merge(save("G1", 1, Dot("a", 2), modseq=5), store)
    [crossed] = effects.crossed
    assert (crossed.guids, crossed.modseq) == (("G1",), 6)


def test_l4_a_copy_whose_text_nobody_has_any_more_was_expunged() -> None:
    rows, effects = MemoryRows(), Effects()
    merger = Merger(rows, "x")
    merger.apply(CREATE, {}, effects)
    copy = Copy(user="alice", box=BOX, to=BOX, touids=((9, 9),), guids=("G1",), at=Dot("c", 1), modseq=1)
    merger.apply(copy, {"G1": None}, effects)
    box = rows.box(GUID)
    assert rows.message(GUID, "G1") is None and rows.gone(GUID, "G1") is not None
    assert box is not None and box.uidnext == 10


def test_delete_is_of_what_its_origin_knew_and_beats_a_rename() -> None:
    delete = Delete(user="alice", box=BOX, known=(Dot("a", 2),), stamp=Stamp(3, "b"), at=Dot("b", 1), modseq=1)
    rename = Rename(user="alice", box=BOX, to=Box("New"), stamp=Stamp(4, "c"), at=Dot("c", 1), modseq=1)
    for order in permutations((delete, rename)):
        rows, _ = merge(save("G1", 1, Dot("a", 2)), *order)
        box = rows.box(GUID)
        assert box is not None and box.deleted and box.name == "New" and list(rows.messages(GUID)) == []
    alive, _ = merge(save("G1", 1, Dot("a", 2)), delete, save("G2", 2, Dot("c", 1)))
    assert [row.guid for row in alive.messages(GUID)] == ["G2"]


def test_clients_of_a_mailbox_that_lives_on_are_told_of_what_a_delete_expunged() -> None:
    delete = Delete(user="alice", box=BOX, known=(Dot("a", 2),), stamp=Stamp(3, "b"), at=Dot("b", 1), modseq=4)
    rows, effects = merge(save("G1", 1, Dot("a", 2), modseq=7), delete, save("G2", 2, Dot("c", 1), modseq=9))
    assert [gone.guid for gone in rows.gone_since(GUID, 7)] == ["G1"]
    assert [(crossed.guids, crossed.modseq) for crossed in effects.crossed] == [(("G1",), 8)]


def test_what_went_is_told_to_clients_that_saw_the_message_elsewhere() -> None:
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("a", 3), modseq=9)
    delete = Delete(user="alice", box=BOX, known=(Dot("a", 2),), stamp=Stamp(3, "a"), at=Dot("a", 3), modseq=9)
    for last in (expunge, delete):
        rows, effects = MemoryRows(), Effects()
        merger = Merger(rows, "x")
        for op in (CREATE, save("G1", 1, Dot("a", 2)), last):
            merger.apply(op, {"G1": None}, effects)
        assert [gone.guid for gone in rows.gone_since(GUID, 8)] == ["G1"]


def test_a_text_that_nobody_has_any_more_leaves_what_is_known_of_the_message_that_went() -> None:
    rows, effects = merge(save("G1", 1, Dot("a", 2)))
    merger = Merger(rows, "x")
    store = Store(user="alice", box=BOX, guids=("G1",), add=("\\Seen",), at=Dot("c", 1), modseq=8)
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("c", 2), modseq=9)
    for op in (store, expunge):
        merger.apply(op, {}, effects)
    merger.apply(save("G1", 5, Dot("b", 1)), {"G1": None}, effects)
    gone = rows.gone(GUID, "G1")
    assert gone is not None and (gone.uid, gone.dots) == (1, (Dot("a", 2), Dot("b", 1)))
    assert gone.modseq == 10 and "\\Seen" in {register.flag for register in gone.flags}


def test_p1_a_record_gives_messages_a_modseq_and_without_messages_raises_the_highest() -> None:
    of_messages = Modseqs(user="alice", box=BOX, guids=("G1",), at=Dot("c", 1), modseq=9)
    of_the_mailbox = Modseqs(user="alice", box=BOX, at=Dot("c", 2), modseq=20)
    rows, _ = merge(save("G1", 1, Dot("a", 2)), of_messages, of_the_mailbox)
    row, box = rows.message(GUID, "G1"), rows.box(GUID)
    assert row is not None and box is not None and (row.modseq, box.highest) == (9, 20)


def test_what_clients_flagged_after_a_crash_is_theirs_if_no_work_did_it() -> None:
    merger, effects = Merger(MemoryRows(), "x"), Effects()
    flags = ("\\Seen", "kw")
    ops = [save(f"G{uid}", uid, Dot("b", uid)).replaced(flags=flags) for uid in (1, 2, 3)]
    merger.kept[GUID] = {"G1": Stored(1, ("kw",)), "G2": Stored(2, ("kw",), is_unsure=True)}
    for op in (CREATE, *ops):
        merger.apply(op, {op.guid: Text("drop")} if isinstance(op, Save) else {}, effects)
    works = [work for work in effects.works if isinstance(work, AddMessage)]
    assert [(work.guid, work.before) for work in works] == [("G1", flags), ("G2", None), ("G3", None)]
    by_state = merger.rows.message(GUID, "G3")
    assert by_state is not None
    merger.kept[GUID] = {"G4": Stored(4, ("kw",))}
    merger.arrive("alice", by_state._replace(guid="G4", uid=4, dots=(Dot("b", 4),)), Text("drop"), effects)
    [last] = [work for work in effects.works if isinstance(work, AddMessage) and work.guid == "G4"]
    assert last.before is None, "others may have changed its flags since it came"


def test_nothing_comes_below_what_clients_saw_before_a_crash() -> None:
    rows, effects = MemoryRows(), Effects()
    merger = Merger(rows, "x")
    merger.kept[GUID], merger.floors[GUID] = {"G1": Stored(9, ()), "G3": Stored(12, ())}, 13
    for op in (CREATE, save("G2", 4, Dot("b", 1)), save("G1", 9, Dot("a", 2))):
        merger.apply(op, {"G1": Text("drop"), "G2": Text("drop")}, effects)
    assert [(row.guid, row.uid) for row in rows.messages(GUID)] == [("G2", UNPLACED), ("G1", 9)]
    box = rows.box(GUID)
    assert box is not None and box.uidnext == 10 and merger.least_uid(box) == 13


def test_a_uid_that_a_message_had_before_a_crash_and_lost_again_is_not_given_out_once_more() -> None:
    """The ops come again that moved it, and expunged the twin for which it has its UID no longer."""
    merger, effects = Merger(MemoryRows(), "x"), Effects()
    for op in (CREATE, save("G1", 1, Dot("b", 1), Token(1, 0))):
        merger.apply(op, {"G1": Text("drop")}, Effects())
    merger.kept[GUID], merger.floors[GUID] = {"G2": Stored(5, (), Dot("a", 2))}, 7
    again = save("G1", 6, Dot("a", 3), Token(2, 0))
    for op in (save("G2", 5, Dot("a", 2)), again):
        merger.apply(op, {"G2": Text("drop")}, effects)
    assert [(row.guid, row.uid) for row in merger.rows.messages(GUID)] == [("G1", UNPLACED), ("G2", 5)]
    assert effects.unplaced == {GUID} and MoveMessage("alice", GUID, "G1", UNPLACED, ()) in effects.works


def test_a_message_that_an_op_moved_on_before_a_crash_stays_where_clients_have_seen_it() -> None:
    again = save("G1", 4, Dot("c", 1), Token(1, 1))
    expunge = Expunge(user="alice", box=BOX, guids=("G1",), kills=(Dot("a", 2),), at=Dot("b", 1), modseq=2)
    for ops, uids in (((again,), [4]), ((expunge,), [])):
        rows, effects = MemoryRows(), Effects()
        merger = Merger(rows, "x")
        merger.kept[GUID], merger.floors[GUID] = {"G1": Stored(4, (), Dot("a", 2))}, 5
        for first in (CREATE, save("G1", 3, Dot("a", 2))):
            merger.apply(first, {"G1": Text("drop")}, effects)
        [added] = [work for work in effects.works if isinstance(work, AddMessage)]
        box = rows.box(GUID)
        assert box is not None and (added.uid, merger.least_uid(box)) == (4, 5)
        for op in ops:
            merger.apply(op, {}, effects)
        box = rows.box(GUID)
        assert box is not None and [row.uid for row in rows.messages(GUID)] == uids
        assert merger.least_uid(box) == box.uidnext == 5 and not merger.kept


def test_a_deleted_mailbox_that_a_crash_left_goes_with_its_last_message_that_was_expunged_before_it_came() -> None:
    """The crash came when it had been made again for them, and before its rows were on disk."""
    merger, works = Merger(MemoryRows(), "x"), []
    for op in (CREATE, Delete(user="alice", box=BOX, stamp=Stamp(2, "a"), known=(), at=Dot("a", 2), modseq=2)):
        merger.apply(op, {}, Effects())
    merger.kept[GUID] = {"G1": Stored(1, ()), "G2": Stored(2, ())}
    for uid in (1, 2):
        effects = Effects()
        merger.apply(save(f"G{uid}", uid, Dot("b", uid)), {f"G{uid}": None}, effects)
        works.append(effects.works)
    removed = [RemoveMessage("alice", GUID, f"G{uid}") for uid in (1, 2)]
    assert works == [removed[:1], [removed[1], RemoveBox("alice", GUID)]]


def test_a_message_that_was_saved_again_and_again_before_a_crash_does_not_go_back() -> None:
    merger, effects = Merger(MemoryRows(), "x"), Effects()
    merger.kept[GUID] = {"G1": Stored(3, (), Dot("a", 4))}
    for op in (CREATE, *(save("G1", uid, Dot("a", uid + 1), Token(1, 1)) for uid in (1, 2, 3))):
        merger.apply(op, {"G1": Text("drop")}, effects)
    assert {work.uid for work in effects.works if isinstance(work, AddMessage | MoveMessage)} == {3}
    row = merger.rows.message(GUID, "G1")
    assert row is not None and row.uid == 3 and not merger.kept


def test_of_two_that_found_one_mailbox_the_older_create_stands_and_the_newest_rename() -> None:
    """As after a crash, or where a Maildir was copied: each node's CREATE has a stamp of its own."""
    again = CREATE.replaced(box=Box("Work"), uidvalidity=9, stamp=Stamp(4, "b"), at=Dot("b", 1))
    rename = Rename(user="alice", box=BOX, to=Box("Old"), stamp=Stamp(3, "a"), at=Dot("a", 2), modseq=2)
    newer = Rename(user="alice", box=BOX, to=Box("New"), stamp=Stamp(5, "b"), at=Dot("b", 2), modseq=2)
    for ops, name, stamp in (
        ((CREATE, again), "INBOX", Stamp(1, "a")),
        ((CREATE, again, rename), "Old", Stamp(3, "a")),
        ((CREATE, again, rename, newer), "New", Stamp(5, "b")),
    ):
        boxes, shown = set(), set()
        for order in permutations(ops):
            after = [(known, op) for known, op in ((CREATE, rename), (again, newer)) if op in ops]
            if any(order.index(known) > order.index(op) for known, op in after):
                continue
            rows, effects = MemoryRows(), Effects()
            for op in order:
                Merger(rows, "x").apply(op, {}, effects)
            boxes.add(rows.box(GUID))
            named = [work for work in effects.works if isinstance(work, MakeBox | RenameBox)]
            shown.add((named[-1].name, [work.uidvalidity for work in named if isinstance(work, MakeBox)][-1]))
        assert boxes == {BoxRow(GUID, "alice", name, stamp, 5, created_stamp=Stamp(1, "a"))}, "the older, UIDs and all"
        assert shown == {(name, 5)}, "the store shows the same"
