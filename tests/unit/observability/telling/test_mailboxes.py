"""What is told of mailboxes: each word of the machine has its line, and its record."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import MailboxLinkDown, MailboxLinkUp, MailboxNoted
from pyrepl.observability.telling.mailboxes import NOTICES, MailboxTeller
from pyrepl.observability.telling.voice import Voice
from tests.house.source import python, shown

KINDS = sorted(NOTICES)


def nodes() -> Iterator[ast.AST]:
    """The room of mailboxes."""
    for path in python("pyrepl"):
        if shown(path).startswith("pyrepl/mailbox/"):
            yield from ast.walk(ast.parse(path.read_text()))


def words() -> set[str]:
    """All texts there."""
    return {text for node in nodes() for text in texts(node)}


def texts(node: ast.AST) -> list[str]:
    """The text that a constant is."""
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def noted() -> set[str]:
    """The words that are noted, as far as they are named where that is done."""
    found: set[str] = set()
    for node in nodes():
        if isinstance(node, ast.Call) and len(node.args) == 2:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("note", "Notice"):
                found |= {text for each in ast.walk(node.args[0]) for text in texts(each)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "_tell":
            found |= {text for each in node.args[1:2] for text in texts(each)}
    return found


class Both:
    """What was said, in order: lines as text, records as they are."""

    def __init__(self) -> None:
        self.said: list[str | Record] = []
        self.teller = MailboxTeller(Voice(self._line, self.said.append))

    def _line(self, event: Event) -> None:
        self.said.append(event.text())


def test_each_word_of_the_machine_has_a_line_and_each_line_is_a_word_of_it() -> None:
    assert noted() - set(KINDS) == set(), "give it a line"
    assert set(KINDS) - words() == set(), "nobody says it any more"
    assert len(noted()) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_begins_with_the_word_and_what_it_is_about(kind: str) -> None:
    both = Both()
    both.teller.noted(kind, "alice INBOX 7")
    line, record = both.said
    assert str(line).startswith(f"Mailboxes: {kind} alice INBOX 7")
    assert len(str(line)) > len(f"Mailboxes: {kind} alice INBOX 7: ")
    assert record == MailboxNoted(kind, "alice INBOX 7")


def test_a_word_without_a_line_is_said_all_the_same() -> None:
    both = Both()
    both.teller.noted("something", "new")
    assert both.said == ["Mailboxes: something new", MailboxNoted("something", "new")]


def test_what_to_do_is_said() -> None:
    both = Both()
    both.teller.noted("expunge_guard", "alice INBOX 200")
    both.teller.noted("uids_run_out", "alice INBOX")
    assert "MAILBOX ALLOW" in str(both.said[0]) and "MAILBOX RENEW" in str(both.said[2])
    both.teller.noted("flags_differ", "alice INBOX 200")
    assert {"MAILBOX ALLOW", "MAILBOX DENY"} <= set(re.findall("MAILBOX [A-Z]+", str(both.said[4])))


def test_links_and_disks() -> None:
    both = Both()
    both.teller.link_up("b", "10.0.0.2:7390")
    both.teller.link_in_clear("b", "9.9.9.9:7390")
    both.teller.link_lost("b", "10.0.0.2:7390", "reset")
    both.teller.stopped("alice", "no space")
    both.teller.resumed("alice")
    both.teller.refused("no disk")
    both.teller.kept_again("no disk", 61.4)
    both.teller.begun_again("it broke")
    both.teller.left("a")
    both.teller.lmtp_unreachable("/run/dovecot/lmtp", "no such file")
    assert both.said[1::2] == [
        MailboxLinkUp("b"),
        MailboxNoted("link_in_clear", "b 9.9.9.9:7390"),
        MailboxLinkDown("b", "reset"),
        MailboxNoted("user_stopped", "alice: no space"),
        MailboxNoted("user_resumed", "alice"),
        MailboxNoted("refused", "no disk"),
        MailboxNoted("kept_again", "no disk"),
        MailboxNoted("begun_again", "it broke"),
        MailboxNoted("left", "a"),
        MailboxNoted("lmtp_unreachable", "no such file"),
    ]
    for line, record in zip(both.said[::2], both.said[1::2], strict=True):
        if isinstance(record, MailboxNoted):
            assert str(line).startswith(f"Mailboxes: {record.cause}. "), "the word stands in the log too"
    assert both.said[0] == "The mailbox node b at 10.0.0.2:7390 is connected"
