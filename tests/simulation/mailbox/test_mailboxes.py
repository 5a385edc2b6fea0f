"""Seeded histories of clusters that keep mailboxes: whatever breaks, nothing is lost, and all end equal.

`make simulate` runs thousands (many.py); here are as many as an ordinary run has time for.
"""

from __future__ import annotations

import pytest

from tests.simulation.mailbox.history import run, run_either

BLOCKS = 100
IN_A_BLOCK = 20
"""2,000 histories in all, in parts that several processes can share."""
STEPS_OF_EACH = 50
"""A sixth of what those of `make simulate` have: these take a minute on two cores."""
FOUND = (
    1000333,
    1000682,
    1000749,
    1000967,
    1001137,
    1001246,
    1001455,
    1001617,
    1003356,
    1007107,
    1007733,
    1016282,
    1016802,
    1018966,
    1019777,
    1020796,
    1024293,
    2003890,
    2015093,
    2029822,
    2037459,
    3003005,
    3004231,
    4000372,
    4301497,
    6006071,
    6009660,
    8000338,
    9001902,
    9008660,
    11011237,
    12011088,
    12022049,
    13009553,
    13035352,
    20069398,
    40005353,
    60009146,
    100008444,
    200004827,
    200023489,
    200031460,
    311003245,
    311010578,
    311010713,
    311011917,
    320028050,
    340001703,
    400012332,
    410008801,
)
"""Seeds of longer runs that found something."""
FOUND_BESIDE_DOVECOTS = (49, 56, 73, 74, 129, 480, 515, 951, 973, 2629, 4343, 5911, 6940, 13637, 100015779, 320008599)
FOUND_WHERE_GUIDS_CLASH = (11, 24, 30, 73, 78, 82, 162, 265, 200043969, 210011109, 311008189, 420009189)
MUST_HAPPEN = {
    "apart",
    "condstore NO",
    "copy OK",
    "crash within",
    "cut",
    "disk lost",
    "echo",
    "forgotten",
    "freeze",
    "interrupted",
    "lag",
    "lock",
    "mastership_lost",
    "race",
    "renew OK",
    "resync_by_state_done",
    "roamed",
    "single_copy",
    "slow",
    "stall",
    "stranded",
    "text_damaged",
    "tx OK",
    "united",
}
MUST_HAPPEN_BESIDE_DOVECOTS = {
    "dovecot append",
    "dovecot copy",
    "dovecot deliver",
    "dovecot delivered",
    "dovecot expunge",
    "dovecot flag",
    "keeper killed",
    "uid_burned",
}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happens_nothing_is_lost_and_all_end_equal(block: int) -> None:
    for seed in range(block * IN_A_BLOCK, (block + 1) * IN_A_BLOCK):
        run_either(seed, STEPS_OF_EACH)


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_stays_mended(seed: int) -> None:
    run(seed)


@pytest.mark.parametrize("seed", FOUND_BESIDE_DOVECOTS)
def test_what_was_found_beside_dovecots_stays_mended(seed: int) -> None:
    run(seed, gates=True)


@pytest.mark.parametrize("seed", FOUND_WHERE_GUIDS_CLASH)
def test_what_was_found_where_guids_clash_stays_mended(seed: int) -> None:
    run(seed, clashes=True)


@pytest.mark.parametrize(
    ("must_happen", "gates", "clashes"),
    [(MUST_HAPPEN, False, False), (MUST_HAPPEN_BESIDE_DOVECOTS, True, False), ({"guid_clash"}, False, True)],
)
def test_everything_happens(must_happen: set[str], gates: bool, clashes: bool) -> None:
    left = set(must_happen)
    for seed in range(5000, 5100):
        left -= run(seed, gates=gates, clashes=clashes).keys() if left else set()
    assert not left


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(7) == run(7)
