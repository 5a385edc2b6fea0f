"""Bugs that are planted are found: a simulation that finds nothing may only be blind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.source import ROOT
from tests.simulation.mailbox.bugs import BESIDE_DOVECOTS, BUGS


@pytest.mark.parametrize("name", [*BUGS, *BESIDE_DOVECOTS])
def test_a_planted_bug_is_found(name: str) -> None:
    command = [sys.executable, "-m", "tests.simulation.mailbox.planted", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("seed "), done.stdout + done.stderr
