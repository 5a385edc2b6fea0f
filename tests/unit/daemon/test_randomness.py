"""Randomness: its ranges, and that a seed makes it repeatable."""

from __future__ import annotations

from pyrepl.daemon.randomness import Randomness
from pyrepl.replication.history import is_replid


def test_a_seed_makes_it_repeatable() -> None:
    one, other = Randomness(7), Randomness(7)
    assert [one.below(1000) for _ in range(20)] == [other.below(1000) for _ in range(20)]
    assert one.fraction() == other.fraction()


def test_ranges() -> None:
    randomness = Randomness(1)
    assert {randomness.below(3) for _ in range(100)} == {0, 1, 2}
    assert all(0 <= randomness.fraction() < 1 for _ in range(100))


def test_names_are_random_even_with_a_seed() -> None:
    """Two nodes must never choose the same id, so these do not come from the seed."""
    ids = [Randomness(7).replid() for _ in range(3)]
    assert len(set(ids)) == 3 and all(map(is_replid, ids))
    marks = {Randomness(7).eof_mark() for _ in range(3)}
    assert len(marks) == 3 and all(len(mark) == 40 for mark in marks)
