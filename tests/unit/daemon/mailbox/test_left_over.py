"""Who has a file open is found, and ended; nobody else is."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import left_over as room
from pyrepl.daemon.mailbox.left_over import end_holders, holders


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "doveadm.lock"
    path.touch()
    return path


@pytest.fixture
def holder(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    with file.open() as opened, subprocess.Popen(["sleep", "60"], pass_fds=(opened.fileno(),)) as process:
        yield process
        process.kill()


def test_who_has_a_file_open(file: Path, holder: subprocess.Popen[bytes]) -> None:
    assert list(holders(file)) == [holder.pid]
    other = file.with_name("other")
    with other.open("w"):
        assert list(holders(other)) == [], "not this process"


def test_it_is_ended(file: Path, holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TERM_S", 60.0)
    assert end_holders(file, lambda: holder.poll() is not None) == []
    assert holder.returncode == -signal.SIGTERM


def test_who_has_closed_it_meanwhile_is_left_alone(file: Path, holder: subprocess.Popen[bytes]) -> None:
    room._end(holder.pid, file.parent, signal.SIGKILL)
    assert holder.poll() is None


def test_what_cannot_be_ended_is_named(
    file: Path, holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "TERM_S", 0.0)
    monkeypatch.setattr(room, "_end", lambda *args: None)
    assert end_holders(file, lambda: False) == [holder.pid]
