"""Each block of commands on a page says whether it is run; and that what plays and compares them sees a difference."""

from __future__ import annotations

import pytest

from tests.documents.blocks import ROOT, blocks, indented, pages
from tests.documents.playing import dialogue, matches


@pytest.mark.parametrize("page", pages())
def test_each_block_is_run_or_says_why_not(page: str) -> None:
    text = (ROOT / page).read_text()
    assert [wrong for block in blocks(text) if (wrong := block.why_wrong())] == []
    assert indented(text) == []


@pytest.mark.parametrize(
    "text",
    ["```sh\nls\n```", "```\nls\n```", "<!-- not run -->\n```sh\nls\n```", "<!-- run: soon -->\n```sh\nls\n```"],
)
def test_a_block_without_a_word_is_seen(text: str) -> None:
    (block,) = blocks(text)
    assert block.why_wrong()


def test_a_block_without_a_fence_is_seen() -> None:
    assert indented("so:\n\n    ls\n\n```sh\n\n    ls\n```\n") == [3]


def test_ports_are_those_that_the_comment_names() -> None:
    (block,) = blocks("<!-- run: serves 6379 7379 -->\n```sh\nnode &\n```\n")
    assert block.ports == [6379, 7379] and block.goes_on and block.why_wrong() is None


def test_a_dialogue_has_commands_and_what_they_print() -> None:
    assert dialogue("$ a \\\n  b\n$ c\nd\ne") == [("a \\\n  b", None), ("c", "d\ne")]


def test_what_is_printed_is_compared() -> None:
    assert matches("a  b\n...\nd...f", "a b\nc\nc\ndef\n") and matches("...\nb", "b\n")
    assert not matches("a", "b") and not matches("a", "a\nb") and not matches("a...c", "ab")
