"""The file with Java's classes: written once, used when it is whole, and never in the way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyrepl.analysis.archive import GIVEN_UP_S, java_options

JAVA = sys.executable
"""Any program: only its path and its age matter."""


def named(options: str, option: str) -> Path:
    """The file that an option names."""
    (found,) = [word for word in options.split() if word.startswith(f"-XX:{option}=")]
    return Path(found.partition("=")[2])


def test_written_then_used(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    path = named(java_options(JAVA, environment), "ArchiveClassesAtExit")
    assert path.parent == tmp_path / "pyrepl"
    path.write_bytes(bytes(4096))
    begun_s = path.stat().st_mtime
    assert java_options(JAVA, environment, begun_s + GIVEN_UP_S - 1) == ""
    assert named(java_options(JAVA, environment, begun_s + GIVEN_UP_S + 1), "ArchiveClassesAtExit") == path
    path.write_bytes(b"\xa8\xab\x0b\xf0" + bytes(4096))
    assert named(java_options(JAVA, environment), "SharedArchiveFile") == path
    assert "-Xlog:disable" in java_options(JAVA, environment)


def test_one_of_another_java_goes(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    old = named(java_options(JAVA, environment), "ArchiveClassesAtExit")
    assert old.parent == tmp_path / ".cache" / "pyrepl"
    old.write_bytes(b"whole")
    other = tmp_path / "java"
    other.write_text("")
    assert named(java_options(str(other), environment), "ArchiveClassesAtExit") != old
    assert not old.exists()


@pytest.mark.parametrize("environment", [{}, {"HOME": "/dev/null"}, {"XDG_CACHE_HOME": "relative"}, {"HOME": "/a b"}])
def test_no_place_for_it(environment: dict[str, str]) -> None:
    assert java_options(JAVA, environment) == ""


def test_no_java(tmp_path: Path) -> None:
    assert java_options(str(tmp_path / "none"), {"HOME": str(tmp_path)}) == ""
