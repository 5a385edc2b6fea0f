"""CLIENT PAUSE: what waits, and until when."""

from __future__ import annotations

from pyrepl.node.conditions import Conditions
from pyrepl.node.pause import Pause
from pyrepl.replication.role import Holder


def test_nothing_waits() -> None:
    assert not Pause(Conditions()).holds(0, may_write=True)
    assert Pause(Conditions()).until_ms() == 0


def test_everything_waits_until_the_end_which_is_exclusive() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=False)
    assert pause.holds(99, may_write=False)
    assert not pause.holds(100, may_write=False)


def test_only_writes_wait() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=True)
    assert pause.holds(50, may_write=True)
    assert not pause.holds(50, may_write=False)


def test_both() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=False)
    pause.begin(200, writes_only=True)
    assert pause.until_ms() == 200
    assert pause.holds(50, may_write=False)
    assert not pause.holds(150, may_write=False)
    assert pause.holds(150, may_write=True)


def test_a_later_end_wins() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=False)
    pause.begin(50, writes_only=False)
    assert pause.until_ms() == 100


def test_end() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=False)
    pause.begin(100, writes_only=True)
    pause.end()
    assert not pause.holds(0, may_write=True)


def test_each_holder_lets_go_by_itself() -> None:
    pause = Pause(Conditions())
    pause.hold_writes(Holder.FAILOVER)
    pause.hold_writes(Holder.SHUTDOWN)
    pause.begin(100, writes_only=False)
    pause.end()
    assert pause.holds(0, may_write=True) and not pause.holds(0, may_write=False)
    pause.let_go(Holder.FAILOVER)
    assert pause.holds(1 << 60, may_write=True) and pause.until_ms() > 1 << 60
    pause.let_go(Holder.SHUTDOWN)
    assert not pause.holds(0, may_write=True) and pause.until_ms() == 0


def test_what_an_operator_asked_for_outlives_a_holder() -> None:
    pause = Pause(Conditions())
    pause.begin(100, writes_only=True)
    pause.hold_writes(Holder.FAILOVER)
    pause.let_go(Holder.FAILOVER)
    assert pause.holds(99, may_write=True) and not pause.holds(100, may_write=True)


def test_the_next_end_is_the_earlier_one_to_come() -> None:
    pause = Pause(Conditions())
    assert pause.next_end_ms(0) is None
    pause.begin(100, writes_only=False)
    pause.begin(300, writes_only=True)
    assert (pause.next_end_ms(0), pause.next_end_ms(100), pause.next_end_ms(300)) == (100, 300, None)
