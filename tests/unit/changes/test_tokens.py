"""Names and tokens: what may stand where, so that no word can be read as another kind."""

from __future__ import annotations

import pytest

from pyrepl.changes.tokens import MAX_TOKEN, is_token, parse_token, shown, why_not_stream, why_not_writer
from pyrepl.errors import PeerError


@pytest.mark.parametrize("word", ["0", "5174", "0007", str(MAX_TOKEN)])
def test_tokens(word: str) -> None:
    assert is_token(word)
    assert parse_token(word) == int(word)


@pytest.mark.parametrize("word", ["", "-1", "+1", "1.0", "batch", "NOW", "1" * 25, str(MAX_TOKEN + 1), "٣", "1_0"])
def test_what_is_no_token(word: str) -> None:
    with pytest.raises(PeerError, match="expected a token"):
        parse_token(word)


def test_a_replication_id_of_digits_alone_is_no_token() -> None:
    assert not is_token("1" * 40)
    assert why_not_writer("1" * 40) is None


@pytest.mark.parametrize("word", ["keys", "events", "to_device", "größe", "a-b.c:d"])
def test_names(word: str) -> None:
    assert why_not_stream(word) is None
    assert why_not_writer(word) is None


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\u2028b", "x" * 129, "a\x00"])
def test_what_is_no_name(word: str) -> None:
    assert why_not_stream(word) is not None
    assert why_not_writer(word) is not None


def test_words_with_a_meaning_are_no_names() -> None:
    assert why_not_stream("ALL") is not None and why_not_stream("all") is not None
    assert [word for word in ("batch", "NOW", "now", "17") if why_not_writer(word) is None] == []
    assert why_not_stream("17") is None, "a stream stands first, where no token can"


def test_what_is_shown_is_short_and_printable() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert shown("x" * 100) == repr("x" * 64 + "...")
