"""The man pages are written as files."""

from __future__ import annotations

from pathlib import Path

from manual.command_line import man_pages
from manual.man import write


def test_a_file_for_each(tmp_path: Path) -> None:
    write(tmp_path / "man")
    assert {path.name: path.read_text() for path in (tmp_path / "man").iterdir()} == man_pages()
