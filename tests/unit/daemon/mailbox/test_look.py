"""Which texts a look reads."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox import look as room
from pyrepl.daemon.mailbox.look import Look, TextChoice


def test_texts_of_new_messages_and_of_those_that_are_wanted_are_read() -> None:
    choice = TextChoice(Look(5, wanted=frozenset({"b"})))
    assert [choice.wants(uid, guid) for uid, guid in enumerate("abcdef", start=1)] == [
        False,
        True,
        False,
        False,
        *[True] * 2,
    ]


def test_no_more_than_one_round_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_TEXTS", 2)
    kept: dict[str, bytes] = {}
    choice = TextChoice(Look(2, keep=kept.__setitem__))
    assert [choice.wants(uid, "x") for uid in range(1, 6)] == [False, True, True, False, False]
    choice.take("x", b"text", is_all=True)
    choice.take("y", b"a piece", is_all=False)
    assert kept == {"x": b"text"}


def test_large_texts_end_a_look_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has the lock makes a Dovecot wait."""
    monkeypatch.setattr(room, "MOST_TEXT_BYTES", 10)
    choice = TextChoice(Look(1))
    read = []
    for uid in range(1, 6):
        if choice.wants(uid, "x"):
            read.append(uid)
            choice.take("x", b"1234567", is_all=False)
    assert read == [1, 2], "the one that is wanted first is read whatever its size, so each look comes further"
