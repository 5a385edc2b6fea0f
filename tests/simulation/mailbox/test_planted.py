"""Bugs that are planted are found: a simulation that finds nothing may only be blind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.mailbox.bugs import BUGS
from tests.simulation.mailbox.history import run

MOST_SEEDS = 1000


def _finds(seed: int) -> bool:
    try:
        run(seed)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("plant", BUGS.values(), ids=BUGS.keys())
def test_a_planted_bug_is_found(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        assert any(map(_finds, range(MOST_SEEDS)))
