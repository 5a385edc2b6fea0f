"""Questions about state, answered from the rows."""

from __future__ import annotations

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.entries import Pages, digest
from pyrepl.mailbox.entries import entries as entries_in
from pyrepl.mailbox.sending import Send
from pyrepl.mailbox.telling import Question, tell
from pyrepl.mailbox.verbs import Boxes, Entries, Entry, Message, Messages, State
from pyrepl.mailbox.words import Box, Dot
from tests.scenario.mailbox.cluster import Cluster, ready, save

PAGES = Pages(boxes=3, entries=5)


def answer(cluster: Cluster, question: Question) -> list[Send]:
    core = cluster.nodes["a"].core
    tell(core, "b", "p1", question, PAGES)
    said = core.sends()
    assert all((send.peer, send.tag) == ("b", "p1") for send in said)
    return said


def one() -> tuple[Cluster, Box]:
    cluster = ready()
    for number in range(3):
        cluster.say(f"m1>a {number} SAVE alice INBOX " + save(f"G{number}"))
    cluster.say("m1>a 3 EXPUNGE alice INBOX uids=1")
    [guid] = cluster.names
    return cluster, Box(guid, True)


def test_mailboxes_come_in_pages_by_guid() -> None:
    cluster, _ = one()
    rows = cluster.rows["a"]
    [first] = rows.boxes("alice")
    for number in range(PAGES.boxes):
        rows.put_box(first._replace(guid=f"{number:032x}", user=f"u{number}"))
    *states, end = answer(cluster, Boxes())
    guids = [send.command.id for send in states if isinstance(send.command, State)]
    assert guids == sorted(guids) and len(guids) == PAGES.boxes == len(states)
    assert isinstance(end.command, Ok) and end.command.left == 1
    *states, end = answer(cluster, Boxes(after=guids[-1]))
    assert len(states) == 1 and isinstance(end.command, Ok) and end.command.left == 0


def test_entries_with_another_digest_come_and_with_the_same_they_do_not() -> None:
    cluster, box = one()
    *entries, end = answer(cluster, Entries(user="alice", box=box, digest="0"))
    told = [send.command for send in entries if isinstance(send.command, Entry)]
    assert [(each.guid, each.uid) for each in told] == [("G0", 0), ("G1", 2), ("G2", 3)]
    assert isinstance(end.command, Ok) and (end.command.same, end.command.held) == (False, (Dot("a", 5),))
    found, _ = entries_in(cluster.rows["b"], box.text, "G0", "G1", 9)
    question = Entries(user="alice", box=box, digest=digest(found), after="G0", upto="G1")
    [same] = answer(cluster, question)
    assert isinstance(same.command, Ok) and (same.command.same, same.command.upto) == (True, "G1")


def test_more_entries_than_fit_are_whole_up_to_where_it_says() -> None:
    cluster, box = one()
    row = cluster.rows["a"].message(box.text, "G1")
    assert row is not None
    for number in range(PAGES.entries):
        cluster.rows["a"].put_message(row._replace(guid=f"H{number:05}", uid=100 + number))
    *entries, end = answer(cluster, Entries(user="alice", box=box, digest="0", upto="Z"))
    last = entries[-1].command
    assert len(entries) == PAGES.entries and isinstance(end.command, Ok) and isinstance(last, Entry)
    assert end.command.upto == last.guid
    *entries, end = answer(cluster, Entries(user="alice", box=box, digest="0", after=last.guid, upto="Z"))
    assert len(entries) == 3 and isinstance(end.command, Ok) and end.command.upto == "Z"


def test_messages_there_and_gone_and_nothing_of_what_is_unknown() -> None:
    cluster, box = one()
    cluster.nodes["a"].core.journal.reaches([Dot("c", 7)])
    *messages, end = answer(cluster, Messages(user="alice", box=box, guids=("G0", "G1", "G9")))
    told = [(send.command.guid, send.command.gone) for send in messages if isinstance(send.command, Message)]
    assert told == [("G0", True), ("G1", False)]
    assert isinstance(end.command, Ok) and end.command.ahead == (Dot("c", 7),)


def test_no_mailbox_of_another_user() -> None:
    cluster, box = one()
    for question in (Entries(user="bob", box=box, digest="0"), Messages(user="bob", box=box, guids=("G1",))):
        [end] = answer(cluster, question)
        assert isinstance(end.command, No)
