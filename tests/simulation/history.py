"""One history, from a seed: a few nodes, trouble, quiet, equal data."""

from __future__ import annotations

import random

from tests.simulation.world import World

NAMES = ("ab", "abc", "abcd", "abcd", "abcdef")
STEPS = (100, 400, 400, 1000)


def run(seed: int) -> World:
    """The whole of one history. Raises Broken, or whatever else went wrong, with a report as its note."""
    size = random.Random(f"the size of {seed}")
    world = World(seed, size.choice(NAMES))
    try:
        world.hand.attach_all()
        world.hand.shake(size.choice(STEPS))
        world.settle_down(world.heal(), 200.0)
    except BaseException as error:
        error.add_note(report(world))
        raise
    return world


def report(world: World) -> str:
    """What one needs to see: the seed, every node's names and cuts, and the last events of all in their order."""
    again = f"seed {world.seed}; once more: make simulate FIRST={world.seed} SEEDS=1"
    return "\n".join([again, *world.places(), *world.lines[-120:]])
