"""The core: ops are applied, kept and told. Requirements S4, R4: answers come after the commit."""

from __future__ import annotations

from pyrepl.mailbox.clashes import guid_of_other
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.merging import Text
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow
from pyrepl.mailbox.sayable import why_unsayable
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import DONE, AddMessage, Ended, MakeBox, MoveMessage, Outcome, RemoveMessage, Result, Stored
from pyrepl.mailbox.verbs import Create, Delete, Expunge, Modseqs, Renumber, Save
from pyrepl.mailbox.words import Box, Dot, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

GUID = "1" * 32
CREATE = Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=5, stamp=Stamp(1, "a"))
SAVE = Save(user="alice", box=Box(GUID, True), uid=1, guid="G1", size=4, received=7, token=Token(1, 0))


def core() -> Core:
    made = Core("a", MemoryRows(), ("b", "c"))
    made.peers["b"].is_live = True
    return made


def test_an_op_of_ours_is_applied_and_told_to_who_is_live() -> None:
    mine = core()
    mine.do([CREATE])
    [saved] = mine.do([SAVE], text="drop", tag="o1")
    assert saved.at == Dot("a", 2) and mine.rows.held() == {"a": 2}
    assert [(send.peer, send.command.VERB, send.tag, send.text_of) for send in mine.sends()] == [
        ("b", "CREATE", "*", None),
        ("b", "SAVE", "o1", ("alice", "G1")),
    ]
    assert [type(work) for work in mine.works()] == [MakeBox, AddMessage]


def test_r4_a_tagged_op_is_answered_when_it_is_applied_and_again_when_it_comes_again() -> None:
    mine = core()
    save = SAVE.replaced(at=Dot("b", 2), modseq=1)
    mine.hear("b", "7", save, "drop")
    assert mine.sends() == []
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    assert [(send.tag, send.command.words()) for send in mine.sends()] == [("7", ["at=b:2"])]
    mine.works()
    mine.hear("b", "8", save, "drop")
    assert [send.tag for send in mine.sends()] == ["8"] and mine.works() == []


def test_a_keyword_that_the_store_cannot_keep_is_told_once_a_mailbox() -> None:
    mine = core()
    mine.do([CREATE])
    mine.do([SAVE.replaced(flags=("k26",))])
    [add] = [work for work in mine.works() if isinstance(work, AddMessage)]
    for _ in range(2):
        mine.ended([Ended(add, DONE._replace(unkept_keywords=("k26",)))])
    assert [(note.name, note.about) for note in mine.notices()] == [("keywords_not_replicated", "alice INBOX")]


def test_a_name_that_the_store_cannot_have_is_told_once() -> None:
    mine = core()
    mine.do([CREATE])
    [make] = [work for work in mine.works() if isinstance(work, MakeBox)]
    for _ in range(2):
        mine.ended([Ended(make, DONE._replace(stored_as="IN_BOX (11111111)"))])
    assert mine.notices() == [Notice("name_not_storable", "alice INBOX: IN_BOX (11111111)")]


def test_what_takes_away_is_done_after_the_commit() -> None:
    mine = core()
    mine.do([CREATE])
    mine.do([SAVE], text="drop")
    mine.works()
    mine.do([Expunge(user="alice", box=SAVE.box, guids=("G1",), kills=(Dot("a", 2),))])
    assert mine.works() == [] and mine.removals() == [RemoveMessage("alice", GUID, "G1")]


def test_an_op_without_its_text_holds_up_its_own_origin_alone() -> None:
    mine = core()
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=2), "")
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 3), guid="G3", uid=3, modseq=3), "drop3")
    mine.hear("c", "7", SAVE.replaced(at=Dot("c", 1), guid="G2", uid=2, token=Token(2, 0), modseq=2), "drop")
    assert mine.rows.held() == {"b": 1, "c": 1} and mine.lacking == {Dot("b", 2): ("alice", "G1")}
    assert [(send.peer, send.tag) for send in mine.sends()] == [("c", "7")]
    mine.texts[Dot("b", 2), "G1"] = Text("came", 4, 7)
    mine.drain()
    assert mine.rows.held().items() >= {"b": 3, "c": 1}.items()


def test_one_question_of_a_kind_is_answered_at_a_time() -> None:
    mine = core()
    assert mine.answers_now("b", "s") and mine.answers_now("b", "p") and mine.answers_now("c", "s")
    assert not mine.answers_now("b", "s") and not mine.answers_now("b", "p")
    mine.asks_anew("b")
    assert mine.answers_now("b", "s") and not mine.answers_now("c", "s")
    mine.sends()
    assert mine.answers_now("b", "s") and mine.answers_now("c", "s")


def test_a_save_without_a_text_waits_for_it() -> None:
    mine = core()
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=1), "")
    assert mine.lacking == {Dot("b", 2): ("alice", "G1")} and mine.causal.held == {"b": 1}
    mine.texts[Dot("b", 2), "G1"] = Text("drop")
    mine.drain()
    assert mine.causal.held == {"b": 2}


def test_that_nobody_has_a_text_for_an_op_says_nothing_of_other_ops_about_that_message() -> None:
    """Who answered had applied the one, and nothing of the other."""
    mine = core()
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    for origin, seq in (("b", 2), ("c", 1)):
        save = SAVE.replaced(at=Dot(origin, seq), after=(Dot("b", 1),), token=Token(seq, 0), modseq=2)
        mine.hear(origin, "*", save, "")
    assert mine.lacking == {Dot("b", 2): ("alice", "G1"), Dot("c", 1): ("alice", "G1")}
    mine.no_text(Dot("c", 1), "G1")
    mine.drain()
    assert mine.causal.held == {"b": 1, "c": 1} and mine.rows.message(GUID, "G1") is None
    mine.texts[Dot("b", 2), "G1"] = Text("drop")
    mine.drain()
    row = mine.rows.message(GUID, "G1")
    assert mine.causal.has(Dot("b", 2)) and row is not None and row.dots == (Dot("b", 2),)
    assert not mine.lacking and not mine.textless


def test_a_mail_whose_guid_another_one_has_gets_one_of_its_own() -> None:
    own = guid_of_other("G1", (2,))
    for text in ("drop", "fetched", None):
        mine = core()
        mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
        mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=2, sum=(1,)), "first")
        mine.works()
        other = SAVE.replaced(at=Dot("c", 1), after=(Dot("b", 1),), token=Token(2, 0), modseq=2, sum=(2,))
        mine.hear("c", "*", other, "drop" if text == "drop" else "")
        if text != "drop":
            assert mine.lacking == {Dot("c", 1): ("alice", "G1")}, "the text that is here is of the other one"
        if text == "fetched":
            mine.texts[Dot("c", 1), "G1"] = Text("fetched", 4, 7, (2,))
        elif text is None:
            mine.no_text(Dot("c", 1), "G1")
        mine.drain()
        added = [(work.guid, work.uid, work.text) for work in mine.works() if isinstance(work, AddMessage)]
        assert added == ([(own, UNPLACED, text)] if text else []) and not mine.lacking
        assert {row.guid: row.sums for row in mine.rows.messages(GUID)} == {"G1": (1,)} | ({own: (2,)} if text else {})
        assert [note.about for note in mine.notices()] == (["alice INBOX G1"] if text else [])
        assert mine.unneeded() == [] and not mine.texts and not mine.textless


def test_what_a_mail_program_put_under_a_guid_stays_there_be_it_another_mail() -> None:
    mine = Core("a", MemoryRows(), (), has_gates=True)
    mine.do([CREATE])
    mine.do([SAVE.replaced(sum=(1,))], text="drop")
    mine.works()
    mine.do([Expunge(user="alice", box=SAVE.box, guids=("G1",), kills=(Dot("a", 2),))])
    mine.adopt(SAVE.replaced(uid=2, sum=(2,)))
    assert mine.works() == [] and mine.removals() == [], "the file that is there is the new one's"
    assert [(row.uid, row.sums) for row in mine.rows.messages(GUID)] == [(2, (2,))]
    mine.adopt(SAVE.replaced(uid=3, sum=(3,)))
    assert list(mine.missing) == [(GUID, "G1")], "the text that is there is not the row's"


def test_a_save_whose_text_a_crash_left_in_the_store_needs_none() -> None:
    mine = core()
    mine.merger.kept[GUID] = {"G1": Stored(1, (), Dot("b", 2)), "G2": Stored(2, (), Dot("b", 4))}
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=1), "")
    assert mine.causal.held == {"b": 2} and not mine.lacking
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 3), modseq=1, guid="G2", uid=2), "")
    assert mine.lacking == {Dot("b", 3): ("alice", "G2")}, "another op brought what is there"


def test_a_text_that_a_crash_left_goes_with_its_mailbox() -> None:
    mine = core()
    mine.merger.kept[GUID] = {"G1": Stored(1, (), Dot("b", 2))}
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
    mine.do([Delete(user="alice", box=SAVE.box, stamp=Stamp(2, "a"), known=(Dot("b", 1),))])
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=1), "")
    assert mine.lacking == {Dot("b", 2): ("alice", "G1")}


def test_a_uid_that_somebody_else_gave_out_is_settled_by_another_one() -> None:
    mine = core()
    mine.do([CREATE])
    mine.do([SAVE], text="drop")
    works = mine.works()
    mine.ended(list(map(Ended, works, [DONE, Result(Outcome.TOO_LOW, next_uid=40)])))
    row, box = mine.rows.message(GUID, "G1"), mine.rows.box(GUID)
    assert row is not None and (row.uid, row.token) == (UNPLACED, Token(1, 0))
    assert box is not None and box.uidnext == 40 and mine.unsettled == {GUID}
    mine.do([Renumber(user="alice", box=SAVE.box, to=((40, 40),), guids=("G1",), token=Token(1, 0))])
    assert mine.works() == [MoveMessage("alice", GUID, "G1", 40)]


def test_texts_that_no_work_takes_are_let_go() -> None:
    mine = core()
    mine.do([CREATE])
    mine.do([SAVE], text="first")
    assert mine.unneeded() == []
    mine.do([SAVE.replaced(uid=2)], text="again")
    assert mine.unneeded() == ["again"]
    theirs = SAVE.replaced(at=Dot("b", 1), modseq=1, guid="G2", uid=3)
    mine.hear("b", "*", theirs, "theirs")
    mine.hear("b", "*", theirs, "by another link")
    assert mine.unneeded() == ["by another link"]
    early = SAVE.replaced(at=Dot("b", 3), modseq=1, uid=4)
    mine.hear("b", "*", early, "early")
    assert mine.unneeded() == [], "it waits"
    mine.hear("b", "*", early, "early again")
    assert mine.unneeded() == ["early again"]


def test_what_came_by_state_is_not_waited_for_and_is_answered() -> None:
    mine = core()
    save = SAVE.replaced(at=Dot("b", 2), modseq=1)
    mine.hear("b", "7", save, "drop")
    mine.lacking[Dot("b", 2)] = ("alice", "G1")
    mine.texts[Dot("b", 2), "G1"] = Text("fetched")
    mine.jump((Dot("a", 0), Dot("b", 2), Dot("c", 5)))
    assert mine.rows.held() == mine.causal.held == {"b": 2, "c": 5} and mine.causal.count == 0
    assert sorted(mine.unneeded()) == ["drop", "fetched"] and not mine.lacking and not mine.texts
    assert [(send.peer, send.tag) for send in mine.sends()] == [("b", "7")]
    assert mine.rows.oldest("c") == 6 and mine.rows.ops("c", 0, 9) == []


def test_a_jump_lets_ops_go_on_that_waited_for_what_it_covers() -> None:
    mine = core()
    mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), after=(Dot("c", 5),), modseq=1), "")
    assert mine.rows.box(GUID) is None
    mine.jump((Dot("c", 5),))
    assert mine.rows.box(GUID) is not None and mine.rows.held() == {"b": 1, "c": 5}


def test_what_a_crash_left_goes_when_its_op_does_not_come_again() -> None:
    mine = core()
    mine.do([CREATE])
    mine.works()
    mine.merger.kept[GUID] = {"G1": Stored(1, (), Dot("b", 2)), "G2": Stored(2, (), Dot("b", 9))}
    mine.jump((Dot("b", 2),))
    assert mine.removals() == [RemoveMessage("alice", GUID, "G1")] and list(mine.merger.kept[GUID]) == ["G2"]
    gone = mine.rows.gone(GUID, "G1")
    assert gone is not None and (gone.uid, gone.dots) == (1, (Dot("b", 2),)), "a crash before that is no riddle"


def test_a_message_that_an_op_of_ours_moved_before_a_crash_is_there_on_all_nodes_when_its_own_op_has_come() -> None:
    for has_gates, uids in ((False, [(4, 1)]), (True, [])):
        mine = Core("a", MemoryRows(), ("b",), has_gates=has_gates)
        mine.hear("b", "*", CREATE.replaced(at=Dot("b", 1), modseq=1), "")
        mine.merger.kept[GUID], mine.merger.floors[GUID] = {"G1": Stored(4, (), Dot("b", 2))}, 5
        mine.hear("b", "*", SAVE.replaced(at=Dot("b", 2), modseq=1), "")
        ops = [op for op in mine.rows.ops("a", 0, 9) if isinstance(op, Renumber)]
        assert [(op.to[0][0], len(op.guids)) for op in ops] == uids


def test_a_jump_forgets_no_uid_that_clients_saw_before_a_crash() -> None:
    mine = core()
    mine.do([CREATE])
    mine.merger.kept[GUID] = {"G1": Stored(9, (), Dot("b", 1)), "G2": Stored(12, (), Dot("b", 1))}
    mine.hear("b", "*", SAVE.replaced(at=Dot("b", 1), modseq=1), "")
    mine.jump((Dot("b", 1),))
    box = mine.rows.box(GUID)
    assert not mine.merger.kept and box is not None and box.uidnext == 13


def test_m2_a_delete_of_many_messages_that_crosses_a_change_is_told_in_lines_that_can_be_said() -> None:
    mine = core()
    mine.do([CREATE])
    guids = [f"1795333408.M{uid:06d}P12345.mx1.example.org,S=1204,W=1230" for uid in range(1, 2001)]
    for uid, guid in enumerate(guids, start=1):
        mine.rows.put_message(MessageRow(GUID, guid, uid, Token(1, 0), (Dot("a", 1),), 4, 7, modseq=1))
    mine.rows.put_box(known_box(mine)._replace(highest=10))
    mine.sends()
    known = (Dot("a", 1),)
    delete = Delete(user="alice", box=SAVE.box, stamp=Stamp(2, "b"), known=known, at=Dot("b", 1), modseq=2, after=known)
    mine.hear("b", "*", delete, "")
    told = [send.command for send in mine.sends() if isinstance(send.command, Modseqs)]
    assert sorted(guid for op in told for guid in op.guids) == guids and {op.modseq for op in told} == {11}
    assert not any(map(why_unsayable, told))


def known_box(mine: Core) -> BoxRow:
    box = mine.rows.box(GUID)
    assert box is not None
    return box
