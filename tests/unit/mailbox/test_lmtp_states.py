"""The moves of the LMTP proxy: a text needs a DATA that was allowed, and a held reply is told."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.lmtp_states import LMTP, LmtpState, LmtpTrigger


def test_a_delivery_goes_round() -> None:
    state = LmtpState.COMMANDS
    for trigger in (LmtpTrigger.DATA, LmtpTrigger.GO, LmtpTrigger.END, LmtpTrigger.STORED, LmtpTrigger.TOLD):
        state = LMTP.after(state, trigger)
    assert state is LmtpState.COMMANDS


def test_nothing_is_stored_before_the_text_is_over() -> None:
    with pytest.raises(PeerError, match="stored is not expected in state text"):
        LMTP.after(LmtpState.TEXT, LmtpTrigger.STORED)
