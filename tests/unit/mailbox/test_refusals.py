"""What no member says that is in order is refused, and nothing else."""

from __future__ import annotations

import random

import pytest

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.modseqs import MOST_MODSEQ
from pyrepl.mailbox.refusals import MOST_HOPS, MOST_IN_OP, MOST_ORIGINS, MOST_TERM, why_new_origin, why_not
from pyrepl.mailbox.verbs import (
    Command,
    Copy,
    Create,
    Expunge,
    FlagsOf,
    Give,
    Message,
    Messages,
    Modseqs,
    Renumber,
    RootClaim,
    RootPing,
    Save,
    State,
    Store,
    Subscribe,
    Take,
)
from pyrepl.mailbox.words import APART, LAST_MODSEQ, Box, Dot, Register, Stamp, Token
from tests.scenario.mailbox.cluster import ready
from tests.simulation.mailbox.hostile import Hostile

BOX = Box("1" * 32, True)
SAVE = Save(user="alice", box=BOX, uid=7, guid="G", size=1, received=1, modseq=3, token=Token(7, 1))
GIVE = Give(user="alice", box=BOX, token=Token(7, 2), uid=1, modseq=1, held=())
TAKE = Take(user="alice", box=BOX, wanted_by="b", hops=1, token=Token(7, APART))

STATE = State(
    user="alice",
    box=Box("INBOX"),
    id="1" * 32,
    uidvalidity=5,
    uidnext=9,
    modseq=3,
    stamp=Stamp(3, "b"),
    created=Stamp(3, "b"),
)


@pytest.mark.parametrize(
    "command",
    [
        SAVE,
        SAVE.replaced(token=Token(7, MOST_TERM)),
        GIVE,
        TAKE,
        Copy(user="alice", box=BOX, to=BOX, touids=((1, 2),), guids=("G1", "G2")),
        Renumber(user="alice", box=BOX, to=((1, 9),)),
        Create(user="alice", box=Box("INBOX"), id="1" * 32, stamp=Stamp(3, "b")),
        RootClaim(epoch=1007, node="b"),
        STATE,
        Message(user="alice", box=BOX, guid="G", dots=(Dot("a", 1),), modseq=3),
        Messages(user="alice", box=BOX, guids=("G1", "G2")),
        Ok(),
        No(reason=Reason.BUSY),
    ],
)
def test_what_is_in_order(command: Command) -> None:
    assert why_not(command, 7) is None


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (SAVE.replaced(modseq=MOST_MODSEQ + 1), "SAVE: modseq"),
        (SAVE.replaced(token=Token(2**40, 1)), "SAVE: epoch"),
        (SAVE.replaced(token=Token(7, MOST_TERM + 1)), "SAVE: term"),
        (GIVE.replaced(token=Token(7, LAST_MODSEQ)), "GIVE: term"),
        (Ok(token=Token(7, LAST_MODSEQ)), "OK: term"),
        (TAKE.replaced(hops=MOST_HOPS + 1), "TAKE: expected 1000000 hops"),
        (RootPing(epoch=2**40), "ROOT-PING: epoch"),
        (No(reason=Reason.EPOCH, epoch=2**53), "NO: epoch"),
        (Modseqs(user="alice", box=BOX, modseq=LAST_MODSEQ), "MODSEQ: modseq"),
        (Subscribe(user="alice", box=BOX, stamp=Stamp(LAST_MODSEQ, "b")), "SUBSCRIBE: modseq"),
        (
            FlagsOf(user="alice", box=BOX, guid="G", stamps=(Register("x", True, Stamp(LAST_MODSEQ, "b")),), modseq=1),
            "FLAGS: modseq",
        ),
        (Create(user="alice", box=Box("INBOX")), "CREATE: expected the id"),
        (
            Copy(user="alice", box=BOX, to=BOX, touids=((1, 2**20),), guids=("G1",)),
            "COPY: expected a UID for each of 1",
        ),
        (Renumber(user="alice", box=BOX, to=((1, 2),), guids=("G1",)), "RENUMBER: expected a UID"),
        (STATE.replaced(box=BOX), "STATE: expected the name"),
        (STATE.replaced(created=Stamp(LAST_MODSEQ, "b")), "STATE: modseq"),
        (Message(user="alice", box=BOX, guid="G", modseq=3), "MESSAGE: expected the dots"),
        (Message(user="alice", box=BOX, guid="G", dots=(Dot("a", LAST_MODSEQ),), modseq=3), "MESSAGE: an op"),
        (
            Message(user="alice", box=BOX, guid="G", dots=(Dot("a", 1),) * (MOST_IN_OP + 1), modseq=3),
            "MESSAGE: expected 1000",
        ),
        (Messages(user="alice", box=BOX, guids=("G",) * (MOST_IN_OP + 1)), "MESSAGES: expected 1000"),
        (Ok(held=(Dot("a", LAST_MODSEQ),)), "OK: an op"),
        (Expunge(user="alice", box=BOX, guids=tuple(f"G{n}" for n in range(MOST_IN_OP + 1))), "EXPUNGE: expected 1000"),
    ],
)
def test_what_is_refused(command: Command, why: str) -> None:
    said = why_not(command, 7)
    assert said is not None and said.startswith(why)


def test_an_op_of_one_more_origin_than_anybody_has() -> None:
    held = {f"n{number}": 1 for number in range(MOST_ORIGINS)}

    def why(origin: str) -> str | None:
        return why_new_origin(SAVE.replaced(at=Dot(origin, 1)), held, "ab")

    assert why_new_origin(SAVE, held, "ab") is None and why_new_origin(Ok(at=Dot("new", 1)), held, "ab") is None
    assert why("n7") is None and why("a") is None and why("a~5") is None, "members have room of their own"
    said = "SAVE: expected 100 databases at most of nodes that are no members, got new besides"
    assert why("new") == said
    held |= {f"a~{number}": 1 for number in range(MOST_ORIGINS)}
    assert why("b~5") is None and why("a~7") is None
    assert why("a~500") == "SAVE: expected 100 databases at most of a, got a~500 besides"
    del held["n7"]
    assert why("new") is None


def test_the_vector_of_an_answer_names_no_more_origins_than_there_is_room_for() -> None:
    many = tuple(Dot(f"n{number:04}", 1) for number in range(MOST_ORIGINS + 1))
    said = "expected 100 databases at most of nodes that are no members, got n0"
    for answer in (
        Ok(held=many),
        Ok(ahead=many),
        Ok(held=many[:60], ahead=many[60:]),
        No(reason=Reason.NOUID, held=many),
    ):
        why = why_new_origin(answer, {}, "ab")
        assert why is not None and said in why
    assert why_new_origin(Ok(held=many[1:]), {}, "ab") is None
    assert why_new_origin(Ok(held=many), {dot.origin: 1 for dot in many}, "ab") is None, "all are known"


def test_what_rows_show_of_other_origins_takes_up_their_room() -> None:
    node = ready("ab").nodes["a"]
    answers = [Ok(held=tuple(Dot(f"n{number + 50 * part}", 1) for number in range(50))) for part in range(3)]
    node.core.journal.reaches(answers[0].held)
    assert node.why_not("b", answers[1]) is None
    node.core.journal.reaches(answers[1].held)
    assert node.why_not("b", answers[2]) is not None and node.why_not("b", answers[0]) is None


def test_a_mailbox_is_not_changed_in_the_name_of_another_user() -> None:
    cluster = ready("ab")
    node, (box,) = cluster.nodes["a"], cluster.names
    node.core.do([SAVE.replaced(box=Box(box, True), uid=1, modseq=None)], "text")
    node.core.works()
    store = Store(user="mallory", box=Box(box, True), guids=("G",), add=("\\Deleted",))
    node.core.do([store, Expunge(user="mallory", box=Box(box, True), guids=("G",))])
    row = node.core.rows.message(box, "G")
    assert row is not None and row.set_flags() == () and node.core.works() == node.core.removals() == []


def test_whatever_else_a_member_says_does_not_make_the_machine_fail() -> None:
    for seed in range(5):
        cluster = ready("abc")
        node, rng, now = cluster.nodes["a"], random.Random(seed), cluster.now
        hostile = Hostile(rng, *cluster.names)
        for _ in range(1000):
            now += 0.01
            command = hostile.command()
            if node.why_not("b", command) is None:
                node.hear("b", hostile.tag(), command, "", now)
            for take in (node.core.works, node.core.removals, node.core.sends, node.core.notices, node.core.unneeded):
                take()
            cluster.rows["a"].commit()
