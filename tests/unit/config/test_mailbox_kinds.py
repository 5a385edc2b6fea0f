"""The list of members as text, and back."""

from __future__ import annotations

import pytest

from pyrepl.config.mailbox_kinds import MailboxMember, MailboxMembers, MailboxPatterns
from pyrepl.errors import ConfigError

WORDS = [b"a=10.0.0.1:7390", b"b.2=mail.example.org:7391", b"w=[::1]:7392,witness"]
MEMBERS = (
    MailboxMember("a", "10.0.0.1", 7390),
    MailboxMember("b.2", "mail.example.org", 7391),
    MailboxMember("w", "::1", 7392, True),
)


def test_members_are_read_and_shown() -> None:
    kind = MailboxMembers()
    assert kind.parse(WORDS, ()) == MEMBERS
    assert kind.text(MEMBERS) == b" ".join(WORDS)
    assert kind.lines(MEMBERS) == [WORDS]
    assert kind.parse([b""], MEMBERS) == () and kind.lines(()) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([b"a"], "name=host:port"),
        ([b"a=h:0"], "name=host:port"),
        ([b"a=h:70000"], "name=host:port"),
        ([b"a=h:1,other"], "name=host:port"),
        ([b"a b=h:1"], "name=host:port"),
        ([b"a=::1:5"], "name=host:port"),
        ([b"a=h:1", b"a=g:1"], "twice"),
        ([b"n%d=h:1" % number for number in range(17)], "at most 16"),
    ],
)
def test_what_is_no_list_of_members(words: list[bytes], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        MailboxMembers().parse(words, ())


def test_patterns_of_users_and_mailboxes() -> None:
    kind = MailboxPatterns()
    parsed = kind.parse([b"bob", b"*/Trash", b"alice/Lists/*"], ())
    assert parsed == ("bob", "*/Trash", "alice/Lists/*") and kind.parse([b""], parsed) == ()
    assert kind.text(parsed) == b"bob */Trash alice/Lists/*"
    assert kind.lines(parsed) == [[b"bob", b"*/Trash", b"alice/Lists/*"]] and kind.lines(()) == []
    for wrong in (b"/Trash", b"alice/"):
        with pytest.raises(ConfigError, match="user/mailbox"):
            kind.parse([wrong], ())
    with pytest.raises(ConfigError, match="at most 1000"):
        kind.parse([b"x"] * 1001, ())
