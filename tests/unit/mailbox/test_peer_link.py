"""Two nodes greet each other, or learn why not; then commands, answers and texts pass. Requirement S2."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.outgoing import PieceWanted, TextWanted
from pyrepl.mailbox.peer_link import Introduction, PeerLink
from pyrepl.mailbox.talk import Came, Lost, Opened, TalkOptions, TextCame
from pyrepl.mailbox.talk_states import TalkState
from pyrepl.mailbox.verbs import Ack, Op, Save
from pyrepl.mailbox.words import Box, Dot
from tests.unit.mailbox.talks import MEMBERS, exchange, introduction, opened


def met(called_by: Introduction, called: Introduction, expected: str = "b") -> tuple[PeerLink, PeerLink]:
    a = PeerLink(called_by, expected, TalkOptions(), 0.0)
    b = PeerLink(called, "", TalkOptions(), 0.0)
    exchange(a, b)
    return a, b


def test_a_greeting_line_by_line() -> None:
    a = PeerLink(introduction("a"), "b", TalkOptions(), 0.0)
    b = PeerLink(introduction("b"), "", TalkOptions(), 0.0)
    said: list[str] = []
    for speaker, hearer in ((a, b), (b, a), (a, b), (b, a)):
        data = b"".join(speaker.data_to_send())
        said.append(data.decode().replace(MEMBERS.digest(), "DIGEST"))
        hearer.receive(data, 0.0)
    assert said[0] == f"* HELLO node=a members=DIGEST nonce={'a' * 32}\n"
    assert said[1] == f"* HELLO node=b members=DIGEST nonce={'b' * 32}\n"
    assert all(line.startswith("* AUTH mac=") for line in said[2:]) and said[2] != said[3]
    assert a.events() == [Opened(node="b")] and b.events() == [Opened(node="a")]
    assert (a.peer, b.peer) == ("b", "a")


@pytest.mark.parametrize(
    ("called_by", "called", "expected", "why"),
    [
        (introduction("a"), introduction("w"), "b", "expected the node b, got w"),
        (introduction("c"), introduction("b"), "b", "c is no member"),
        (introduction("b"), introduction("b"), "b", "two nodes are called b"),
        (introduction("a", members=Members((Member("a"), Member("b")))), introduction("b"), "b", "another list"),
        (introduction("a"), introduction("b", secret=b"other"), "b", "does not know our mailbox-secret"),
    ],
)
def test_both_ends_learn_why_they_cannot_talk(
    called_by: Introduction, called: Introduction, expected: str, why: str
) -> None:
    a, b = met(called_by, called, expected)
    reasons = [event.reason for end in (a, b) for event in end.events() if isinstance(event, Lost)]
    assert len(reasons) == 2 and all(why in reason for reason in reasons)
    assert any(reason.startswith("the other end refused: ") for reason in reasons)


def test_s2_commands_and_answers_pass() -> None:
    a, b = opened()
    a.say(Ack(held=(Dot("a", 3),)), "*", 1.0)
    b.say(Ok(at=Dot("a", 3)), "o1", 1.0)
    exchange(a, b)
    assert b.events() == [Came("*", Ack(held=(Dot("a", 3),)), False)]
    assert a.events() == [Came("o1", Ok(at=Dot("a", 3)), False)]


IN, WORK = "1" * 32, "2" * 32
"""GUIDs of mailboxes."""


def test_p2_an_op_without_a_modseq_has_the_one_after_the_op_before_it() -> None:
    """Each of its mailbox: a COPY's is that of its target."""
    a, _ = opened()
    lines = [
        f"o1 STORE alice #{IN} guids=G1 add=a modseq=50 at=b:1",
        f"o2 STORE alice #{WORK} guids=G2 add=a modseq=8 at=b:2",
        f"o3 STORE alice #{IN} guids=G1 add=b at=b:3",
        f"o4 COPY alice #{IN} to=#{WORK} guids=G1 at=b:4",
        f"o5 STORE alice #{IN} guids=G1 add=c at=b:5",
    ]
    a.receive("".join(f"{line}\n" for line in lines).encode(), 1.0)
    commands = [event.command for event in a.events() if isinstance(event, Came)]
    assert [command.modseq for command in commands if isinstance(command, Op)] == [50, 8, 51, 9, 52]


def test_s2_who_says_and_who_hears_are_apart_on_one_connection() -> None:
    """What one end writes is what the other reads. An end that is in the middle of a text from the other one says its
    own meanwhile, and one that is in the middle of its own text hears the other's."""
    a, b = opened()
    save = Save(user="alice", box=Box("INBOX"), guid="G1", size=6, received=1, modseq=3)
    for end in (a, b):
        end.say(save, "o1", 1.0, ("alice", "G1"))
        end.say(Ack(held=(Dot("a", 3),)), "*", 1.0)
        assert end.data_to_send() == [] and end.events() == [TextWanted(("alice", "G1"))]
        end.text_is(6)
    for piece in (b"abc", b"def"):
        said = {end: b"".join(end.data_to_send()) for end in (a, b)}
        a.receive(said[b], 1.0)
        b.receive(said[a], 1.0)
        for end in (a, b):
            *heard, wish = end.events()
            is_first = piece == b"abc"
            assert heard == ([Came("o1", save, True)] if is_first else [TextCame(b"abc", False)])
            assert isinstance(wish, PieceWanted)
            end.add_piece(piece)
    exchange(a, b)
    for end in (a, b):
        assert end.events() == [TextCame(b"def", True), Came("*", Ack(held=(Dot("a", 3),)), False)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"o1 STORE alice #{IN} guids=G1 add=a at=b:1\n".encode(), "STORE: expected modseq="),
        (b"1 LOCK alice INBOX\n", "LOCK is no command of a node"),
        (b"1 FROB\n", "unknown command"),
        (b"* HELLO node=b\n", "HELLO is not expected in state open"),
        (b"* AUTH mac=x\n", "AUTH is not expected in state open"),
        (b"o1 SAVE alice INBOX guid=G size=5 received=1 {4}\n", "expected a text of size=5, got one of 4"),
        (b"f1 OK size=5 {4}\n", "expected a text of size=5, got one of 4"),
        (b"\xff\n", "expected UTF-8"),
        (b"* BAD why=x\n", "the other end refused: x"),
    ],
)
def test_who_breaks_a_rule_is_told_and_left(line: bytes, why: str) -> None:
    a, _ = opened()
    a.receive(line, 1.0)
    [lost] = a.events()
    assert isinstance(lost, Lost) and lost.is_fault and why in lost.reason
    assert a.state is TalkState.CLOSED
    assert b"".join(a.data_to_send()).startswith(b"* BAD why=")


def test_a_text_of_any_size_is_taken_from_a_node() -> None:
    a, _ = opened(TalkOptions(text_bytes=10))
    a.receive(b"o1 SAVE alice INBOX guid=G size=9999999999 received=1 {9999999999}\npiece", 1.0)
    came, text = a.events()
    assert isinstance(came, Came) and came.has_text and text == TextCame(b"piece", False)


def test_nothing_is_heard_before_the_proof() -> None:
    link = PeerLink(introduction("a"), "", TalkOptions(), 0.0)
    link.receive(b"* ACK held=b:1\n", 0.0)
    [lost] = link.events()
    assert isinstance(lost, Lost) and "a command is not expected" in lost.reason


def test_a_node_without_data_says_so() -> None:
    a, b = met(introduction("a")._replace(is_fresh=True), introduction("b")._replace(epoch=7))
    assert a.events() == [Opened(node="b", epoch=7)] and b.events() == [Opened(node="a", is_fresh=True)]
