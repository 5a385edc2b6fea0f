"""Processes that read: all ranges, whatever becomes of one of them, and none outlives who started it."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from pathlib import Path

import pytest

from pyrepl.analysis import readers as metrics_readers
from pyrepl.analysis.failures import MAKE_ROOM, ReadError
from pyrepl.analysis.readers import Readers, processes, size_of
from pyrepl.metrics.part import Split, Told, read_split

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs" / "events"
FILES = sorted(LOGS.rglob("*.jsonl"))[:5]
SPLITS = [Split(str(path), f"id{place}", 0, path.stat().st_size, "n", False) for place, path in enumerate(FILES)]


def by_file(told: list[Told]) -> list[dict[str, object]]:
    return sorted((dataclasses.asdict(one) for one in told), key=lambda one: str(one["file_id"]))


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is to read, processes do."""
    monkeypatch.setattr(metrics_readers, "HERE_BYTES", -1)


@pytest.mark.parametrize(
    ("master", "count"), [("local", 1), ("local[1]", 1), ("local[3]", 3), ("local[2,4]", 2), ("local[0]", 1)]
)
def test_a_process_for_each_processor(master: str, count: int) -> None:
    assert processes(master) == count


def test_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert processes("local[*]") == 3


@pytest.mark.usefixtures("apart")
def test_processes_read_what_is_read_here(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    with Readers(2, lambda *so_far: done.append(so_far)) as readers:
        told = by_file(readers(SPLITS, tmp_path / "apart", "UTC"))
    assert told == by_file([read_split(split, str(tmp_path / "here"), "UTC") for split in SPLITS])
    total = sum(map(size_of, SPLITS))
    assert len(done) == len(SPLITS) and done[-1] == (total, total)
    parts = {
        folder: sorted(path.name for path in (tmp_path / folder).rglob("*.parquet")) for folder in ("apart", "here")
    }
    assert parts["apart"] == parts["here"] != []


def test_little_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Readers, "_started", None)
    with Readers(2) as readers:
        assert sum(one.lines for one in readers(SPLITS[:1], tmp_path, "UTC")) == FILES[0].read_bytes().count(b"\n")


def test_a_size_that_is_not_known_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(b"x" * 100)
    packed = Split(str(tmp_path / "log.gz"), "id", 0, -1, "n", True)
    assert (size_of(packed), size_of(packed._replace(path="/none"))) == (1000, 0)


@pytest.mark.parametrize("here", [True, False])
def test_what_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool) -> None:
    if not here:
        monkeypatch.setattr(metrics_readers, "HERE_BYTES", 0)
    (tmp_path / "events").write_bytes(b"in the way")
    with Readers(2) as readers, pytest.raises(ReadError) as error:
        readers(SPLITS, tmp_path, "UTC")
    assert str(error.value).startswith(f"cannot write {tmp_path}/events/day=")
    assert str(error.value).endswith(f"(File exists): {MAKE_ROOM}") or "(Not a directory)" in str(error.value)


@pytest.mark.usefixtures("apart")
def test_a_process_that_is_killed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Readers(1) as readers:
        start = readers._started

        def killed(tables: Path, zone: str) -> object:
            process = start(tables, zone)
            process.send_signal(signal.SIGKILL)
            return process

        monkeypatch.setattr(readers, "_started", killed)
        with pytest.raises(ReadError, match="has ended \\(killed by SIGKILL, perhaps for want of memory"):
            readers(SPLITS, tmp_path, "UTC")


@pytest.mark.usefixtures("apart")
def test_reading_is_broken_off(tmp_path: Path) -> None:
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    ended: list[BaseException] = []

    def read(readers: Readers) -> None:
        try:
            readers([Split(str(fifo), "id", 0, -1, "n", True)], tmp_path, "UTC")
        except ReadError as error:
            ended.append(error)

    with Readers(1) as readers:
        thread = threading.Thread(target=read, args=(readers,))
        thread.start()
        with fifo.open("wb"):
            # Its end is open, so it waits for what is not written.
            readers.__exit__(None, None, None)
            thread.join(60)
    assert len(ended) == 1 and "SIGKILL" in str(ended[0])
