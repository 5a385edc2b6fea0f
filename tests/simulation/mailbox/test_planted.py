"""Bugs that are planted are found: a simulation that finds nothing may only be blind."""

from __future__ import annotations

import pytest

from tests.simulation.mailbox.bugs import BUGS, FOUND_BY
from tests.simulation.mailbox.history import run

MOST_SEEDS = 1000


def _finds(seed: int) -> bool:
    try:
        run(seed)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        BUGS[name](patch)
        assert any(map(_finds, (FOUND_BY.get(name, 0), *range(MOST_SEEDS))))
