"""What a replay makes of a transcript that is not, or not any more, what nodes say."""

from __future__ import annotations

import pytest

from tests.scenario.mailbox.replay import replayed, rewritten

BEGINNING = """nodes ab
mailbox INBOX token=4.17 uidnext=57 modseq=300
mail INBOX 56=G56 size=7 \\Seen
begins epoch=4 held=a:900,b:12
"""
STORE = "m1>a 1 STORE alice INBOX uids=56 add=work\n"
SAID = """a>b o1 STORE alice #INBOX modseq=301 at=a:901 after=b:12 guids=G56 add=work
b>a o1 OK at=a:901
a>m1 1 OK modseq=301 at=a:901 acks=1
"""
SEEN = """! look
= a INBOX next=57 modseq=301 56=G56 \\Seen work
= b INBOX next=57 modseq=301 56=G56 \\Seen work
"""


def test_what_is_said_and_seen_is_written() -> None:
    assert replayed(f"{BEGINNING}{STORE}! look\n") == f"{BEGINNING}{STORE}{SAID}{SEEN}"


def test_comments_stay_above_their_lines() -> None:
    first, second, third = SAID.splitlines(keepends=True)
    text = f"{BEGINNING}# why\n{STORE}{first}# spec: b>a 7 OK at=a:901\n{second}{third}# the end\n{SEEN}"
    assert replayed(text) == text
    assert rewritten(text.replace(first, "").replace(second, "b>a 9 OK at=a:5\n")) == text


def test_nothing_is_rewritten_that_is_not_as_the_specification_has_it() -> None:
    for spec in ("b>a 7 OK at=a:902", "b>a * OK at=a:901", "a>b SAVE"):
        with pytest.raises(AssertionError, match=r"nothing is written"):
            rewritten(f"{BEGINNING}{STORE}# spec: {spec}\n{SAID}")


def test_what_is_held_is_written_when_it_arrives_too() -> None:
    text = replayed(f"{BEGINNING}! hold a>b\n{STORE}! look\n! release a>b\n")
    first, *rest = SAID.splitlines(keepends=True)
    before, after = SEEN.replace("= b INBOX next=57 modseq=301 56=G56 \\Seen work", "").strip(), "".join(rest)
    assert text == (
        f"{BEGINNING}! hold a>b\n{STORE}{first}{before}\n= b INBOX next=57 modseq=300 56=G56 \\Seen\n"
        f"! release a>b\n{first}{after}"
    )


def test_what_nobody_knows_is_refused() -> None:
    for line in ("! jump", "wait 5", "mailbox INBOX uid=5"):
        with pytest.raises(AssertionError, match="is nothing that"):
            replayed(f"{BEGINNING}{line}\n")
