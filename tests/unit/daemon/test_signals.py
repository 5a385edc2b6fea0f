"""Subscribers hear in the order in which they came, each time, and what one raises is the teller's."""

from __future__ import annotations

import pytest

from pyrepl.daemon.signals import Signal, SignalOf, Signals


def test_in_order_and_each_time() -> None:
    heard: list[str] = []
    signal = Signal()
    signal.tell()
    signal.subscribe(lambda: heard.append("a"), lambda: heard.append("b"))
    signal.subscribe(lambda: heard.append("c"))
    signal.tell()
    signal.tell()
    assert "".join(heard) == "abcabc"


def test_one_that_says_something() -> None:
    heard: list[bool] = []
    signal = SignalOf[bool]()
    signal.subscribe(heard.append, lambda what: heard.append(not what))
    signal.tell(True)
    assert heard == [True, False]


def test_what_a_subscriber_raises() -> None:
    def broken() -> None:
        raise ValueError("a defect")

    heard: list[int] = []
    signal = Signal()
    signal.subscribe(broken, lambda: heard.append(1))
    with pytest.raises(ValueError, match="a defect"):
        signal.tell()
    assert heard == []


def test_each_node_has_its_own() -> None:
    heard: list[str] = []
    one, two = Signals(), Signals()
    one.acked.subscribe(lambda: heard.append("one"))
    two.acked.tell()
    assert heard == []
