"""The transcripts of the specification's section 8: each is a file in this folder, and is replayed word for word.

`pytest tests/scenario --rewrite` writes down what is said now, if the lines of the specification are met by that. What
stands in a file: replay.py; what is compared with the specification, and how: spec_lines.py.
"""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Final

import pytest

from tests.scenario.mailbox.replay import replayed, rewritten
from tests.scenario.mailbox.spec_lines import SPEC, unmet

SECTIONS: Final = {
    "8.1": ("append", 7),
    "8.2": ("order_of_the_note", 20),
    "8.3": ("mastership_moves", 7),
    "8.4": ("three_wants", 5),
    "8.5": ("stale_hint", 3),
    "8.6": ("loss_of_the_root", 12),
    "8.7": ("apart_accept", 20),
    "8.8": ("apart_refuse", 2),
    "8.9": ("crash_before_commit", 3),
    "8.10": ("two_at_once", 4),
    "8.11": ("copy_in_flight", 4),
    "8.12": ("condstore", 2),
    "8.13": ("folders", 8),
    "8.14": ("back_after_long", 6),
    "8.15": ("witness", 5),
}
"""Section -> its file, and how many lines of the specification are in that: none of them may get lost."""
FILES: Final = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite", default=False):
        path.write_text(rewritten(path.read_text()))
    text = path.read_text()
    assert unmet(text) == []
    assert replayed(text) == text


def test_each_section_is_a_transcript() -> None:
    found = {}
    for path in FILES:
        text = path.read_text()
        found[text.split(maxsplit=2)[1]] = (path.stem, text.count(f"\n{SPEC}"))
    assert found == SECTIONS
    assert len(FILES) == len(SECTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_in_the_end_clients_see_the_same_everywhere(path: Path) -> None:
    seen: dict[str, list[str]] = {}
    for line in takewhile(lambda line: line.startswith("= "), reversed(path.read_text().splitlines())):
        _, node, mailbox = line.split(" ", 2)
        seen.setdefault(node, []).append(mailbox)
    first, *others = seen.values()
    assert all(other == first for other in others)
