"""`python -m manual.man OUT` writes the pages for man(1): `man -l OUT/pyrepl.1`."""

from __future__ import annotations

import sys
from pathlib import Path

from manual.command_line import man_pages


def write(folder: Path) -> None:
    """A file for each command below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
