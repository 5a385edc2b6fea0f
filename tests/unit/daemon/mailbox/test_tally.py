"""How long a node was apart, in all."""

from __future__ import annotations

from pyrepl.daemon.mailbox.tally import Tally


def test_times_apart_are_added_up() -> None:
    tally = Tally()
    assert tally.apart_s(5.0) == 0
    tally.apart(True, 10.0)
    assert tally.apart_s(12.0) == 2.0
    tally.apart(True, 13.0)
    tally.apart(False, 14.0)
    tally.apart(False, 20.0)
    assert tally.apart_s(30.0) == 4.0
    tally.apart(True, 40.0)
    assert tally.apart_s(41.5) == 5.5 and tally.apart_for_s(41.5) == 1.5
