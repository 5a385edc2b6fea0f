"""Gates: who waits at one gets the mastership, and what Dovecot did goes out before the mastership does."""

from __future__ import annotations

from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.gate_states import HELD_S, Blind, GateResult, GateState, GateWork, Seen
from pyrepl.mailbox.gates import BUSY_S, CLIENT, ENTER_S, IDLE_S, MOST_WHOLE, RETRY_S
from pyrepl.mailbox.peers import Missing
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import AddMessage, Ended, MakeBox, MoveMessage, Outcome, RemoveBox, Result, Stored
from pyrepl.mailbox.uids import NO_UID
from pyrepl.mailbox.verbs import Check, Create, Delete, Expunge, Renumber, Save, Store
from pyrepl.mailbox.words import APART, Box, Dot
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, TEXT, Rig, done, mail


def test_a_new_mailbox_is_shut_at_once() -> None:
    rig = Rig()
    assert [order.work for order in rig.orders] == [GateWork.SHUT] and rig.state() is GateState.SHUT


def test_mailboxes_of_before_are_shut_at_the_start() -> None:
    rig = Rig()
    rig.restart()
    assert [order.work for order in rig.round()] == [GateWork.SHUT]


def test_what_dovecot_did_before_the_start_goes_out_before_masterships_do() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2)
    rig.restart()
    assert not rig.node.mastering.may_clear(), "who is the root does not hear yet that nothing is held here"
    assert rig.node.saving.lock_of(CLIENT, GUID) is not None, "nor does anybody get the mailbox"
    rig.orders.clear()
    rig.settle()
    assert {(order.work, order.may_list) for order in rig.orders} == {(GateWork.SHUT, False)}, "others give out UIDs"
    assert rig.messages() == {1: "G1", 2: "G2"} and rig.node.mastering.may_clear()
    assert rig.node.saving.lock_of(CLIENT, GUID) is None and rig.state() is GateState.SHUT


def test_a_mailbox_that_went_holds_nothing_back() -> None:
    rig = Rig()
    rig.restart()
    rig.gates.worked(done([RemoveBox("alice", GUID)]), rig.now)
    assert rig.node.mastering.may_clear()


def test_that_folders_are_not_watched_is_told_once_each_time() -> None:
    rig = Rig()
    rig.node.core.notices()
    for blind in (Blind(), Blind("ab"), Blind("ab", "c"), Blind(), Blind("", "c")):
        rig.gates.unwatched(blind)
    assert [str(each.about) for each in rig.node.core.notices()] == ["2 folders or more", "1 folders or more"]


def test_who_waits_at_a_gate_gets_it_opened() -> None:
    rig = Rig()
    assert rig.see(READS) == [GateWork.OPEN] and rig.state() is GateState.OPEN
    assert rig.orders[0].uidnext == 1
    assert rig.see(READS) == [], "it is open"


def test_what_dovecot_saved_goes_out_under_the_mastership() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2)
    assert rig.see(RELEASED) == [GateWork.GLANCE] and rig.messages() == {1: "G1", 2: "G2"}
    tokens = [op.token for op in rig.ops() if isinstance(op, Save)]
    assert len(tokens) == 2 and all(token is not None and token.term != APART for token in tokens)
    assert rig.orders[0].may_list and rig.state() is GateState.OPEN


def test_what_a_dovecot_has_done_is_looked_at_at_once_and_who_waits_is_let_in_when_the_lock_is_on_disk() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    assert rig.round() == [] and rig.state() is GateState.OPENING
    rig.settle()
    rig.gates.seen(GUID, RELEASED, rig.now)
    assert [order.work for order in rig.gates.orders((), rig.now)] == [GateWork.GLANCE]


def test_what_a_glance_cannot_tell_is_looked_at_under_the_lock() -> None:
    rig = Rig()
    rig.see(READS)
    rig.gates.seen(GUID, RELEASED, rig.now)
    [glance] = rig.round(GateResult(mail(1)._replace(is_whole=False, unsure=True)))
    assert glance.work is GateWork.GLANCE and rig.messages() == {1: "G1"}, "what it told is so"
    assert rig.round() == [] and rig.gates.unlooked(0)
    rig.now += BUSY_S
    rig.round()
    [look] = rig.round(GateResult(is_busy=True))
    assert look.work is GateWork.LOOK
    rig.now += BUSY_S
    [glance] = rig.round(GateResult(mail(1)._replace(is_whole=False, unsure=True)))
    assert glance.work is GateWork.GLANCE, "who has the lock may have brought more meanwhile"
    rig.found = mail(1)
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.settle()
    assert rig.orders[-1].work is GateWork.LOOK and not rig.gates.unlooked(0)


def test_a_lock_that_is_held_for_long_is_looked_at_until_it_is_released_or_its_owner_is_dead() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1)._replace(is_whole=False, is_held=True)
    assert rig.see(Seen(holds=True)) == [GateWork.GLANCE]
    assert rig.gates.next_deadline(rig.now) == rig.now + HELD_S
    rig.now += HELD_S
    rig.round()
    [glance] = rig.round(GateResult(mail(1)._replace(is_whole=False, unsure=True)))
    rig.now += BUSY_S
    rig.round()
    [look] = rig.round(GateResult(mail(1)))
    assert (glance.work, look.work) == (GateWork.GLANCE, GateWork.LOOK)


def test_a_file_without_a_line_is_looked_at_again_soon() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = FoundBox((), unlisted=1, is_whole=False)
    assert rig.see(Seen(brought=True)) == [], "a Dovecot is at it, perhaps"
    rig.now += BUSY_S
    rig.settle()
    assert [order.work for order in rig.orders] == [GateWork.GLANCE] and rig.gates.unlooked(0)
    rig.found = mail(1)._replace(is_whole=False)
    rig.now += BUSY_S
    rig.settle()
    assert [order.work for order in rig.orders] == [GateWork.GLANCE] * 2 and rig.messages() == {1: "G1"}
    assert not rig.gates.unlooked(0)


def test_mail_that_a_dovecot_brings_is_looked_at_once_when_it_is_done() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1)._replace(is_whole=False)
    assert rig.see(Seen(brought=True)) == [] and rig.see(RELEASED) == [GateWork.GLANCE]
    rig.now += BUSY_S
    rig.orders.clear()
    rig.settle()
    assert rig.orders == [] and rig.messages() == {1: "G1"}


def test_flags_and_expunges_of_dovecot_become_ops() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2)
    rig.see(RELEASED)
    rig.found = FoundBox((Found(2, "G2", frozenset({"\\Seen"})),))
    rig.see(RELEASED)
    assert [type(op) for op in rig.ops()] == [Save, Save, Expunge, Store] and rig.messages() == {2: "G2"}


def test_what_dovecot_did_is_no_transaction_whose_size_has_no_bound() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(*range(1, 305))
    rig.see(RELEASED)
    rig.gates.allow(GUID, rig.now)
    rig.found = FoundBox((Found(1, "G1", frozenset({"\\Seen"})), Found(2, "G2", frozenset({"kw"}))))
    rig.see(RELEASED)
    made = [op for op in rig.node.core.rows.ops("a", 305, 100) if isinstance(op, Expunge | Store)]
    assert [(op.VERB, op.left) for op in made] == [("EXPUNGE", 0)] * 2 + [("STORE", 0)] * 2


def test_a_gate_that_nobody_uses_is_shut() -> None:
    rig = Rig()
    rig.see(READS)
    rig.run(IDLE_S - 1)
    assert rig.state() is GateState.OPEN
    rig.see(RELEASED)
    rig.run(IDLE_S - 1)
    assert rig.state() is GateState.OPEN
    rig.run(2)
    assert rig.state() is GateState.SHUT
    assert rig.see(READS) == [GateWork.OPEN]


def test_a_task_here_has_the_gate_shut_first_but_who_waited_may_come_in() -> None:
    rig = Rig()
    rig.see(READS)
    done: list[dict[int, str]] = []
    rig.node.saving.tasks.add(
        {GUID}, lambda tokens, now: done.append(rig.messages()), lambda reason, now: None, rig.now
    )
    rig.round()
    assert rig.state() is GateState.OPEN and done == []
    rig.now += ENTER_S
    rig.found = mail(1)
    rig.round()
    rig.settle()
    assert done == [{1: "G1"}] and rig.state() is GateState.SHUT


def test_when_who_waited_is_done_nobody_else_waits() -> None:
    rig = Rig()
    rig.see(READS)
    rig.node.saving.tasks.add({GUID}, lambda tokens, now: None, lambda reason, now: None, rig.now)
    rig.round()
    assert rig.state() is GateState.OPEN
    assert rig.see(RELEASED) == [GateWork.SHUT] and rig.state() is GateState.SHUT


def test_a_lock_file_that_dovecot_has_is_asked_for_again_soon() -> None:
    rig = Rig()
    rig.see(READS)
    rig.gates.seen(GUID, RELEASED, rig.now)
    [look] = rig.round(GateResult(is_busy=True))
    assert look.work is GateWork.GLANCE and rig.round() == []
    rig.now += BUSY_S
    assert [order.work for order in rig.round()] == [GateWork.GLANCE] and rig.state() is GateState.OPEN


def test_what_fails_is_noted_and_tried_again_later() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    rig.round(GateResult(why="no disk"))
    assert rig.notices[-1] == Notice("gate_failed", "alice INBOX: no disk") and rig.round() == []
    assert rig.gates.next_deadline(rig.now) == rig.now + RETRY_S
    rig.notices.clear()
    for result in (GateResult(why="no disk"), GateResult(is_busy=True), GateResult(why="no disk")):
        rig.now += RETRY_S
        rig.round(result)
    assert rig.notices == [], "it is told once"
    rig.now += RETRY_S
    rig.settle()
    assert rig.state() is GateState.OPEN


def test_files_that_lag_behind_the_rows_are_not_compared() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.node.tick(rig.now)
    assert rig.gates.orders({"alice"}, rig.now) == []
    rig.now += RETRY_S
    rig.settle()
    assert rig.state() is GateState.OPEN


def test_mail_without_a_uid_has_the_gate_opened_and_gets_one() -> None:
    rig = Rig()
    assert rig.see(Seen(brought=True)) == [GateWork.OPEN, GateWork.GLANCE]
    assert rig.orders[1].may_list


def test_mail_that_came_before_the_start_too() -> None:
    rig = Rig()
    rig.found = FoundBox((), unlisted=1)
    rig.restart()
    rig.round()
    rig.found = mail(1)
    rig.run(8.0)
    assert [order.work for order in rig.orders] == [GateWork.SHUT, GateWork.OPEN, GateWork.GLANCE]
    assert rig.messages() == {1: "G1"}


def test_of_unexpected_messages_more_is_asked() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = FoundBox((Found(1, "G1", frozenset()),))
    rig.gates.seen(GUID, RELEASED, rig.now)
    [first] = rig.round()
    rig.found = mail(1)
    [second] = rig.round()
    assert first.wanted == set() and second.wanted == {"G1"} and rig.messages() == {1: "G1"}


def test_an_accident_expunges_nothing_until_it_is_allowed() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2, 3, 4, 5)
    rig.see(RELEASED)
    rig.found = mail(1)
    rig.see(RELEASED)
    assert len(rig.messages()) == 5 and rig.notices[-1] == Notice("expunge_guard", "alice INBOX 4")
    rig.found = mail(1, *range(6, 16))
    rig.see(RELEASED)
    assert len(rig.messages()) == 15, "nor when new mail has come, and less than half is missing"
    rig.found = mail(1)
    rig.see(RELEASED)
    rig.gates.allow(GUID, rig.now)
    rig.settle()
    assert rig.messages() == {1: "G1"}


def test_a_mailbox_that_goes_leaves_no_lock_behind() -> None:
    rig = Rig()
    rig.see(READS)
    rig.gates.worked(done([RemoveBox("alice", GUID)]), rig.now)
    assert rig.gates.next_deadline(rig.now) == rig.now and rig.round() == []
    assert rig.state() is None and not rig.node.mastering.tracker.boxes[GUID].locks
    rig.gates.worked(done([MakeBox("alice", GUID, "INBOX", 7, 1)]), rig.now)
    rig.settle()
    assert rig.state() is GateState.SHUT and [box.guid for box in rig.gates.boxes()] == [GUID]


def test_the_gate_of_a_mailbox_that_was_to_go_and_holds_mail_is_shut_as_any_other() -> None:
    """Its Dovecot may have given out UIDs of which nobody knows when another node deletes the mailbox."""
    rig = Rig()
    rig.see(READS)
    rig.gates.worked([Ended(RemoveBox("alice", GUID), Result(Outcome.HAS_MAIL))], rig.now)
    assert rig.state() is GateState.OPEN and rig.node.saving.lock_of(CLIENT, GUID) is not None
    rig.found = mail(1, 2)
    rig.run(IDLE_S + 1)
    assert rig.messages() == {1: "G1", 2: "G2"} and rig.state() is GateState.SHUT


def test_a_mailbox_that_was_deleted_goes_when_the_mail_is_gone_for_which_it_stayed() -> None:
    rig = Rig()
    rig.see(READS)
    rig.node.core.do([Delete(user="alice", box=Box(GUID, True), known=rig.node.core.journal.vector())])
    assert rig.node.core.removals() == [RemoveBox("alice", GUID)]
    rig.gates.worked([Ended(RemoveBox("alice", GUID), Result(Outcome.HAS_MAIL))], rig.now)
    assert rig.state() is GateState.OPEN
    rig.run(IDLE_S + 1)
    assert rig.state() is None, "it was removed"


def test_a_message_whose_text_is_on_its_way_was_not_expunged() -> None:
    rig = Rig()
    rig.found = mail(1, 2)
    rig.see(READS)
    rig.run(IDLE_S + 1)
    rig.node.core.missing[GUID, "G2"] = Missing("alice")
    rig.found = mail(1)
    rig.gates.allow(GUID, rig.now)
    rig.run(IDLE_S + 1)
    assert rig.messages() == {1: "G1", 2: "G2"}
    rig.node.core.missing.clear()
    rig.run(1.0)
    assert rig.messages() == {1: "G1"}, "it never came, and all is compared again"


def test_a_message_whose_text_was_missing_before_a_restart_was_not_expunged() -> None:
    rig = Rig()
    rig.found = mail(1, 2)
    rig.see(READS)
    rig.run(IDLE_S + 1)
    [row] = [row for row in rig.rows.messages(GUID) if row.guid == "G2"]
    add = AddMessage("alice", GUID, "G2", 2, (), row.received, row.size, "", row.dots[0])
    rig.node.core.ended([Ended(add, Result(Outcome.NO_TEXT))])
    rig.found = mail(1)
    rig.restart()
    rig.gates.allow(GUID, rig.now)
    rig.run(8.0 + IDLE_S)
    assert rig.messages() == {1: "G1", 2: "G2"}


def test_a_gate_is_shut_behind_a_message_that_was_saved_apart_and_opened_above_all_that_its_node_has() -> None:
    rig = Rig("ab", is_root=False)
    rig.run(8.0)
    rig.see(READS)
    assert rig.state() is GateState.OPEN and rig.raised == []
    gap, place = rig.node.mastering.blocks.gap, rig.node.members.place("b")
    rig.node.core.peers["b"].is_up = True
    rig.node.core.peers["b"].tells((Dot("b", 2),), {})
    rig.save_of_b(gap * place + 7, 1)
    rig.run(2 * ENTER_S)
    assert rig.state() is GateState.SHUT, "the store has kept Dovecot out since the message came"
    assert rig.see(READS) == [] and rig.state() is GateState.WANTED, "another one is to come"
    rig.save_of_b(gap * place + 8, 2)
    rig.orders.clear()
    rig.settle()
    [opened], blocks = rig.orders, rig.node.mastering.blocks
    assert opened.work is GateWork.OPEN and opened.uidnext > gap * place + 8
    assert blocks.place(opened.uidnext) == blocks.place(gap * rig.node.members.place("a"))
    assert rig.raised == []
    rig.run(1.0)
    assert rig.state() is GateState.OPEN


def test_a_gate_of_a_mailbox_without_uids_stays_shut() -> None:
    rig = Rig()
    box = rig.rows.box(GUID)
    assert box is not None
    rig.rows.put_box(box._replace(uidnext=NO_UID))
    assert rig.see(READS) == [] and rig.state() is GateState.SHUT
    assert "uids_run_out" in {notice.name for notice in rig.notices}


def test_what_dovecot_did_to_a_message_whose_op_comes_again_is_compared_then() -> None:
    """After a crash between store and rows."""
    rig = Rig()
    rig.node.core.merger.kept[GUID] = {"Gb1": Stored(3, (), Dot("b", 1))}
    rig.found = FoundBox((Found(3, "Gb1", frozenset({"\\Seen"}), TEXT),))
    rig.gates.allow(GUID, rig.now)
    rig.run(IDLE_S + 1)
    assert rig.state() is GateState.SHUT and rig.messages() == {}
    rig.save_of_b(3, 1)
    rig.settle()
    row = rig.node.core.rows.message(GUID, "Gb1")
    assert row is not None and row.set_flags() == ("\\Seen",)


def test_a_message_that_was_to_be_moved_and_is_not_there_was_expunged() -> None:
    rig = Rig()
    rig.found = mail(1, 2)
    rig.see(READS)
    rig.run(IDLE_S + 1)
    assert rig.messages() == {1: "G1", 2: "G2"} and rig.state() is GateState.SHUT
    rig.found = mail(1)
    rig.gates.worked([Ended(MoveMessage("alice", GUID, "G2", 9), Result(Outcome.NO_TEXT))], rig.now)
    rig.settle()
    assert rig.messages() == {1: "G1"}


def test_a_check_of_the_node_is_answered_beside_an_open_gate() -> None:
    rig = Rig()
    rig.see(READS)
    rig.node.hear_mail("m", "1", Check(), "", rig.now)
    assert [reply.tag for reply in rig.node.core.replies()] == ["1"]


def test_mail_that_comes_while_the_mastership_is_asked_for_gets_its_uid_when_it_is_here() -> None:
    rig = Rig("abc", is_root=False, accept=False)
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    assert rig.state() is GateState.WANTED
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.orders.clear()
    rig.node.mastering.root.force(rig.now)
    rig.node.mastering.follow_up(rig.now)
    rig.run(7)
    assert [order.work for order in rig.orders] == [GateWork.OPEN, GateWork.GLANCE]


def test_what_was_told_is_in_the_rows_when_it_was_looked_at() -> None:
    rig = Rig()
    mark = rig.gates.news
    assert rig.gates.unlooked(mark) == {}
    rig.see(READS)
    assert rig.gates.unlooked(mark) == {}, "who reads the lock file has done nothing yet"
    rig.gates.seen(GUID, RELEASED, rig.now)
    [(box, number)] = rig.gates.unlooked(mark).items()
    assert box == GUID and not rig.gates.has_looked(GUID, number)
    rig.found = FoundBox((), unlisted=1)
    rig.settle()
    assert not rig.gates.has_looked(GUID, number), "a message has no UID"
    rig.found = mail(1)
    rig.see(RELEASED)
    assert rig.gates.has_looked(GUID, number) and rig.gates.unlooked(mark) == {}
    assert rig.gates.has_looked("9" * 32, 99), "what is gone is not waited for"


def test_an_order_for_a_gate_that_is_another_one_by_now_says_nothing() -> None:
    rig = Rig(has_lock_files=False)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.node.tick(rig.now)
    [order] = rig.gates.orders((), rig.now)
    rig.gates.worked(done([RemoveBox("alice", GUID), MakeBox("alice", GUID, "INBOX", 7, 1)]), rig.now)
    rig.gates.done(order, GateResult(mail(1)), rig.now)
    assert rig.messages() == {} and rig.state() is GateState.LOOSE


def test_few_mailboxes_are_compared_as_a_whole_in_one_round() -> None:
    rig = Rig()
    for number in range(2 * MOST_WHOLE + 1):
        rig.node.core.do([Create(user="alice", box=Box(f"Folder {number}"), id=f"{number:032x}", uidvalidity=7)])
    rig.round()
    assert [len(rig.round()) for _ in range(5)] == [0, MOST_WHOLE, MOST_WHOLE, 1, 0]


def test_a_uid_that_came_and_went_before_it_was_looked_is_no_others() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1)._replace(is_whole=False, next_uid=2)
    rig.see(RELEASED)
    assert not any(isinstance(op, Renumber) for op in rig.ops())
    rig.found = FoundBox((), is_whole=False, next_uid=4)
    rig.see(RELEASED)
    box = rig.rows.box(GUID)
    assert box is not None and box.uidnext == 4
    assert [op.to for op in rig.ops() if isinstance(op, Renumber)] == [((3, 3),)], "other nodes know it too"


def test_a_gate_that_cannot_be_opened_does_not_keep_the_mailbox_from_the_others() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    rig.round(GateResult(why="no disk"))
    assert rig.state() is GateState.SHUT and rig.node.saving.lock_of(CLIENT, GUID) is None
    rig.run(RETRY_S + 0.5)
    assert rig.state() is GateState.OPEN, "it is tried again"


def test_while_the_files_lag_behind_the_rows_no_gate_is_opened_and_an_open_one_is_to_be_shut() -> None:
    rig = Rig()
    assert rig.gates.orders({"alice"}, rig.now) == []
    rig.gates.seen(GUID, READS, rig.now)
    rig.node.tick(rig.now)
    assert rig.state() is GateState.SHUT and rig.node.saving.lock_of(CLIENT, GUID) is None, "nor is it asked for"
    rig.run(RETRY_S + 0.5)
    assert rig.state() is GateState.OPEN
    rig.now += ENTER_S
    assert rig.gates.orders({"alice"}, rig.now) == []
    rig.node.tick(rig.now)
    assert rig.state() is GateState.SHUTTING
