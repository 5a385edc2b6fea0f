"""Rows together, and one by one with their place."""

from __future__ import annotations

from pyrepl.changes.batches import Batch, Row


def test_each_row_knows_its_place() -> None:
    batch = Batch("keys", "", 54, ([0, "a", "set"], [0, "b", "del"]), 30, "abc")
    assert list(batch.each()) == [
        Row("keys", "", 54, 0, [0, "a", "set"]),
        Row("keys", "", 54, 1, [0, "b", "del"]),
    ]


def test_a_move_without_rows() -> None:
    assert list(Batch("keys", "", 54, (), 0, "").each()) == []
