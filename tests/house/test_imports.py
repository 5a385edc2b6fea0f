"""Floors and doors: who may import whom. The contracts stand in pyproject.toml; here they are run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.house.source import ROOT, python, shown


def test_floors_and_doors() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_judges_do_not_import_what_they_judge() -> None:
    """tests/peers decides whether the daemon is right, so it shares no code with it."""
    guilty = [
        shown(path)
        for path in python("tests")
        if "peers" in path.relative_to(ROOT).parts
        and re.search(r"^\s*(import|from) pyrepl", path.read_text(), re.MULTILINE)
    ]
    assert guilty == []
