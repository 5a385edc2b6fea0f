"""Letters and flags."""

from __future__ import annotations

from pyrepl.mailbox.maildir.keywords import Keywords
from pyrepl.mailbox.maildir.letters import SYSTEM, flags_of, letter_of, letters_of

KEYWORDS = Keywords({0: "kw0", 3: "kw3"})


def test_every_system_flag_has_its_letter() -> None:
    assert letters_of(SYSTEM, KEYWORDS) == b"DFRST"
    assert flags_of(b"DFRST", KEYWORDS) == set(SYSTEM)


def test_keywords_by_name() -> None:
    assert letters_of(["kw3", "\\Seen", "KW0"], KEYWORDS) == b"Sad"
    assert flags_of(b"Sad", KEYWORDS) == {"\\Seen", "kw0", "kw3"}


def test_letters_that_are_no_flags_stay() -> None:
    assert flags_of(b"PSXz", KEYWORDS) == {"\\Seen"}
    assert letters_of(["\\Flagged"], KEYWORDS, b"PSXz") == b"FPXz"


def test_a_keyword_without_a_letter_has_none() -> None:
    assert letter_of("other", KEYWORDS) is None
    assert letter_of("\\Recent", KEYWORDS) is None
    assert letters_of(["other", "\\Recent"], KEYWORDS) == b""
