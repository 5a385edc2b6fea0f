"""A member, as INFO shows it."""

from __future__ import annotations

from pyrepl.node.mailboxes import MailboxMember


def test_a_member_is_a_value() -> None:
    one = MailboxMember("b", "10.0.0.2:7390", "up", lag_ops=2, lag_ms=5)
    assert one == ("b", "10.0.0.2:7390", "up", 2, 5)
