"""Lines handed over to the writer's thread: in order, bounded, tried again, and never waited for."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.daemon.eventlog import writer as event_writer
from pyrepl.daemon.eventlog.file import EventFile
from pyrepl.daemon.eventlog.writer import EventWriter


class Rig:
    """A writer and what it told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.errors: list[str] = []
        self.written = 0
        self.writer = EventWriter(EventFile(path, 0, 0, lambda: time.time_ns() // 1000), self.errors.append, self.count)

    def count(self, lines: int) -> None:
        self.written += lines


def until(true: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "e")


def test_all_that_was_taken_is_written_in_order(rig: Rig) -> None:
    lines = [b"%d\n" % number for number in range(2000)]
    assert all(rig.writer.put(line) for line in lines)
    assert rig.writer.close(60) == 0
    assert rig.path.read_bytes() == b"".join(lines)
    assert rig.written == 2000 and rig.writer.waiting_bytes == 0 and rig.writer.file_bytes == rig.path.stat().st_size


def test_written_soon_without_more(rig: Rig) -> None:
    rig.writer.put(b"x\n")
    until(lambda: rig.path.read_bytes() == b"x\n")
    rig.writer.close(60)


def test_new_limits_count(rig: Rig) -> None:
    rig.writer.limit(2, 1)
    for _ in range(5):
        rig.writer.put(b"x\n")
    rig.writer.close(60)
    assert len(list(rig.path.parent.iterdir())) == 2


def test_a_disk_that_fails_for_a_while(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    real, full = os.write, threading.Event()

    def write(fd: int, data: bytes) -> int:
        if full.is_set():
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(event_writer, "RETRY_S", 0.01)
    monkeypatch.setattr(os, "write", write)
    full.set()
    rig.writer.put(b"1\n")
    until(lambda: rig.errors)
    rig.writer.put(b"2\n")
    full.clear()
    until(lambda: len(rig.errors) == 2)
    assert rig.errors == ["No space left on device", ""], "told once when it begins, once when it ends"
    assert rig.writer.close(60) == 0
    assert rig.path.read_bytes() == b"1\n2\n"


def test_a_disk_that_hangs_holds_nobody_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    real, goes_on = os.write, threading.Event()

    def write(fd: int, data: bytes) -> int:
        goes_on.wait(60)
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(event_writer, "MAX_WAITING_BYTES", 100)
    line = b"123456789\n"
    assert [rig.writer.put(line) for _ in range(12)] == [True] * 10 + [False] * 2
    assert rig.writer.waiting_bytes == 100
    assert rig.writer.close(0.01) == 10
    goes_on.set()
    until(lambda: rig.path.read_bytes() == line * 10)


def test_what_a_failing_disk_did_not_take_is_counted_at_the_end(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(fd: int, data: bytes) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "write", write)
    for _ in range(3):
        rig.writer.put(b"x\n")
    assert rig.writer.close(60) == 3
    assert rig.errors == ["Input/output error"]
