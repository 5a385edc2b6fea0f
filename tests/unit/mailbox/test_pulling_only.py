"""What an operator asks to be compared."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.pulling_only import Only, Resynced, shown
from pyrepl.mailbox.verbs import State
from pyrepl.mailbox.words import Box, Stamp


@pytest.mark.parametrize(
    ("user", "box", "is_it"),
    [
        ("alice", "", True),
        ("alice", "Work", True),
        ("alice", "INBOX", False),
        ("bob", "", False),
        ("bob", "Work", False),
    ],
)
def test_a_user_s_mailboxes_or_one_of_them(user: str, box: str, is_it: bool) -> None:
    stamp = Stamp(1, "a")
    state = State(
        user="alice", box=Box("Work"), id="1" * 32, uidvalidity=1, uidnext=1, modseq=1, stamp=stamp, created=stamp
    )
    assert Only(user, box, "c1", "1").has(state) == is_it


def test_what_came_of_it_is_told() -> None:
    assert shown(Resynced("b", 2, 5, 3)) == "2 mailboxes, 5 messages were not the same, 3 texts are new"
