"""What `make` shows while it builds, and what it says of what cannot be installed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import setup_shown
from tests.peers import debian, finder
from tests.peers.debian import PeerMissing

BUILD = """
print("Installing build dependencies: started")
print("  pyrepl builds: translating 2 modules to C by mypyc")
print("  gcc -c -O2 something.c")
print("  pyrepl builds: compiling 1 of 2: pyrepl.one")
print("  pyrepl builds: compiling 2 of 2: pyrepl.two")
print("  pyrepl: what people must know")
print("  pyrepl: what people must know")
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO, log: Path, program: str) -> tuple[int, str]:
    status = setup_shown.run(str(log), [sys.executable, "-c", program], out)
    return status, out.getvalue()


def test_a_log_tells_each_kind_of_step(tmp_path: Path) -> None:
    status, text = shown(io.StringIO(), tmp_path / "log", BUILD)
    assert status == 0
    steps = [line.split(" ", 1)[1] for line in text.splitlines()]
    assert steps == [
        "getting the compilers of Python (mypyc, Cython)",
        "translating 2 modules to C by mypyc",
        "compiling 1 of 2: pyrepl.one",
        "what people must know",
    ]
    assert "gcc -c -O2 something.c" in (tmp_path / "log").read_text()


def test_a_terminal_has_one_line_that_changes(tmp_path: Path) -> None:
    _, text = shown(Terminal(), tmp_path / "log", BUILD)
    assert "\r0:0" in text and "compiling 2 of 2: pyrepl.two\x1b[K" in text
    assert text.endswith("\r\x1b[Kpyrepl: what people must know\n")
    assert text.count("\n") == 1


def test_a_failure_shows_the_end_of_the_log(tmp_path: Path) -> None:
    program = "for n in range(99): print('line', n)\nraise SystemExit(3)"
    status, text = shown(io.StringIO(), tmp_path / "log", program)
    assert status == 3
    assert text.splitlines()[0] == "line 69" and text.splitlines()[-1] == "line 98"


def test_who_is_not_root_is_told_which_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "is_installed", lambda name: name == "make")
    monkeypatch.setattr(debian, "_as_root", lambda: None)
    with pytest.raises(PeerMissing, match=r"only root may install the packages gcc g\+\+$") as told:
        debian.install(["make", "gcc", "g++"])
    assert told.value.packages == ("gcc", "g++")


def test_one_command_mends_all_that_is_missing() -> None:
    gcc, node = PeerMissing("no gcc", ["gcc"]), PeerMissing("no node", ["npm", "nodejs"])
    text = finder._what_to_do([("redis86", gcc), ("redis", node), ("valkey91", gcc)])
    assert text.splitlines() == [
        "Not all that the tests need is here:",
        "redis86, valkey91: no gcc",
        "redis: no node",
        "As root: apt-get install --no-install-recommends gcc nodejs npm; then once more.",
    ]
