"""The transcripts of the specification's section 8: each is a file in this folder, and is replayed word for word.

`pytest tests/scenario --rewrite` writes down what is said now, if the lines of the specification are met by that. What
stands in a file: replay.py; what is compared with the specification, and how: spec_lines.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.scenario.mailbox.replay import replayed, rewritten
from tests.scenario.mailbox.spec_lines import SPEC, unmet

SECTIONS: Final = {
    "8.1": "append",
    "8.2": "order_of_the_note",
    "8.3": "mastership_moves",
    "8.4": "three_wants",
    "8.5": "stale_hint",
    "8.6": "loss_of_the_root",
    "8.7": "apart_accept",
    "8.8": "apart_refuse",
    "8.9": "crash_before_commit",
    "8.10": "two_at_once",
    "8.11": "copy_in_flight",
    "8.12": "condstore",
    "8.13": "folders",
    "8.14": "back_after_long",
    "8.15": "witness",
}
FILES: Final = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite", default=False):
        path.write_text(rewritten(path.read_text()))
    text = path.read_text()
    assert unmet(text) == []
    assert replayed(text) == text


def test_each_section_is_a_transcript() -> None:
    named = {path.read_text().split(maxsplit=2)[1]: path.stem for path in FILES}
    assert named == SECTIONS
    assert len(FILES) == len(SECTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_has_lines_of_the_specification_and_an_end(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert any(line.startswith(SPEC) for line in lines)
    assert lines[-1].startswith("= ")
