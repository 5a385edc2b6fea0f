"""Seeded histories of several nodes over a bad network. A failure prints seed, ids and cuts of all nodes, last events.

`make simulate` runs thousands (many.py); here are as many as CI has time for.
"""

from __future__ import annotations

import pytest

from tests.simulation.history import run

SEEDS = range(1, 41)
MUST_HAPPEN = {
    "black hole",
    "crash",
    "cut",
    "freeze",
    "full of a sub-replica",
    "full: id_mismatch",
    "full: out_of_backlog",
    "full: past_fork",
    "joined",
    "lie",
    "load failed",
    "loaded: first_byte",
    "loaded: last_byte",
    "loaded: loaded",
    "partial",
    "partial of a sub-replica",
    "promotion",
    "restart",
    "restart empty",
    "snapshot shared",
    "snapshot to disk",
    "snapshot to socket",
    "split",
    "stall",
    "switch",
    "two channels of redis",
    "two channels of valkey",
}
"""What a few dozen histories must hold, or they prove less than they seem to."""


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_all_end_equal(seed: int) -> None:
    run(seed)


def test_everything_happens() -> None:
    left = set(MUST_HAPPEN)
    for seed in range(1001, 1081):
        left -= run(seed).seen.keys() if left else set()
    assert not left


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(7).lines == run(7).lines
