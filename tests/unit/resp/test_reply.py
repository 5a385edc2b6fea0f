"""The kinds of reply: equality and what they refuse."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY, OK, Push, Raw, Simple, Verbatim


def test_equal_by_content() -> None:
    assert Simple(b"OK") == OK
    assert hash(Simple(b"OK")) == hash(OK)
    assert Simple(b"NO") != OK
    assert Verbatim(b"a") == Verbatim(b"a", b"txt")
    assert Verbatim(b"a") != Verbatim(b"a", b"mkd")
    assert len({Verbatim(b"a"), Verbatim(b"a")}) == 1
    assert Push([b"a"]) == Push((b"a",))
    assert Push([b"a"]) != Push([b"b"])


def test_a_status_is_one_line_and_a_format_three_bytes() -> None:
    with pytest.raises(AssertionError):
        Simple(b"a\r\nb")
    with pytest.raises(AssertionError):
        Verbatim(b"a", b"text")


def test_they_show_what_they_hold() -> None:
    shown = [repr(reply) for reply in (OK, Verbatim(b"a"), Push([1]), Raw(b"x"), NULL_ARRAY, NO_REPLY)]
    assert shown == ["Simple(b'OK')", "Verbatim(b'a', b'txt')", "Push([1])", "Raw(b'x')", "NULL_ARRAY", "NO_REPLY"]
