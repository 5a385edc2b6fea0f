"""The event log's file: whole lines only, a new file at the limit, old ones deleted, renamed ones left behind."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.eventlog.file import EventFile

AT_US = 1795258584123456
"""21 Nov 2026 10:56:24.123456 UTC."""


def make(path: Path, max_bytes: int = 0, keep: int = 0) -> EventFile:
    return EventFile(path, max_bytes, keep, lambda: AT_US)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_are_added(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for line in (b"a\n", b"b\n"):
        file = make(path)
        file.append(line)
        assert file.size == path.stat().st_size
        file.close()
    assert path.read_bytes() == b"a\nb\n"


def test_a_full_file_gets_the_time_into_its_name(tmp_path: Path) -> None:
    file = make(tmp_path / "events.jsonl", max_bytes=5)
    for line in (b"11\n", b"2\n", b"3\n", b"4\n"):
        file.append(line)
    assert (tmp_path / "events.20261121T105624.123456Z.jsonl").read_bytes() == b"11\n2\n"
    assert (tmp_path / "events.jsonl").read_bytes() == b"3\n4\n"
    file.append(b"5\n")
    assert (tmp_path / "events.20261121T105624.123457Z.jsonl").read_bytes() == b"3\n4\n", "no full file is overwritten"
    file.close()


def test_a_line_over_the_limit_has_a_file_of_its_own(tmp_path: Path) -> None:
    file = make(tmp_path / "e", max_bytes=4)
    file.append(b"a long one\n")
    file.append(b"b\n")
    assert (tmp_path / "e").read_bytes() == b"b\n"
    assert len(names(tmp_path)) == 2
    file.close()


def test_only_the_newest_full_files_stay_and_nothing_else_is_touched(tmp_path: Path) -> None:
    (tmp_path / "events.old.jsonl").write_text("mine")
    (tmp_path / "events.20200101T000000.000000Z.jsonl").write_text("of an earlier run")
    file = make(tmp_path / "events.jsonl", max_bytes=1, keep=2)
    for _ in range(4):
        file.append(b"x\n")
    file.close()
    assert names(tmp_path) == [
        "events.20261121T105624.123457Z.jsonl",
        "events.20261121T105624.123458Z.jsonl",
        "events.jsonl",
        "events.old.jsonl",
    ]


def test_a_file_that_cannot_be_renamed_is_written_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: object) -> None:
        raise PermissionError

    file = make(tmp_path / "e", max_bytes=1)
    file.append(b"1\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        file.append(b"2\n")
    file.close()
    assert (tmp_path / "e").read_bytes() == b"1\n2\n"


def test_one_that_was_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "e"
    file = make(path)
    file.append(b"1\n")
    file.reopen_if_moved()
    path.rename(tmp_path / "moved")
    file.append(b"2\n")
    file.reopen_if_moved()
    file.append(b"3\n")
    path.unlink()
    file.reopen_if_moved()
    file.append(b"4\n")
    file.close()
    assert (tmp_path / "moved").read_bytes() == b"1\n2\n"
    assert path.read_bytes() == b"4\n" and file.size == 2


def test_half_a_line_of_a_killed_run_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(b'{"v":1}\n{"v":')
    file = make(path)
    file.append(b'{"v":2}\n')
    file.close()
    assert path.read_bytes() == b'{"v":1}\n{"v":\n{"v":2}\n'


@pytest.fixture
def small_files() -> Iterator[int]:
    """No file of this process grows over so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    yield 10
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_a_failed_write_left_is_taken_back(tmp_path: Path, small_files: int) -> None:
    path = tmp_path / "e"
    file = make(path)
    file.append(b"1234567\n")
    with pytest.raises(OSError, match="File too large"):
        file.append(b"abcdefg\n")
    assert path.read_bytes() == b"1234567\n" and file.size == 8
    file.append(b"x\n")
    file.close()
    assert path.read_bytes() == b"1234567\nx\n"


def test_one_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make(tmp_path / "no" / "e")


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    file = make(tmp_path / "e", max_bytes=1)
    for _ in range(5):
        file.append(b"x\n")
    file.close()
    assert len(os.listdir("/proc/self/fd")) == before
