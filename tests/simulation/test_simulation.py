"""Seeded runs of several nodes over a bad network. A failure prints seed, ids and cuts of all nodes, last events.

PYREPL_SIMULATION_SEEDS and PYREPL_SIMULATION_FIRST_SEED choose how many runs and which.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.world import World

SEEDS = int(os.environ.get("PYREPL_SIMULATION_SEEDS", "25"))
FIRST_SEED = int(os.environ.get("PYREPL_SIMULATION_FIRST_SEED", "1"))


def run(seed: int, steps: int, names: str = "abcd") -> World:
    """One run: a few nodes, trouble, quiet, equal data."""
    world = World(seed, names)
    try:
        for name in world.names[1:]:
            world._follow_somebody(world.nodes[name])
        world.shake(steps)
        world.settle_down(world.heal(), 200.0)
    except BaseException as error:
        error.add_note("\n".join([f"seed {seed}", *world.places(), *world.lines[-120:]]))
        raise
    return world


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_happens_all_end_equal(seed: int) -> None:
    run(seed, 400)


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(7, 100).lines == run(7, 100).lines
