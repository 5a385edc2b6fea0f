"""The names of a stream and the cut where they part."""

from __future__ import annotations

import pytest

from pyrepl.replication.history import History, is_replid
from pyrepl.units import NO_REPLID, Offset, ReplId

A, B, C = ReplId("a" * 40), ReplId("b" * 40), ReplId("c" * 40)


@pytest.mark.parametrize("text, expected", [("a" * 40, True), ("A1" * 20, True), ("a" * 39, False), ("g" * 40, False)])
def test_replid_shape(text: str, expected: bool) -> None:
    assert is_replid(text) is expected


def test_a_new_history_knows_one_name() -> None:
    history = History(A)
    assert (history.replid, history.replid2, history.fork) == (A, NO_REPLID, None)
    assert history.knows(A) and not history.knows(B)
    assert not history.knows(NO_REPLID), "the printed placeholder is nobody's name"


def test_shift_keeps_the_old_name_up_to_the_fork() -> None:
    history = History(A)
    history.shift(B, Offset(100))
    assert (history.replid, history.replid2, history.fork) == (B, A, 100)
    assert history.bytes_past_fork(A, 100) == 0
    assert history.bytes_past_fork(A, 103) == 3
    assert history.bytes_past_fork(B, 500) == 0


def test_a_second_shift_forgets_the_first_name() -> None:
    history = History(A)
    history.shift(B, Offset(100))
    history.shift(C, Offset(200))
    assert not history.knows(A)
    assert history.knows(B) and history.fork == 200


def test_restart_forgets_both() -> None:
    history = History(A)
    history.shift(B, Offset(100))
    history.restart(C)
    assert (history.replid, history.replid2, history.fork) == (C, NO_REPLID, None)
    assert not history.knows(A) and not history.knows(B)


def test_case_of_an_id_does_not_count() -> None:
    history = History(A)
    history.shift(B, Offset(5))
    assert history.knows(ReplId("A" * 40)) and history.knows(ReplId("B" * 40))
    assert history.bytes_past_fork(ReplId("A" * 40), 6) == 1
