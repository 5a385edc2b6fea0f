"""The file with Java's classes: written once, used when it is whole, and never in the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pyrepl.analysis.archive import GIVEN_UP_S, MOST, UNUSED_S, java_options

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


NOW_S = 1_795_000_000.0


def kept(environment: dict[str, str], used_s: float) -> Path:
    """The finished file of JAVA, used last at that time."""
    path = named(java_options(JAVA, environment, used_s), "ArchiveClassesAtExit")
    path.write_bytes(b"whole")
    os.utime(path, (used_s, used_s))
    return path


def test_each_installation_keeps_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"HOME": str(tmp_path)}
    ours = kept(environment, NOW_S)
    assert ours.parent == tmp_path / ".cache" / "pyrepl"
    with monkeypatch.context() as other:
        other.setattr(sys, "prefix", "/another/venv")
        theirs = kept(environment, NOW_S)
        assert theirs != ours
    assert named(java_options(JAVA, environment, NOW_S + 1), "SharedArchiveFile") == ours
    assert theirs.exists()


def test_what_nobody_uses_any_more_goes(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    ours = kept(environment, NOW_S - UNUSED_S)
    other = tmp_path / "java"
    other.write_text("")
    # Its own use is what keeps it, however old it is.
    assert named(java_options(JAVA, environment, NOW_S), "SharedArchiveFile") == ours
    java_options(str(other), environment, NOW_S + UNUSED_S)
    assert ours.exists()
    java_options(str(other), environment, NOW_S + UNUSED_S + 1)
    assert not ours.exists()


def test_of_many_those_go_that_were_used_least_lately(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    ours = kept(environment, NOW_S - 3600)
    others = [ours.with_name(f"spark-{number:016x}.jsa") for number in range(MOST + 1)]
    for number, path in enumerate(others):
        path.write_bytes(b"whole")
        os.utime(path, (NOW_S - number, NOW_S - number))
    assert named(java_options(JAVA, environment, NOW_S), "SharedArchiveFile") == ours
    assert [path.exists() for path in others] == [True] * (MOST - 1) + [False] * 2


@pytest.mark.parametrize("environment", [{}, {"HOME": "/dev/null"}, {"XDG_CACHE_HOME": "relative"}, {"HOME": "/a b"}])
def test_no_place_for_it(environment: dict[str, str]) -> None:
    assert java_options(JAVA, environment) == ""


def test_no_java(tmp_path: Path) -> None:
    assert java_options(str(tmp_path / "none"), {"HOME": str(tmp_path)}) == ""
