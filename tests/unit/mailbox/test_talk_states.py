"""The moves of a connection."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.talk_states import TALK, TalkState, TalkTrigger


def test_nothing_is_heard_before_the_greeting() -> None:
    for state in (TalkState.EXPECTS_HELLO, TalkState.EXPECTS_AUTH):
        with pytest.raises(PeerError, match="a command is not expected in state"):
            TALK.after(state, TalkTrigger.LINE)
    assert TALK.after(TalkState.OPEN, TalkTrigger.LINE) is TalkState.OPEN


def test_there_is_no_second_greeting_and_no_second_end() -> None:
    assert not TALK.allows(TalkState.OPEN, TalkTrigger.HELLO)
    assert not TALK.allows(TalkState.EXPECTS_AUTH, TalkTrigger.HELLO)
    assert not any(TALK.allows(TalkState.CLOSED, trigger) for trigger in TalkTrigger)
