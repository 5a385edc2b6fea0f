"""For how long what was done here has waited for another member."""

from __future__ import annotations

from pyrepl.daemon.mailbox.lag import MOST_NOTED, Lag


def test_the_oldest_op_that_is_missing_counts() -> None:
    lag = Lag()
    assert lag.lag_s(0, 9.0) == 0
    lag.note(5, 1.0)
    lag.note(5, 2.0)
    lag.note(8, 3.0)
    assert lag.lag_s(4, 4.0) == 3.0
    assert lag.lag_s(5, 4.0) == lag.lag_s(7, 4.0) == 1.0
    assert lag.lag_s(8, 4.0) == lag.lag_s(99, 4.0) == 0


def test_it_takes_no_more_memory_the_longer_a_member_is_away() -> None:
    lag = Lag()
    for seq in range(1, 20 * MOST_NOTED):
        lag.note(seq, float(seq))
    assert len(lag._seqs) <= MOST_NOTED
    now = 20.0 * MOST_NOTED
    assert lag.lag_s(0, now) == now - 1, "the age of the oldest is exact"
    assert lag.lag_s(20 * MOST_NOTED - 2, now) == 1.0
