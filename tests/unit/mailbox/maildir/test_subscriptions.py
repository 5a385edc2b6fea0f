"""The file of subscriptions, both versions."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir import subscriptions

DOVECOTS = b"V\t2\n\nWork\tSub\nB&APw-cher\t&- x\nINBOX\tchild\n"
NAMES = ("Work/Sub", "Bücher/& x", "INBOX/child")


def test_a_file_of_dovecot() -> None:
    assert subscriptions.parse(DOVECOTS, ".") == NAMES
    assert subscriptions.changed(DOVECOTS, ".", "Work/Ü", True) == DOVECOTS + b"Work\t&ANw-\n"
    assert subscriptions.changed(DOVECOTS, ".", "Bücher/& x", False) == b"V\t2\n\nWork\tSub\nINBOX\tchild\n"


@pytest.mark.parametrize(("data", "separator"), [(b"Work.Sub\nINBOX\n", "."), (b"Work/Sub\nINBOX\n", "/")])
def test_version_1(data: bytes, separator: str) -> None:
    assert subscriptions.parse(data, separator) == ("Work/Sub", "INBOX")
    assert subscriptions.changed(data, separator, "A", True) == b"V\t2\n\nWork\tSub\nINBOX\nA\n"


def test_no_names() -> None:
    assert subscriptions.parse(b"", ".") == subscriptions.parse(b"V\t2\n\n", ".") == ()
    assert subscriptions.changed(b"", ".", "A/B", True) == b"V\t2\n\nA\tB\n"
    assert subscriptions.changed(b"", ".", "A/B", False) == b"V\t2\n\n"


def test_names_are_escaped() -> None:
    assert subscriptions.changed(b"", ".", "a\tb/c\nd", True) == b"V\t2\n\na&AAk-b\tc&AAo-d\n", (
        "modified UTF-7 leaves none of it"
    )
    assert subscriptions.parse(b"V\t2\n\na\x011\n\x01tb\n", ".") == (), "which no mailbox is called"


def test_what_cannot_be_read_is_passed_over() -> None:
    data = b"V\t2\n\nWork\n\xff\n&AP\na\t\tb\n\nWork\nmore\nhalf"
    assert subscriptions.parse(data, ".") == ("Work", "more")


def test_what_cannot_be_read_stays() -> None:
    """A Dovecot with `mailbox_list_utf8`, or another program, may have written it."""
    unread = b"\xc3\xbc\nR&D\tx\na\t\tb\na\x01x\n"
    assert subscriptions.changed(b"V\t2\n\nWork\n" + unread, ".", "Work", False) == b"V\t2\n\n" + unread
    assert subscriptions.changed(b"\xc3\xbc\nR&D.x\na\tb.\x01\n", ".", "New", True) == (
        b"V\t2\n\n\xc3\xbc\nR&D\tx\na\x01tb\t\x011\nNew\n"
    )
