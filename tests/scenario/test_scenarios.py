"""Every conversation in this folder, played from each of its sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.conversation import MASTER, parse, render, sides_of
from tests.scenario.play import play, play_live

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_conversation(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    lines = parse(text)
    if request.config.getoption("--rewrite", default=False):
        sides = sides_of(lines)
        path.write_text(render(play_live(lines) if len(sides) == 2 else play(lines, sides[0])))
        return
    for name in sides_of(lines):
        assert render(play(lines, name)) == text, f"played as the {'master' if name == MASTER else 'replica'}"


def test_there_are_conversations() -> None:
    assert len(FILES) >= 10
