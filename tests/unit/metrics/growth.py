"""A folder of logs that grows step by step and is followed, with a new start at each step; and the batch over all."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from pyrepl.metrics import manifest
from pyrepl.metrics.follow import Follower, follow
from pyrepl.metrics.ingest import Read, ingest
from pyrepl.metrics.reading import by_tasks
from pyrepl.metrics.wanted import Wanted
from tests.unit.metrics import corpus

Row = dict[str, Any]


class Killed(Exception):
    """Instead of SIGKILL between the manifest and Spark's commit: the batch does not come to its end."""


class Growth:
    """Feeds `source`, a folder with master.jsonl and replica.log, into a folder that is followed."""

    def __init__(self, spark: SparkSession, source: Path, folder: Path) -> None:
        self._spark = spark
        self._logs = folder / "logs"
        self._tables = folder / "tables"
        self._batch = folder / "batch"
        self._checkpoint = folder / "checkpoint"
        self._logs.mkdir(parents=True)
        self._master = (source / "master.jsonl").read_bytes()
        self._replica = (source / "replica.log").read_bytes()
        self._starts: list[Row] = []

    def run(self) -> dict[str, Row]:
        """The tables of both, `starts` among those that were followed: what each start read, and its batch."""
        third = len(self._master) // 3
        half = self._replica.index(b"\n", len(self._replica) // 2) + 1
        self._start("no lines")
        self._append("master.jsonl", self._master[:third])
        self._append("other.log", b"nobody understands\nhalf a li")
        self._start("killed behind the manifest", killed=True)
        self._start("again")
        self._append("master.jsonl", self._master[third : 2 * third])
        self._append("replica.log", self._replica[:half])
        before = (self._tables / manifest.NAME).read_bytes()
        ingest(by_tasks(self._spark), [self._logs], self._tables, merge_bytes=1 << 20)
        # As if killed with the parts written, some of them over older ones, and the manifest not.
        (self._tables / manifest.NAME).write_bytes(before)
        self._start("killed before the manifest")
        (self._logs / "replica.log").rename(self._logs / "replica.log.1")
        self._append("replica.log", self._replica[half:])
        self._append("other.log", b"ne\n")
        self._append("master.jsonl", self._master[2 * third :])
        self._start("rotated")
        shutil.rmtree(self._checkpoint)
        self._start("checkpoint lost")
        ingest(by_tasks(self._spark), [self._logs], self._batch)
        followed, batch = (corpus.collected(self._spark, tables) for tables in (self._tables, self._batch))
        known = manifest.load(self._tables)
        followed["tables"]["starts"] = self._starts
        followed["tables"]["ranges"] = [{"path": one.path, "told": len(one.told)} for one in known.entries.values()]
        return {"followed": followed, "batch": batch}

    def _append(self, name: str, data: bytes) -> None:
        with (self._logs / name).open("ab") as file:
            file.write(data)

    def _start(self, name: str, *, killed: bool = False) -> None:
        """Start to follow, one batch, stop."""
        answers: list[Read] = []

        def answer(read: Read) -> None:
            answers.append(read)
            if killed:
                raise Killed

        follower = Follower(Wanted((str(self._logs),), self._tables), answer)
        query = follow(self._spark, follower, self._checkpoint, name, once=True)
        with contextlib.suppress(StreamingQueryException) if killed else contextlib.nullcontext():
            query.awaitTermination()
        commits = sorted(int(one.name) for one in (self._checkpoint / "commits").glob("[0-9]*"))
        died = type(follower.error).__name__ if follower.error else ""
        self._starts.append({"start": name, "files": [one.files for one in answers], "died": died, "commits": commits})
