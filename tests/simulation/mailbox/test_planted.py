"""Bugs that are planted are found: a simulation that finds nothing may only be blind."""

from __future__ import annotations

import pytest

from tests.simulation.mailbox.bugs import BUGS
from tests.simulation.mailbox.history import run


@pytest.mark.parametrize("name", sorted(BUGS))
def test_a_planted_bug_is_found(name: str) -> None:
    planted = BUGS[name]
    with pytest.MonkeyPatch.context() as patch:
        planted.plant(patch)
        with pytest.raises(AssertionError):
            run(planted.seed)
    run(planted.seed)
