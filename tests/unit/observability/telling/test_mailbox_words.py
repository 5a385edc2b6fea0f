"""The page of words about mailboxes: complete, and the one in docs/ fresh."""

from __future__ import annotations

from pathlib import Path

from pyrepl.observability.telling.mailbox_words import WORDS, page
from pyrepl.observability.telling.mailboxes import NOTICES

PAGE = Path(__file__).resolve().parents[4] / "docs" / "mailbox-words.md"


def test_each_word_has_one_row_that_says_what_it_means() -> None:
    rows = [line.strip("| ").split(" | ") for line in page().splitlines() if line.startswith(("| `", "| **`"))]
    assert [row[0].strip("*`") for row in rows] == sorted(WORDS)
    assert set(NOTICES) < set(WORDS)
    assert [row[0] for row in rows if len(row[1]) < 10] == []


def test_no_braces_and_no_riddles_are_left() -> None:
    assert "{" not in page() and "||" not in page()
    assert all(kind.word() and not kind.meaning().startswith((":", ".", ",")) for kind in WORDS.values())


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "run: python -m pyrepl.observability.telling > docs/mailbox-words.md"
