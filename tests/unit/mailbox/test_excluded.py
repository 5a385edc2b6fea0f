"""What mailbox-exclude leaves out."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.excluded import EVERYTHING, Excluded
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.verbs import Create, Rename
from pyrepl.mailbox.words import Box
from tests.simulation.mailbox.memory_rows import MemoryRows


@pytest.mark.parametrize(
    ("pattern", "user", "name", "is_out"),
    [
        ("bob", "bob", "INBOX", True),
        ("bob", "bobby", "INBOX", False),
        ("b?b*", "bobby", "Work", True),
        ("*/Trash", "alice", "Trash", True),
        ("*/Trash", "alice", "Trash/Old", False),
        ("*/Trash*", "alice", "Trash/Old", True),
        ("*/trash", "alice", "Trash", False),
        ("alice/Lists/*", "alice", "Lists/a/b", True),
        ("alice/Lists/*", "bob", "Lists/a", False),
        ("*@example.org", "bob@example.org", "INBOX", True),
        ("*/[Gmail]/*", "alice", "[Gmail]/All", True),
        ("*/[Gmail]/*", "alice", "G/All", False),
        ("*/[!a]]?", "alice", "[!a]]x", True),
    ],
)
def test_patterns(pattern: str, user: str, name: str, is_out: bool) -> None:
    assert Excluded(["nobody", pattern]).has(user, name) is is_out
    assert Excluded([pattern]).has_user(user) is (is_out and "/" not in pattern)
    assert not EVERYTHING.has(user, name)


def test_a_mail_process_cannot_make_what_is_left_out() -> None:
    node = Node("a", Members((Member("a"),)), MemoryRows(), 0.0, NodeOptions(exclude=("bob", "*/Trash")))
    asked = [
        Create(user="alice", box=Box("INBOX")),
        Create(user="alice", box=Box("Trash")),
        Create(user="bob", box=Box("INBOX")),
        Rename(user="alice", box=Box("INBOX"), to=Box("Trash")),
    ]
    for number, command in enumerate(asked):
        node.hear_mail("m", str(number), command, "", 10.0)
    answers = [reply.answer for reply in node.core.replies()]
    assert isinstance(answers[0], Ok)
    assert [answer.reason for answer in answers[1:] if isinstance(answer, No)] == ["DENIED"] * 3
