"""Words with Redis's quoting, and as text."""

from __future__ import annotations

import pytest

from pyrepl.words import from_text, quote_word, split_words, to_text

LINES = [
    (b"", []),
    (b" \t\r\n", []),
    (b"set a 1", [b"set", b"a", b"1"]),
    (b"  set\ta\x0b1 ", [b"set", b"a", b"1"]),
    (b"set \"a b\" 'c d'", [b"set", b"a b", b"c d"]),
    (b"\"\" ''", [b"", b""]),
    (b'"\\n\\r\\t\\b\\a\\x41\\q\\\\\\""', [b'\n\r\t\b\aAq\\"']),
    (b'"\\x4" "\\xzz"', [b"x4", b"xzz"]),
    (b"'a\\'b\\n'", [b"a'b\\n"]),
    (b'pre"fix"', [b"prefix"]),
    (b"a\\n", [b"a\\n"]),
]


@pytest.mark.parametrize(("line", "words"), LINES)
def test_words(line: bytes, words: list[bytes]) -> None:
    assert split_words(line) == words


@pytest.mark.parametrize("line", [b'"', b"'", b'"a', b"'a", b'"a"b', b"'a'b", b'a "b\\"', b'"a\\', b'a"b"c'])
def test_unbalanced_quotes(line: bytes) -> None:
    assert split_words(line) is None


def test_quoting_keeps_printable_ascii() -> None:
    assert quote_word(b"plain text") == b'"plain text"'
    assert quote_word(b'a"b\\c\n\r\t\a\b\x00\xff') == b'"a\\"b\\\\c\\n\\r\\t\\a\\b\\x00\\xff"'


def test_any_bytes_survive_as_text() -> None:
    assert from_text(to_text(bytes(range(256)))) == bytes(range(256))
