"""Questions asked at once answer in order. That what is kept is what was computed, all analyses of this folder show."""

from __future__ import annotations

import threading

import pytest

from pyrepl.metrics.keep import at_once


def test_answers_come_in_the_order_of_the_questions() -> None:
    second_is_done = threading.Event()

    def first() -> str:
        assert second_is_done.wait(10)
        return "first"

    def second() -> str:
        second_is_done.set()
        return "second"

    assert at_once(first, second) == ["first", "second"]
    assert at_once() == []


def test_what_one_raises_is_raised() -> None:
    def broken() -> None:
        raise ValueError("no such column")

    with pytest.raises(ValueError, match="no such column"):
        at_once(lambda: 1, broken)
