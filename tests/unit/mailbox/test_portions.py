"""Portions hold all messages, in their order."""

from __future__ import annotations

from pyrepl.mailbox.portions import MOST_FLAG_BYTES_IN_OP, MOST_GUID_BYTES_IN_OP, MOST_IN_OP, flag_portions, portions
from pyrepl.mailbox.rows import MessageRow
from pyrepl.mailbox.words import Token, escape


def test_all_in_their_order() -> None:
    messages = list(range(2 * MOST_IN_OP + 1))
    found = list(portions(messages))
    assert [len(each) for each in found] == [MOST_IN_OP, MOST_IN_OP, 1]
    assert [one for each in found for one in each] == messages
    assert list(portions([])) == []


def test_fewer_where_guids_are_long() -> None:
    guids = [f"{number:03}" + "ö" * 60 for number in range(MOST_IN_OP)]
    found = list(portions(guids))
    assert [one for each in found for one in each] == guids
    assert all(sum(len(escape(guid)) + 1 for guid in each) <= MOST_GUID_BYTES_IN_OP for each in found)
    rows = [MessageRow("1" * 32, guid, 1, Token(0, 0), (), 1, 1) for guid in guids]
    assert [len(each) for each in portions(rows)] == [len(each) for each in found] and len(found) == 4


def test_flags_have_room_beside_the_guids() -> None:
    flags = [f"keyword{number:03}" + "y" * 200 for number in range(200)]
    found = list(flag_portions(flags))
    assert [one for each in found for one in each] == flags and len(found) == 3
    assert all(sum(len(flag) + 1 for flag in each) <= MOST_FLAG_BYTES_IN_OP for each in found)
