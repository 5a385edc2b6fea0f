"""`pyrepl metrics --follow` as a process, over growing logs: stopped, started again, nothing is lost or there twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from tests.peers.lab import die_with_parent, pyrepl_command, wait_until

LOGS = Path(__file__).parents[1] / "data" / "logs"
SCENARIO = "pyrepl-output-buffer"
PROGRESS = tuple(f"pyrepl metrics: {what}" for what in ("prepare", "start Spark", "follows the logs;"))
STOPPED = "pyrepl metrics: stopped; the next start with this --out goes on from here"
SLOW_S = 600
"""Spark's start and its first answers, on a busy machine."""
MOST_READS = 5_000
QUICK_JAVA = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""For a process of seconds the best of Java's compilers costs more than it brings."""


class Folder:
    """Logs that grow, and what is made of them."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.out, self.told = folder / "logs", folder / "out", folder / "stderr"
        self.logs.mkdir()
        self.command = [*pyrepl_command(), "metrics", str(self.logs), "--out", str(self.out), "--master", "local[1]"]

    def append(self, name: str, data: bytes) -> None:
        with (self.logs / name).open("ab") as file:
            file.write(data)

    @contextmanager
    def followed(self) -> Iterator[subprocess.Popen[bytes]]:
        with self.told.open("wb") as told:
            process = subprocess.Popen(
                [*self.command, "--follow", "--every", "1s"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=told,
                env=QUICK_JAVA, preexec_fn=die_with_parent,
            )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def stop(self, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        process.send_signal(number)
        assert process.wait(SLOW_S) == 0, self.told.read_text()
        told = self.told.read_text().splitlines()
        assert [line for line in told if not line.startswith(PROGRESS)] == [STOPPED]

    def manifest(self) -> str:
        path = self.out / "tables" / "manifest.json"
        return path.read_text() if path.exists() else ""

    def wait_for_lines(self, process: subprocess.Popen[bytes], count: int) -> None:
        """Until so many lines are accounted for in what was written last."""

        def there() -> bool:
            assert process.poll() is None, self.told.read_text()
            return (self.out / "follow.json").exists() and sum(row["lines"] for row in self.answer()["files"]) == count

        wait_until(f"{count} lines are told", there, SLOW_S)

    def answer(self) -> dict[str, Any]:
        top: dict[str, Any] = json.loads((self.out / "metrics.json").read_text())
        return {**top["tables"], "top": top}


class Reader:
    """Reads the results over and over, in a thread, while they are written: `counts` of lines, and what it saw fail."""

    def __init__(self, link: Path, read: Callable[[Path], tuple[int, int]]) -> None:
        self._link, self._read = link, read
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.counts: list[int] = []
        self.reads = 0
        self.failed: list[str] = []

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(SLOW_S)

    def _run(self) -> None:
        while not self._over.wait(0.005) and self.reads < MOST_READS:
            self.reads += 1
            try:
                lines, syncs = self._read(self._link.resolve())
            except Exception as error:
                self.failed.append(repr(error))
            else:
                if not self.counts or self.counts[-1] != lines:
                    self.counts.append(lines)
                if syncs:
                    self.failed.append(f"{syncs} syncs more or less than the totals of the same version have")


def by_duckdb(results: Path) -> tuple[int, int]:
    """Lines in all, and by how many syncs two tables differ."""
    with duckdb.connect() as base:
        files = {name: f"read_parquet('{results}/{name}/**/*.parquet')" for name in ("files", "syncs", "totals")}
        row = base.execute(
            f"SELECT (SELECT sum(lines) FROM {files['files']}), "
            f"(SELECT count(*) FROM {files['syncs']}) - (SELECT syncs FROM {files['totals']})"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def by_pandas(results: Path) -> tuple[int, int]:
    """The same."""
    files, syncs, totals = (pd.read_parquet(results / name) for name in ("files", "syncs", "totals"))
    return int(files["lines"].sum()), len(syncs) - int(totals["syncs"][0])


@pytest.mark.timeout(3600)
def test_followed_stopped_in_a_batch_and_followed_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    master, replica = ((LOGS / "events" / SCENARIO / name).read_bytes() for name in ("master.jsonl", "replica.log"))
    lines = master.splitlines(keepends=True)
    folder.append("master.jsonl", b"".join(lines[:10]))
    stack = contextlib.ExitStack()
    with folder.followed() as process:
        folder.wait_for_lines(process, 10)
        second = subprocess.run(folder.command, capture_output=True, text=True, timeout=SLOW_S, check=False)
        assert (second.returncode, second.stdout) == (2, "")
        assert second.stderr == (
            "pyrepl metrics: prepare\n"
            f"pyrepl metrics: another pyrepl metrics writes to {folder.out}: end it first, or give another --out\n"
        )
        readers = [stack.enter_context(Reader(folder.out / "results", read)) for read in (by_duckdb, by_pandas)]
        folder.append("master.jsonl", b"".join(lines[10:15]) + lines[15][:40])
        folder.append("replica.log", replica[: len(replica) // 2])
        folder.wait_for_lines(process, 16 + replica[: len(replica) // 2].count(b"\n") + 1)
        before = folder.manifest()
        folder.append("master.jsonl", lines[15][40:] + b"".join(lines[16:20]))
        wait_until("a batch is under way", lambda: folder.manifest() != before, SLOW_S)
        folder.stop(process, signal.SIGTERM)

    folder.append("replica.log", replica[len(replica) // 2 :])
    (folder.logs / "master.jsonl").rename(folder.logs / "master.jsonl.1")
    folder.append("master.jsonl", b"".join(lines[20:]))
    with folder.followed() as process:
        folder.wait_for_lines(process, len(lines) + replica.count(b"\n"))
        folder.stop(process, signal.SIGINT)
    stack.close()
    for reader in readers:
        assert not reader.failed and reader.reads > 10
        assert reader.counts == sorted(reader.counts), "no line that was told is lost again"

    found = folder.answer()
    truth = json.loads((LOGS / "truth.json").read_text())[SCENARIO]
    top = found["top"] | {"modes": {mode: count for mode, count in found["top"]["modes"].items() if count}}
    told = truth.keys() & top.keys()
    assert len(told) > 8 and {key: top[key] for key in told} == {key: truth[key] for key in told}
    sizes = {path.name: path.stat().st_size for path in folder.logs.iterdir()}
    assert {Path(row["file"]).name: row["bytes"] for row in found["files"]} == sizes
    assert found["top"]["unparsed_lines"] == 0
