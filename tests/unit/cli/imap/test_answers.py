"""What an IMAP server says, out of its bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.imap.answers import MOST_DEPTH, ImapError, Word, Words, literal_size, words_of

ATOMS = st.from_regex(rb"[!#-'*+\-./0-9:-~\x80-\xff]{1,9}", fullmatch=True).filter(
    lambda atom: atom.upper() != b"NIL" and not re.search(rb"\{\d+\}$", atom)
)
TEXTS = st.binary(max_size=12)
WORDS = st.recursive(
    st.one_of(st.none(), ATOMS, TEXTS), lambda words: st.lists(words, max_size=4).map(tuple), max_leaves=12
)


def pieces(words: Words) -> list[bytes]:
    """An answer, of lines and literals."""
    found = [b"* "]
    for number, word in enumerate(words):
        found[-1] += b" " if number else b""
        _write(word, found)
    return found


def _write(word: Word, found: list[bytes]) -> None:
    if isinstance(word, tuple):
        found[-1] += b"("
        for number, each in enumerate(word):
            found[-1] += b" " if number else b""
            _write(each, found)
        found[-1] += b")"
    elif word is None:
        found[-1] += b"NIL"
    elif re.fullmatch(rb"[\x20-\x7e]*", word) and not word.endswith(b"}"):
        found[-1] += b'"' + re.sub(rb'(["\\])', rb"\\\1", word) + b'"'
    else:
        found[-1] += b"{%d}" % len(word)
        found += [word, b""]


def _depth(word: Word) -> int:
    return 1 + max(map(_depth, word), default=0) if isinstance(word, tuple) else 0


@given(st.lists(WORDS, min_size=1, max_size=6).map(tuple))
def test_words_are_read_as_they_were_written(words: Words) -> None:
    if _depth(words) - 1 <= MOST_DEPTH:
        assert words_of(pieces(words)) == words


@given(st.binary(max_size=60))
def test_bytes_are_words_or_refused(data: bytes) -> None:
    try:
        found = words_of([b"* " + data])
    except ImapError:
        return
    assert isinstance(found, tuple)


def test_a_line_of_each_kind() -> None:
    assert words_of([b"* 5 EXISTS"]) == (b"5", b"EXISTS")
    assert words_of([b'* LIST (\\HasNoChildren) "/" INBOX']) == (b"LIST", (b"\\HasNoChildren",), b"/", b"INBOX")
    assert words_of([b"* ok [CODE ( text"]) == (b"OK",)
    assert words_of([b"* LIST () NIL {3}", b"a)b", b""]) == (b"LIST", (), None, b"a)b")
    assert words_of([b"* 1 FETCH (FLAGS (a[b ]c) X {2}", b"()", b" UID 7)"]) == (
        *(b"1", b"FETCH"),
        (b"FLAGS", (b"a[b", b"]c"), b"X", b"()", b"UID", b"7"),
    )


@pytest.mark.parametrize("line", [b"* (", b"* )", b"* a)", b'* "a', b"* a\x01", b"* " + b"(" * (MOST_DEPTH + 1)])
def test_what_is_no_answer(line: bytes) -> None:
    with pytest.raises(ImapError):
        words_of([line])


def test_which_lines_a_literal_follows() -> None:
    assert literal_size(b"* LIST () NIL {12}") == 12
    assert literal_size(b"* LIST () NIL {12} ") is literal_size(b"x {a}") is literal_size(b"x {12345678901}") is None
