"""Whatever a mail process says, its node goes on: programs of users may be at the other end."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.verbs import Command, Create, Fetch, Side
from pyrepl.mailbox.words import Box
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.mailbox.wire_strategies import commands

INBOX = Box("INBOX")


def started(rows: MemoryRows) -> tuple[Node, float]:
    """A node that is alone, elected, with the mailbox of one user."""
    node, now = Node("a", Members((Member("a"),)), rows, 0.0, NodeOptions(unix_s=1_795_000_000.0)), 0.0
    while not node.mastering.tracker.is_ready:
        now += 0.5
        node.tick(now)
    node.hear_mail("m", "1", Create(user="alice", box=INBOX), "", now)
    return node, now


def aimed(command: Command, guid: str, choice: int) -> Command:
    """The command, mostly about the mailbox that is there."""
    changes: dict[str, object] = {}
    if "user" in command.FIELDS and choice % 5:
        changes["user"] = "alice"
    if "box" in command.FIELDS and choice % 7:
        changes["box"] = INBOX if choice % 2 else Box(guid, True)
    if isinstance(command.__dict__.get("to"), Box) and choice % 3:
        changes["to"] = INBOX
    return command.replaced(**changes)


@settings(max_examples=40)
@given(st.lists(st.tuples(commands(), st.integers(0, 1000)), max_size=8))
def test_a_mail_process_cannot_break_its_node(said: list[tuple[Command, int]]) -> None:
    rows = MemoryRows()
    node, now = started(rows)
    [box] = rows.boxes("alice")
    for number, (command, choice) in enumerate(said):
        if Side.MAIL in command.SENDERS:
            now += 0.05
            node.hear_mail("m", str(number), aimed(command, box.guid, choice), "text" if choice % 4 else "", now)
            node.tick(now)
            node.core.works(), node.core.removals()
            rows.commit()
    node.client_gone("m", now)
    node.core.replies()
    node.hear_mail("n", "1", Fetch(user="alice", guid="none"), "", now)
    assert [reply.client for reply in node.core.replies()] == ["n"]
