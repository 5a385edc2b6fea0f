"""The commands of each page, as they stand on it, with real servers: what a page says must work."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.documents.blocks import ROOT, blocks, pages
from tests.documents.playing import Player

IN_FULL: Final = frozenset({"docs/howto/spark.md", "docs/howto/metrics.md"})
"""Pages that start Spark: `make matrix` plays them, CI does not."""
PLAYED: Final = [
    pytest.param(page, marks=pytest.mark.matrix if page in IN_FULL else ())
    for page in pages()
    if any(block.mark == "run" for block in blocks((ROOT / page).read_text()))
]


@pytest.mark.parametrize("page", PLAYED)
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        for block in blocks((ROOT / page).read_text()):
            if block.mark == "run":
                player.play(block)
