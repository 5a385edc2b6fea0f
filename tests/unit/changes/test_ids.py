"""Ids of facts: the published table, and what must never happen."""

from __future__ import annotations

import pytest

from pyrepl.changes.ids import LinearId, WriterIds

TABLE = [
    ("reserve", 2, 1),
    ("reserve", 3, 1),
    ("complete", 3, 1),
    ("complete", 2, 3),
    ("reserve", 4, 3),
    ("reserve", 5, 3),
    ("reserve", 6, 3),
    ("complete", 5, 3),
    ("complete", 4, 5),
    ("complete", 6, 6),
]
"""(action, id, current id afterwards) of a stream with one writer that is at 1."""


def test_the_published_table() -> None:
    ids = WriterIds(1)
    assert ids.current == 1
    for action, stream_id, current in TABLE:
        if action == "reserve":
            ids.reserve(stream_id)
        else:
            ids.complete(stream_id)
        assert ids.current == current, (action, stream_id)


def test_what_a_completion_releases_is_in_order() -> None:
    ids = WriterIds(0)
    for stream_id in (2, 5, 9):
        ids.reserve(stream_id)
    assert ids.complete(9) == []
    assert ids.complete(5) == []
    assert ids.complete(2) == [2, 5, 9]
    assert ids.pending == []


def test_an_id_is_completed_once_and_only_if_reserved() -> None:
    ids = WriterIds(0)
    ids.reserve(1)
    ids.complete(1)
    for stream_id in (1, 2):
        with pytest.raises(KeyError):
            ids.complete(stream_id)


def test_ids_only_grow() -> None:
    ids = WriterIds(5)
    for stream_id in (5, 4):
        with pytest.raises(ValueError, match="set back"):
            ids.reserve(stream_id)
    ids.reserve(7)
    with pytest.raises(ValueError):
        ids.reserve(6)


def test_a_writer_that_rests_passes_the_ids_of_others() -> None:
    ids = WriterIds(1)
    assert ids.pass_idle(10)
    assert not ids.pass_idle(10)
    ids.reserve(11)
    assert not ids.pass_idle(20), "with a fact pending nothing may be passed"
    assert ids.current == 10
    ids.complete(11)
    assert ids.current == 11


def test_linear_waits_for_the_slowest_writer() -> None:
    linear = LinearId({"a": 0, "b": 0})
    linear.note_position("a", 5)
    assert linear.current == 0
    linear.note_position("b", 3)
    assert linear.current == 3


def test_linear_goes_on_while_every_id_is_known() -> None:
    linear = LinearId({"a": 0, "b": 0})
    linear.note_complete([2, 3])
    assert linear.current == 0
    linear.note_complete([1])
    assert linear.current == 3
    linear.note_complete([5])
    assert linear.current == 3, "4 is somebody's"


def test_a_writer_nobody_knew_does_not_move_it_back() -> None:
    linear = LinearId({"a": 7})
    assert linear.current == 7
    linear.note_position("b", 2)
    assert linear.current == 7
    linear.note_position("a", 20)
    assert linear.current == 7
    linear.note_position("b", 21)
    assert linear.current == 20
