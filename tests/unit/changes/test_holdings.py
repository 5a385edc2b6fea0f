"""What a reader of several writers takes, drops and asks for."""

from __future__ import annotations

from pyrepl.changes.holdings import Holdings


def test_from_now_on() -> None:
    holdings = Holdings({})
    assert holdings.positioned("a", 20, 20) == (True, None), "so that the place is known before any row"
    assert holdings.tokens == {"a": 20}
    assert holdings.takes_rows("a") and holdings.moved("a", 21) and not holdings.moved("a", 21)
    assert holdings.takes_rows("b"), "a writer that is new"
    assert holdings.moved("b", 1)


def test_rows_that_come_before_the_first_position_of_now() -> None:
    holdings = Holdings({})
    assert holdings.takes_rows("a") and holdings.moved("a", 21)
    assert holdings.positioned("a", 20, 22) == (True, None)


def test_going_on_where_nothing_is_missing() -> None:
    holdings = Holdings({"a": 20})
    assert holdings.positioned("a", 20, 20) == (False, None)
    assert holdings.positioned("a", 20, 25) == (True, None)
    assert holdings.tokens == {"a": 25}


def test_a_gap_is_asked_for_and_what_comes_before_the_answer_is_dropped() -> None:
    holdings = Holdings({"a": 7})
    assert holdings.positioned("a", 20, 20) == (False, 7)
    sync = holdings.ask("a")
    assert not holdings.takes_rows("a")
    assert holdings.positioned("a", 20, 21) == (False, None)
    holdings.synced("something else")
    holdings.synced("99 a")
    assert not holdings.takes_rows("a")
    holdings.synced(sync)
    assert holdings.takes_rows("a") and holdings.moved("a", 9)
    assert holdings.positioned("a", 7, 21) == (True, None)


def test_rows_before_the_first_position_are_asked_for_again() -> None:
    holdings = Holdings({"a": 20})
    assert not holdings.takes_rows("a")
    assert holdings.positioned("a", 20, 21) == (False, 20), "21 was dropped"


def test_a_writer_that_the_place_does_not_know() -> None:
    holdings = Holdings({"a": 20})
    assert holdings.positioned("b", 5, 5) == (False, 0)
    assert holdings.ask("b") == "1 b"
