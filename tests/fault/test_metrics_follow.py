"""`pyrepl metrics --follow` as a process, over growing logs: stopped, started again, nothing is lost or there twice."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import threading
import time
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
READS = 5_000
"""So often, at least, each of two readers reads in the full-size form."""
SHORT_RESTS = 9.0
"""How much longer than it reads a reader rests, in CI: two that did nothing but read took the time of all else."""
QUICK_JAVA = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""For a process of seconds the best of Java's compilers costs more than it brings."""


class Folder:
    """Logs that grow, and what is made of them."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.out, self.told = folder / "logs", folder / "out", folder / "stderr"
        self.said = folder / "stdout"
        self.logs.mkdir()
        self.command = [*pyrepl_command(), "metrics", str(self.logs), "--out", str(self.out), "--master", "local[1]"]

    def append(self, name: str, data: bytes) -> None:
        with (self.logs / name).open("ab") as file:
            file.write(data)

    @contextmanager
    def followed(self) -> Iterator[subprocess.Popen[bytes]]:
        with self.told.open("wb") as told, self.said.open("ab") as said:
            process = subprocess.Popen(
                [*self.command, "--follow", "--every", "1s"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=told,
                env=QUICK_JAVA, preexec_fn=die_with_parent,
            )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def planned(self) -> float:
        """When the last batch was planned; 0 if none was. Unix seconds."""
        path = self.out / "tables" / "plan.json"
        return path.stat().st_mtime if path.exists() else 0

    def batches(self) -> int:
        """How many batches with news were told."""
        return self.said.read_bytes().count(b"\n")

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
    """Reads the results over and over, in a thread, while they are written: `counts` of lines, and what it saw fail.

    After each read it rests for `rests` times as long as that took, so that what it reads is written meanwhile.
    """

    def __init__(self, link: Path, read: Callable[[Path], tuple[int, int]], rests: float = SHORT_RESTS) -> None:
        self._link, self._read, self._rests = link, read, rests
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
        rest_s = 0.0
        while not self._over.wait(max(0.005, rest_s)):
            self.reads += 1
            began = time.monotonic()
            self._look()
            rest_s = self._rests * (time.monotonic() - began)

    def _look(self) -> None:
        try:
            lines, syncs = self._read(self._link.resolve())
        except Exception as error:
            self.failed.append(repr(error))
            return
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


class Pair:
    """A master and its replica, which sync again and again and tell of it in event logs; those are rotated."""

    def __init__(self, folder: Folder, chance: random.Random) -> None:
        self._folder, self._chance = folder, chance
        self._seqs = {"master": 0, "replica": 0}
        self._rotated = {"master": 0, "replica": 0}
        self.syncs: list[str] = []

    @property
    def lines(self) -> int:
        return sum(self._seqs.values())

    def go_on(self) -> None:
        """Another sync, a line of it written in two pieces, and now and then a rotation, as logrotate does it."""
        sync = f"10.0.0.2:6379/{len(self.syncs)}"
        self.syncs.append(sync)
        for end in ("replica", "master"):
            lines = b"".join(self._line(end, event, sync=sync, **told) for event, told in SYNC)
            cut = self._chance.randrange(len(lines))
            self._folder.append(f"{end}.jsonl", lines[:cut])
            time.sleep(self._chance.choice((0, 0, 0.05)))
            self._folder.append(f"{end}.jsonl", lines[cut:])
            if self._chance.random() < 0.03:
                self._rotate(end)

    def go_on_for(self, process: subprocess.Popen[bytes], begun: Callable[[], float], span_s: float) -> None:
        """Until so long after `begun` gives something else than now."""
        before, end = begun(), math.inf
        while time.monotonic() < end:
            assert process.poll() is None, self._folder.told.read_text()
            self.go_on()
            if end == math.inf and begun() != before:
                end = time.monotonic() + span_s
            time.sleep(self._chance.uniform(0, 0.2))

    def _line(self, end: str, event: str, **told: Any) -> bytes:
        self._seqs[end] += 1
        head = {"v": 1, "at_us": time.time_ns() // 1000, "mono_us": time.monotonic_ns() // 1000, "seq": self._seqs[end],
                "node": end, "run": f"{end:0>40}", "role": end, "replid": "a" * 40, "offset": 9000}  # fmt: skip
        peer = "10.0.0.2:6379" if end == "master" else "10.0.0.1:6379"
        return json.dumps(head | {"event": event, "end": end, "peer": peer} | told).encode() + b"\n"

    def _rotate(self, end: str) -> None:
        for number in range(self._rotated[end], -1, -1):
            name = f"{end}.jsonl.{number}" if number else f"{end}.jsonl"
            (self._folder.logs / name).rename(self._folder.logs / f"{end}.jsonl.{number + 1}")
        self._rotated[end] += 1


SYNC: tuple[tuple[str, dict[str, Any]], ...] = (
    ("psync_asked", {}),
    ("psync_decided", {"verdict": "continue", "asked_offset": 8000, "missing_bytes": 1000}),
)
"""What both ends tell of a partial resync."""


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kills", "seconds", "rests", "reads"),
    [(1, 0, SHORT_RESTS, 0), pytest.param(5, 600, 0, READS, marks=pytest.mark.matrix)],
)
def test_killed_at_random(tmp_path: Path, kills: int, seconds: float, rests: float, reads: int) -> None:
    """So many times at least, for so long, and until each reader has read so often: every sync is told once, and no
    reader sees half of a table. CI has the short form, `make matrix` that of ten minutes and 10,000 reads."""
    folder, chance = Folder(tmp_path), random.Random(17)
    pair, until, killed = Pair(folder, chance), time.monotonic() + seconds, 1
    pair.go_on()
    with contextlib.ExitStack() as stack:
        begun = time.monotonic()
        with folder.followed() as process:
            folder.wait_for_lines(process, pair.lines)
            start_s = time.monotonic() - begun
            batch_s = (folder.out / "follow.json").stat().st_mtime - folder.planned()
            readers = [
                stack.enter_context(Reader(folder.out / "results", read, rests)) for read in (by_duckdb, by_pandas)
            ]
            pair.go_on_for(process, folder.planned, chance.uniform(0, batch_s))
        while killed < kills or time.monotonic() < until or any(reader.reads < reads for reader in readers):
            with folder.followed() as process:
                if chance.random() < 0.2:
                    pair.go_on_for(process, time.monotonic, chance.uniform(0, start_s))
                else:
                    pair.go_on_for(process, folder.planned, chance.uniform(0, batch_s))
            killed += 1
        with folder.followed() as process:
            folder.wait_for_lines(process, pair.lines)
            folder.stop(process, signal.SIGTERM)
    told = [row["sync"] for row in folder.answer()["syncs"]]
    done = [reader.reads for reader in readers]
    print(f"{killed} kills, {folder.batches()} batches, {pair.lines} lines, {len(pair.syncs)} syncs, {done} reads")
    assert sorted(told) == sorted(pair.syncs)
    assert folder.answer()["top"]["unparsed_lines"] == 0
    assert [fault for reader in readers for fault in reader.failed] == []
    assert all(reader.counts == sorted(reader.counts) for reader in readers), "no line that was told is lost again"


@pytest.mark.long
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
        assert not reader.failed and reader.reads > 3
        assert reader.counts == sorted(reader.counts), "no line that was told is lost again"

    found = folder.answer()
    truth = json.loads((LOGS / "truth.json").read_text())[SCENARIO]
    top = found["top"] | {"modes": {mode: count for mode, count in found["top"]["modes"].items() if count}}
    told = truth.keys() & top.keys()
    assert len(told) > 8 and {key: top[key] for key in told} == {key: truth[key] for key in told}
    sizes = {path.name: path.stat().st_size for path in folder.logs.iterdir()}
    assert {Path(row["file"]).name: row["bytes"] for row in found["files"]} == sizes
    assert found["top"]["unparsed_lines"] == 0
