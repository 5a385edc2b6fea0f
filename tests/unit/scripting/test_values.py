"""Replies as values for Lua."""

from __future__ import annotations

from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK, Push, Simple, Verbatim
from pyrepl.scripting.values import FLAT, MOST_AT_ONCE, Tokens, flat_items, text_of_error, word_of


def test_words() -> None:
    assert word_of(b"x") == b"x" and word_of(7) == b"7" and word_of(1.5) == b"1.5"
    assert word_of(1 << 62) == b"4611686018427387904" and word_of((1 << 62) + 1024) == b"4611686018427389000"
    assert word_of(None) is None and word_of(True) is None


def test_errors_are_one_line() -> None:
    assert text_of_error(CommandError("ERR a\r\nb")) == b"ERR a  b"


def test_flat_arrays() -> None:
    assert flat_items([b"a", 1, None], 2) == ((0, FLAT, b"a", 1, False), 64 * 3 + 1)
    assert flat_items([None], 3) is None and flat_items([OK], 2) is None
    assert flat_items([1] * (MOST_AT_ONCE + 1), 2) is None


def test_tokens_of_nested_replies() -> None:
    tokens = Tokens()
    tokens.add_reply([b"a", {b"k": 1.5}, {b"m"}, None, True, OK, CommandError("E x"), Verbatim(b"v"), Push([1])], 3)
    assert tokens.kinds == b"avmvdSvntsexav"
    assert tokens.take() == (9, b"a", 1, b"k", 1.5, 1, b"m", b"OK", b"E x", b"txt", b"v", 1, 1)
    assert tokens.take() == ()
    tokens = Tokens()
    tokens.add_reply({b"k": 1.5, b"l": None, b"m": True}, 2)
    assert tokens.kinds == b"avvvfvv" and tokens.take() == (6, b"k", b"1.5", b"l", b"m", 1)


def test_values_come_in_pieces() -> None:
    tokens = Tokens()
    tokens.add_reply([Simple(b"x")] * 5000, 2)
    sizes = []
    while piece := tokens.take():
        sizes.append(len(piece))
    assert sizes == [2000, 2000, 1001] and tokens.size_bytes > 5000 * 64
