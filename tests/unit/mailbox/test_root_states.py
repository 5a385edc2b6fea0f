"""The table of elections."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.root_states import ROOT, RootState, RootTrigger


def test_nobody_claims_without_asking_first() -> None:
    ways_in = {state for (state, trigger), after in ROOT.moves.items() if after is RootState.CLAIMING}
    assert ways_in == {RootState.PROBING}
    with pytest.raises(PeerError):
        ROOT.after(RootState.FOLLOWING, RootTrigger.MAJORITY)


def test_a_higher_epoch_ends_everything() -> None:
    assert {ROOT.after(state, RootTrigger.OTHER_EPOCH) for state in RootState} == {RootState.FOLLOWING}
