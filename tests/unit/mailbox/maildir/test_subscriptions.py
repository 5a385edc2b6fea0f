"""The file of subscriptions, both versions."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir import subscriptions

DOVECOTS = b"V\t2\n\nWork\tSub\nB&APw-cher\t&- x\nINBOX\tchild\n"
NAMES = ("Work/Sub", "Bücher/& x", "INBOX/child")


def test_a_file_of_dovecot() -> None:
    assert subscriptions.parse(DOVECOTS, ".") == NAMES
    assert subscriptions.render(NAMES) == DOVECOTS


@pytest.mark.parametrize(("data", "separator"), [(b"Work.Sub\nINBOX\n", "."), (b"Work/Sub\nINBOX\n", "/")])
def test_version_1(data: bytes, separator: str) -> None:
    assert subscriptions.parse(data, separator) == ("Work/Sub", "INBOX")


def test_no_names() -> None:
    assert subscriptions.parse(b"", ".") == subscriptions.parse(subscriptions.render(()), ".") == ()


def test_names_are_escaped() -> None:
    assert subscriptions.render(["a\tb/c\nd"]) == b"V\t2\n\na&AAk-b\tc&AAo-d\n", "modified UTF-7 leaves none of it"
    assert subscriptions.parse(b"V\t2\n\na\x011\n\x01tb\n", ".") == (), "which no mailbox is called"


def test_what_cannot_be_read_is_passed_over() -> None:
    data = b"V\t2\n\nWork\n\xff\n&AP\na\t\tb\n\nWork\nmore\nhalf"
    assert subscriptions.parse(data, ".") == ("Work", "more")
