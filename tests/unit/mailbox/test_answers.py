"""Answers: what they state, and that a reason is one of those that senders know."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.words import Dot


def test_an_answer_states_what_it_has() -> None:
    assert Ok(uid=57).words() == ["uid=57"]
    assert No(reason=Reason.EPOCH, epoch=7, root="a").words() == ["EPOCH", "epoch=7", "root=a"]
    assert Ok.parse(["at=a:901", "acks=1"]) == Ok(at=Dot("a", 901), acks=1)


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_that_came_is_the_one_that_was_said(reason: Reason) -> None:
    answer = No.parse(No(reason=reason).words())
    assert isinstance(answer, No) and answer.reason is reason


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(PeerError, match="expected one of TIMEOUT, APART"):
        No.parse(["BECAUSE"])
    with pytest.raises(PeerError, match="NO needs reason"):
        No.parse([])
