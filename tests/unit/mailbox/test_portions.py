"""Portions hold all messages, in their order."""

from __future__ import annotations

from pyrepl.mailbox.portions import MOST_IN_OP, portions


def test_all_in_their_order() -> None:
    messages = list(range(2 * MOST_IN_OP + 1))
    found = list(portions(messages))
    assert [len(each) for each in found] == [MOST_IN_OP, MOST_IN_OP, 1]
    assert [one for each in found for one in each] == messages
    assert list(portions([])) == []
