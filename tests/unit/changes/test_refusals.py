"""Which ERROR lines end a subscription for good, and as what."""

from __future__ import annotations

import pytest

from pyrepl.changes import refusals
from pyrepl.changes.refusals import ForkedHistory, TokenTooOld, UnknownStream, UnknownToken, WrongPassword, refusal_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("NOAUTH a password is wanted", WrongPassword),
        ("WRONGPASS invalid password", WrongPassword),
        ("NOSTREAM nosuch", UnknownStream),
        ("BADTOKEN token 5 lies within a command", UnknownToken),
        ("TOOOLD 4096 token 12 is older", TokenTooOld),
        ("FORKED 77 another history", ForkedHistory),
    ],
)
def test_what_ends_it(text: str, kind: type[Exception]) -> None:
    found = refusal_of(text)
    assert type(found) is kind
    assert str(found) == text


@pytest.mark.parametrize(
    "text", ["", "AHEAD 5", "LOADING 40%", "BUSY", "SLOW", "server stopping", "TOOOLDER 1", "unknown command 'X'"]
)
def test_what_is_worth_another_try(text: str) -> None:
    assert refusal_of(text) is None


@pytest.mark.parametrize(
    ("text", "oldest"),
    [("TOOOLD 4096 x", 4096), ("TOOOLD 0", 0), ("TOOOLD", None), ("TOOOLD x", None), ("TOOOLD ٣", None)],
)
def test_the_oldest_token(text: str, oldest: int | None) -> None:
    found = refusal_of(text)
    assert isinstance(found, TokenTooOld)
    assert found.oldest == oldest


def test_the_fork() -> None:
    found = refusal_of("FORKED 77 another history")
    assert isinstance(found, ForkedHistory)
    assert found.fork == 77


def test_codes_are_single_words() -> None:
    codes = [value for name, value in vars(refusals).items() if name.isupper()]
    assert len(codes) == len(set(codes)) == 11
    assert all(code.isalpha() and code.isupper() for code in codes)
