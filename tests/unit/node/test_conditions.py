"""What the conditions of a node come to."""

from __future__ import annotations

import pytest

from pyrepl.node.conditions import Condition, Conditions

HARMLESS = (Condition.TRACKED, Condition.NOTIFIED, Condition.FOLLOWED)


def test_nothing_is_in_the_way_to_begin_with() -> None:
    conditions = Conditions()
    assert (conditions.guarded, conditions.checked, conditions.tracked) == (False, False, False)
    assert conditions.propagates


@pytest.mark.parametrize("condition", [each for each in Condition if each not in HARMLESS])
def test_each_guards_from_its_beginning_to_its_end(condition: Condition) -> None:
    conditions = Conditions()
    conditions.note(condition, True)
    conditions.note(condition, True)
    assert conditions.guarded and conditions.checked and not conditions.tracked
    conditions.note(condition, False)
    assert not conditions.guarded and not conditions.checked


def test_the_memory_limit_hears_of_commands_that_nothing_else_is_in_the_way_of() -> None:
    conditions = Conditions()
    conditions.note(Condition.TRACKED, True)
    assert conditions.checked and conditions.tracked and not conditions.guarded
    conditions.note(Condition.PAUSED, True)
    assert conditions.guarded


def test_a_file_that_is_written_is_in_nobodys_way() -> None:
    conditions = Conditions()
    conditions.note(Condition.FOLLOWED, True)
    assert not conditions.guarded and not conditions.checked and not conditions.keeps_own
    conditions.note_keys_ready(True)
    conditions.note_keys_ready(False)
    assert not conditions.checked and conditions.propagates


def test_writes_that_are_no_part_of_the_stream_go_into_the_file() -> None:
    conditions = Conditions()
    conditions.note(Condition.FOLLOWED, True)
    conditions.note(Condition.REPLICA, True)
    assert conditions.keeps_own
    conditions.note(Condition.REPLAYING, True)
    assert not conditions.keeps_own
    conditions.note(Condition.REPLAYING, False)
    conditions.note(Condition.FOLLOWED, False)
    assert not conditions.keeps_own


def test_clients_that_are_to_be_served_stop_the_quick_way_and_forbid_nothing() -> None:
    conditions = Conditions()
    assert not conditions.keys_ready
    conditions.note_keys_ready(True)
    assert conditions.checked and conditions.keys_ready and not conditions.guarded
    conditions.note(Condition.PAUSED, True)
    conditions.note(Condition.PAUSED, False)
    assert conditions.checked
    conditions.note_keys_ready(False)
    assert not conditions.checked and not conditions.keys_ready


def test_one_that_ends_leaves_the_others() -> None:
    conditions = Conditions()
    conditions.note(Condition.LOADING, True)
    conditions.note(Condition.PAUSED, True)
    conditions.note(Condition.LOADING, False)
    assert conditions.guarded


@pytest.mark.parametrize("condition", Condition)
def test_what_goes_into_the_stream(condition: Condition) -> None:
    """A replica's stream is its master's; what an append-only file says was in the stream before."""
    conditions = Conditions()
    conditions.note(condition, True)
    assert conditions.propagates is (condition not in (Condition.REPLICA, Condition.REPLAYING))


def test_what_is_told_of_keys_forbids_nothing() -> None:
    conditions = Conditions()
    conditions.note(Condition.NOTIFIED, True)
    assert conditions.notified and conditions.checked and not conditions.guarded and conditions.propagates
    conditions.note(Condition.NOTIFIED, False)
    assert not conditions.notified and not conditions.checked
