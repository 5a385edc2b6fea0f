"""What is found beside an open gate: how much of it is told, and when it is looked at again."""

from __future__ import annotations

from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.gate_states import GateResult, GateState, GateWork, Seen
from pyrepl.mailbox.gates import IDLE_S, RETRY_S
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.words import APART
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, TEXT, Rig, mail


def test_a_mailbox_is_told_whole_until_the_rows_have_all_of_it() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2, 3, 4, 5)

    def looks() -> list[bool]:
        rig.see(RELEASED)
        return [order.is_whole for order in rig.orders]

    assert looks() == [False], "it was whole when the gate was shut"
    rig.found = FoundBox((), is_whole=False, gone=frozenset({"G1", "G2", "G3", "G4"}))
    rig.gates.seen(GUID, RELEASED, rig.now)
    [part] = rig.round()
    rig.found = mail(5)
    [whole] = rig.round()
    assert (part.is_whole, whole.is_whole, whole.since) == (False, True, 6), "more than may be missing at once are gone"
    assert rig.notices[-1].name == "expunge_guard" and looks() == [True], "as long as they are missing"
    rig.found = mail(1, 2, 3, 4, 5)
    assert looks() == [True] and looks() == [False]
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.round(GateResult(why="no disk"))
    rig.now += RETRY_S
    assert [order.is_whole for order in rig.round()] == [True], "what was told may have been lost"


def test_without_lock_files_it_is_looked_at_when_something_changed_and_never_opened() -> None:
    rig = Rig(has_lock_files=False)
    rig.orders.clear()
    rig.found = FoundBox((Found(1, "G1", frozenset({"kw"}), TEXT),), keywords=None)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.settle()
    assert [(order.work, order.may_list) for order in rig.orders] == [(GateWork.SHUT, False)]
    assert rig.gates.state(GUID) is GateState.SHUT
    row = rig.node.core.rows.message(GUID, "G1")
    assert row is not None and row.uid == 1 and row.token.term == APART and row.set_flags() == ("kw",)
    rig.run(IDLE_S)
    assert len(rig.orders) == 1, "nobody waits for anything"
    rig.round(GateResult(is_busy=True))
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.found = FoundBox((Found(1, "G1", frozenset(), TEXT),), keywords=None)
    rig.settle()
    row = rig.node.core.rows.message(GUID, "G1")
    assert row is not None and row.set_flags() == () and len(rig.orders) == 2


def test_what_is_told_while_a_slow_store_is_looked_at_is_looked_at_again() -> None:
    rig = Rig(has_lock_files=False)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.node.tick(rig.now)
    [order] = rig.gates.orders((), rig.now)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.gates.done(order, GateResult(FoundBox(())), rig.now)
    assert not rig.gates.has_looked(GUID, rig.gates.news)
    rig.orders.clear()
    rig.found = mail(1)
    rig.settle()
    assert len(rig.orders) == 1 and rig.messages() == {1: "G1"} and rig.gates.has_looked(GUID, rig.gates.news)


def test_messages_of_which_nothing_was_told_are_looked_at_later() -> None:
    rig = Rig(has_lock_files=False)
    rig.found = FoundBox((Found(1, "G1", frozenset(), TEXT),), untold=frozenset({"G2"}))
    rig.see(Seen(brought=True))
    assert len(rig.orders) == 1 and rig.messages() == {1: "G1"} and rig.gates.unlooked(0)
    rig.found = mail(1, 2)
    rig.run(RETRY_S + 0.3)
    assert len(rig.orders) == 2 and rig.messages() == {1: "G1", 2: "G2"} and not rig.gates.unlooked(0)


def test_very_many_new_messages_are_taken_some_at_a_time() -> None:
    rig = Rig(has_lock_files=False)
    some = [Found(uid, f"G{uid}", frozenset(), TEXT if uid < 3 else None) for uid in (1, 2, 3, 4)]
    rig.found = FoundBox(tuple(some))
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.round()
    rig.round()
    assert rig.messages() == {1: "G1", 2: "G2"} and rig.state() is GateState.SHUTTING
    rig.orders.clear()
    rig.found = mail(1, 2, 3, 4)
    rig.settle()
    assert [(order.since, order.wanted) for order in rig.orders] == [(3, frozenset({"G3", "G4"}))]
    assert rig.messages() == {uid: f"G{uid}" for uid in (1, 2, 3, 4)}


def test_a_look_that_fails_where_there_is_no_gate_is_called_so() -> None:
    rig = Rig(has_lock_files=False)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.round()
    rig.round(GateResult(why="no doveadm"))
    assert rig.notices == [Notice("look_failed", "alice INBOX: no doveadm")]
