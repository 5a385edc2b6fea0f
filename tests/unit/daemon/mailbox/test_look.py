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
    choice.keep("x", b"text")
    assert kept == {"x": b"text"}
