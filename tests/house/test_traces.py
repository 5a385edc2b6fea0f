"""Conversations that docs/ quotes stand like that in the scenario that is named above each of them."""

from __future__ import annotations

import re

import pytest

from tests.house.source import ROOT

PAGE = ROOT / "docs" / "psync.md"
QUOTES = re.findall(r"<!-- (\S+) -->\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)


def is_quoted_from(quote: str, text: str) -> bool:
    """Do the lines of `quote` follow each other in `text`? `...` at the end of a line stands for the rest of it."""
    wanted, lines = quote.splitlines(), text.splitlines()
    return any(
        all(_is_same(line, lines[start + at]) for at, line in enumerate(wanted))
        for start in range(len(lines) - len(wanted) + 1)
    )


def _is_same(line: str, told: str) -> bool:
    return told.startswith(line[:-3]) if line.endswith("...") else told == line


def test_all_conversations_of_the_page_are_quotes() -> None:
    assert len(QUOTES) == PAGE.read_text().count("```") // 2 == 5


@pytest.mark.parametrize(("scenario", "quote"), QUOTES)
def test_each_is_what_was_captured(scenario: str, quote: str) -> None:
    assert is_quoted_from(quote, (ROOT / scenario).read_text())


def test_a_changed_line_is_seen() -> None:
    assert is_quoted_from("b\nc...\n", "a\nb\ncd\n") and not is_quoted_from("b\nc\n", "a\nb\ncd\n")
