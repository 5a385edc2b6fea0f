"""LOCKs of mailboxes with messages that were saved apart wait until all is there, and no longer."""

from __future__ import annotations

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.early_locks import PATIENCE_S, Early, EarlyLocks
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.memory_rows import MemoryRows

LOCK, LATER = Early("box", "one", 10.0), Early("box", "two", 12.0)


def rig(**told: int) -> tuple[Core, EarlyLocks]:
    """b is linked and has told what it has; c has too, and is not linked any more."""
    core = Core("a", MemoryRows(), ("b", "c"))
    core.peers["b"].is_up = True
    core.peers["b"].tells(tuple(Dot(*dot) for dot in told.items()), {})
    core.peers["c"].tells((Dot("c", 9),), {})
    return core, EarlyLocks(core)


def test_nothing_is_waited_for_where_all_is_there() -> None:
    core, locks = rig(b=2)
    core.causal.held["b"] = 2
    assert not locks.keep(LOCK, 0.0) and locks.due(0.0) == [] and locks.next_deadline() == float("inf")


def test_a_lock_waits_for_what_linked_members_had_and_not_for_what_they_have_since() -> None:
    core, locks = rig(b=2, d=1)
    assert locks.keep(LOCK, 0.0) and locks.keep(LATER, 1.0)
    core.peers["b"].tells((Dot("b", 7),), {})
    core.causal.held["b"] = 2
    assert locks.due(1.0) == []
    core.causal.held["d"] = 1
    assert locks.due(1.0) == [LOCK, LATER] and locks.due(1.0) == []
    assert locks.keep(LOCK, 2.0), "b has more by now"


def test_it_is_not_waited_for_long() -> None:
    _, locks = rig(b=2)
    assert locks.keep(LOCK, 0.0) and locks.next_deadline() == PATIENCE_S
    assert locks.due(PATIENCE_S - 0.1) == [] and locks.due(PATIENCE_S) == [LOCK]


def test_a_lock_with_less_patience_is_told_in_time_and_one_that_ended_not_at_all() -> None:
    _, locks = rig(b=2)
    assert locks.keep(LOCK._replace(until=1.0), 0.0) and locks.keep(LATER, 0.0)
    assert locks.next_deadline() == 1.0 and locks.due(1.0) == [LOCK._replace(until=1.0)]
    locks.drop(LATER.lock)
    assert locks.due(PATIENCE_S) == [] and locks.next_deadline() == float("inf")
    locks.drop("never there")


def test_patience_that_ended_with_its_lock_counts_for_who_asks_soon_again_and_not_for_a_later_healing() -> None:
    _, locks = rig(b=2)
    for box in ("soon", "late"):
        assert locks.keep(Early(box, box, 10.0), 0.0)
        locks.drop(box)
    assert not locks.keep(Early("soon", "again", 20.0), PATIENCE_S + 0.1)
    assert locks.keep(Early("late", "again", 20.0), 2 * PATIENCE_S)


def test_a_lock_that_finds_all_there_goes_before_one_that_waited_and_ends_its_waiting() -> None:
    core, locks = rig(b=2)
    assert locks.keep(LOCK, 0.0)
    core.causal.held["b"] = 2
    assert not locks.keep(LATER, 1.0)
    assert locks.next_deadline() == PATIENCE_S and locks.due(1.0) == [LOCK] and locks.due(PATIENCE_S) == []
