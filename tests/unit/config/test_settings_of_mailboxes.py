"""Directives of mailboxes that say nothing beside others are told of."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.config.settings import Settings, why_without_effect

MEMBERS = (MailboxMember("a", "127.0.0.1", 1, False), MailboxMember("w", "127.0.0.1", 2, True))


def of(name: str = "a", **more: Any) -> Settings:
    unlike = {"mailbox_maildir": "/mail/%u", "mailbox_orphan": 1, "mailbox_expunge_guard": 1, "mailbox_poll": 50}
    unlike |= {"mailbox_scrub": 1, "mailbox_layout": "fs", "mailbox_dir": "/x", "mailbox_lease": 100}
    settings = {"mailbox_port": 7390, "mailbox_node": name, "mailbox_members": MEMBERS}
    return Settings(**unlike | settings | more)


@pytest.mark.parametrize(
    ("settings", "names", "why"),
    [
        (of(mailbox_port=0), ("mailbox-maildir", "mailbox-node"), "needs mailbox-port"),
        (of("w"), ("mailbox-maildir", "mailbox-orphan", "mailbox-scrub"), "a witness keeps no mail"),
        (of(mailbox_store="doveadm"), ("mailbox-maildir",), "where its Dovecot has it"),
        (of(mailbox_store="doveadm"), ("mailbox-orphan",), "no gates"),
        (of(), ("mailbox-orphan", "mailbox-expunge-guard", "mailbox-poll"), "needs mailbox-gate on"),
        (of(mailbox_gate="on", mailbox_apart="refuse"), ("mailbox-orphan",), "stay shut"),
    ],
)
def test_what_says_nothing(settings: Settings, names: tuple[str, ...], why: str) -> None:
    for name in names:
        assert why in (why_without_effect(settings, name) or ""), name


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (of(), ("mailbox-maildir", "mailbox-layout", "mailbox-scrub", "mailbox-node")),
        (of(mailbox_gate="on"), ("mailbox-orphan", "mailbox-expunge-guard", "mailbox-poll")),
        (of(mailbox_store="doveadm"), ("mailbox-expunge-guard", "mailbox-poll", "mailbox-layout")),
        (of("w"), ("mailbox-members", "mailbox-lease", "mailbox-dir")),
    ],
)
def test_what_says_something(settings: Settings, names: tuple[str, ...]) -> None:
    assert [name for name in names if why_without_effect(settings, name)] == []


def test_a_default_is_not_told_of() -> None:
    assert why_without_effect(of(mailbox_orphan=20_000), "mailbox-orphan") is None
