"""Facts are plain: what nobody gathered is nothing."""

from __future__ import annotations

from pyrepl.metrics.facts import SHARES, Facts


def test_there_are_none_by_themselves() -> None:
    assert all(rows == () for rows in Facts())


def test_shares_grow() -> None:
    assert list(SHARES) == sorted(SHARES) and SHARES[0] > 0 and SHARES[-1] < 1
