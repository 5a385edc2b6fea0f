"""Memory goes back to the system when nobody needs it any more."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyrepl.analysis.memory import CHOSEN, give_back, giving_back

BLOCK = 4096
BLOCKS = 20_000
POOL = """
from pyrepl.analysis.memory import keep_none
keep_none()
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
"""


def resident() -> int:
    """Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this is another C library than glibc")
def test_what_lies_between_things_that_are_held_goes_back() -> None:
    every = [bytes([1]) * BLOCK for _ in range(BLOCKS)]
    held = every[::8]
    before = resident()
    del every
    give_back()
    assert before - resident() > BLOCK * BLOCKS // 4 and len(held) == BLOCKS // 8


def test_a_step_is_told_as_it_was() -> None:
    told: list[str] = []
    begin = giving_back(told.append)
    begin("read")
    begin("analyse")
    assert told == ["read", "analyse"]


@pytest.mark.parametrize(("chosen", "expected"), [({}, "system"), ({CHOSEN: "mimalloc"}, "mimalloc")])
def test_the_users_choice_of_an_allocator_stands(chosen: dict[str, str], expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != CHOSEN} | chosen
    done = subprocess.run([sys.executable, "-c", POOL], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
