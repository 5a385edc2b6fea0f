"""Each kind of server as master and as replica of pyrepl, with and without a file between: tests/interop/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.interop import pair
from tests.interop.pair import Pair
from tests.peers import dataset
from tests.peers.kinds import KINDS
from tests.peers.lab import Lab

CI_SCALE: Final = 4000

PAIRS: Final = [
    Pair(master, replica, diskless)
    for master in KINDS
    for replica in KINDS
    if "pyrepl" in (master, replica)
    for diskless in (False, True)
]

SOME: Final = [each for place, each in enumerate(PAIRS) if each.diskless == bool(place // 2 % 2)]
"""Each two kinds once: one of them after the other with and without disk."""

CONTROL: Final = Pair("redis7", "redis7", True)
"""Two real servers: what is asked of pyrepl is what they do, and the checks can be passed."""


@pytest.mark.parametrize("which", SOME, ids=str)
def test_pair_small(lab: Lab, dumps: Path, which: Pair) -> None:
    pair.run(lab, which, CI_SCALE, dumps)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", PAIRS, ids=str)
def test_pair_full(lab: Lab, dumps: Path, which: Pair) -> None:
    pair.run(lab, which, dataset.FULL, dumps)


def test_two_real_servers(lab: Lab, dumps: Path) -> None:
    pair.run(lab, CONTROL, CI_SCALE, dumps)
