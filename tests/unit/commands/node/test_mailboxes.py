"""MAILBOX: what each asks of the daemon, and what is refused before."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AskMailboxes, MailboxQuestion
from pyrepl.commands.engine.table import Command
from pyrepl.commands.node import mailboxes
from pyrepl.errors import CommandError
from tests.unit.commands.rig import Rig


@pytest.fixture
def call() -> Call:
    return Rig().call()


def test_what_is_asked(call: Call) -> None:
    for row, words, asked in (
        (mailboxes.mailbox_status, (), AskMailboxes(MailboxQuestion.STATUS)),
        (mailboxes.mailbox_info, (b"bob",), AskMailboxes(MailboxQuestion.INFO, "bob")),
        (mailboxes.mailbox_info, (b"bob", "Größe".encode()), AskMailboxes(MailboxQuestion.INFO, "bob", "Größe")),
        (mailboxes.mailbox_master, (b"bob", b"INBOX"), AskMailboxes(MailboxQuestion.MASTER, "bob", "INBOX")),
        (mailboxes.mailbox_check, (), AskMailboxes(MailboxQuestion.CHECK)),
        (mailboxes.mailbox_root, (b"force",), AskMailboxes(MailboxQuestion.FORCE)),
        (mailboxes.mailbox_allow, (b"bob", b"INBOX"), AskMailboxes(MailboxQuestion.ALLOW, "bob", "INBOX")),
        (mailboxes.mailbox_deny, (b"bob", b"INBOX"), AskMailboxes(MailboxQuestion.DENY, "bob", "INBOX")),
        (mailboxes.mailbox_renew, (b"bob", b"INBOX"), AskMailboxes(MailboxQuestion.RENEW, "bob", "INBOX")),
        (mailboxes.mailbox_join, (b"bob",), AskMailboxes(MailboxQuestion.JOIN, "bob")),
        (mailboxes.mailbox_leave, (), AskMailboxes(MailboxQuestion.LEAVE)),
        (mailboxes.mailbox_leave, (b"force",), AskMailboxes(MailboxQuestion.LEAVE_FORCE)),
        (mailboxes.mailbox_users, (), AskMailboxes(MailboxQuestion.USERS)),
        (
            mailboxes.mailbox_messages,
            (b"bob", b"INBOX", b"5", b"100"),
            AskMailboxes(MailboxQuestion.MESSAGES, "bob", "INBOX", 5, 100),
        ),
    ):
        assert row.fn(call, *words) == asked


@pytest.mark.parametrize(
    ("row", "words", "why"),
    [
        (mailboxes.mailbox_info, (b"bob", b"a", b"b"), "syntax error"),
        (mailboxes.mailbox_check, (b"bob", b"a"), "syntax error"),
        (mailboxes.mailbox_root, (b"please",), "syntax error"),
        (mailboxes.mailbox_info, (b"\xff",), "UTF-8"),
        (mailboxes.mailbox_leave, (b"now",), "syntax error"),
        (mailboxes.mailbox_messages, (b"bob", b"INBOX", b"-1", b"5"), "UID must be 0 to"),
        (mailboxes.mailbox_messages, (b"bob", b"INBOX", b"0", b"0"), "count must be 1 to 5000"),
        (mailboxes.mailbox_messages, (b"bob", b"INBOX", b"0", b"5001"), "count must be 1 to 5000"),
    ],
)
def test_what_is_refused(call: Call, row: Command, words: tuple[bytes, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        row.fn(call, *words)


def test_help_names_each(call: Call) -> None:
    text = b"\n".join(line.text for line in mailboxes.mailbox_help.fn(call))
    assert all(word in text for word in (b"STATUS", b"INFO", b"MASTER", b"CHECK", b"ROOT"))
    assert all(word in text for word in (b"ALLOW", b"RENEW", b"JOIN", b"LEAVE", b"USERS", b"MESSAGES"))
