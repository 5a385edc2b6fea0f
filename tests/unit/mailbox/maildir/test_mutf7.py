"""Modified UTF-7, with the examples of RFC 3501 and of Dovecot's folders."""

from __future__ import annotations

import pytest

from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import mutf7

PAIRS = [
    ("", b""),
    ("Work 2026", b"Work 2026"),
    ("Bücher", b"B&APw-cher"),
    ("& x", b"&- x"),
    ("&&", b"&-&-"),
    ("~peter/mail/台北/日本語", b"~peter/mail/&U,BTFw-/&ZeVnLIqe-"),
    ("\U0001f4ec", b"&2D3c7A-"),
    ("a\tb", b"a&AAk-b"),
]


@pytest.mark.parametrize(("text", "data"), PAIRS)
def test_texts_and_their_bytes(text: str, data: bytes) -> None:
    assert mutf7.encode(text) == data
    assert mutf7.decode(data) == text


@pytest.mark.parametrize(
    "data",
    [
        b"B\xc3\xbccher",
        b"&",
        b"a&b",
        b"&APw",
        b"&YQ-",
        b"&AC8-",
        b"&APw-&APw-",
        b"&AP-",
        b"&2D0-",
        b"&$$$$-",
        b"a\tb",
        b"&=",
    ],
)
def test_what_is_no_such_name_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptData):
        mutf7.decode(data)


def test_what_is_no_text_has_no_name() -> None:
    with pytest.raises(UnicodeEncodeError):
        mutf7.encode("\udcff")
