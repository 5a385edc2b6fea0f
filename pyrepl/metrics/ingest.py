"""New log lines into the canonical tables: what is new is planned here, read by Spark's tasks, and then counted in.

The tables answer all questions afterwards (jobs.py). A run that dies changes nothing: the next one removes its parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.part import Split, Told, read_splits
from pyrepl.metrics.plan import find, plan
from pyrepl.metrics.textlines import UTC


@dataclass(frozen=True, slots=True)
class Read:
    """What a run of ingest did."""

    files: int
    lines: int
    bytes: int
    unparsed: int


def ingest(
    spark: SparkSession,
    logs: Iterable[str | Path],
    tables: Path,
    zone: str = UTC,
    merge_bytes: int = 0,
    *,
    absent_ok: bool = False,
) -> Read:
    """Read what is new in `logs` (files and folders) into the folder `tables`.

    `zone` is that of text logs' times, as Europe/Berlin. A file's last range is read again with what came behind it as
    long as it is below `merge_bytes`, so that frequent runs leave few parts. Raises ConfigError for paths that are not
    there unless `absent_ok`, and when `tables` holds what this version did not write. Files that cannot be read are
    told in the table FILES.
    """
    known = manifests.load(tables)
    ranges, tails = planned(known, logs, tables, merge_bytes, absent_ok=absent_ok)
    told = run(spark, [*ranges, *tails], tables, zone)
    count_in(known, told, tails, tables)
    return Read(len({one.file_id for one in told}), *_sums(told))


def planned(
    known: Manifest, logs: Iterable[str | Path], tables: Path, merge_bytes: int = 0, *, absent_ok: bool = False
) -> tuple[list[Split], list[Split]]:
    """What is to be read: ranges, and unfinished last lines. What a run that died has left is removed before."""
    manifests.sweep(tables, known)
    return plan(known, find(logs, tables, absent_ok=absent_ok), merge_bytes)


def count_in(known: Manifest, told: Iterable[Told], tails: Iterable[Split], tables: Path) -> None:
    """What was read counts from now on."""
    unfinished = {(split.file_id, split.start) for split in tails}
    for one in told:
        known.take(one, tail=(one.file_id, one.start) in unfinished)
    manifests.save(tables, known)


def _sums(told: list[Told]) -> tuple[int, int, int]:
    return sum(one.lines for one in told), sum(one.read for one in told), sum(one.unparsed for one in told)


def run(spark: SparkSession, splits: list[Split], tables: Path, zone: str) -> list[Told]:
    """Let Spark's tasks read these ranges; what became of each, in the order given."""
    if not splits:
        return []
    tables.mkdir(parents=True, exist_ok=True)
    tasks = max(1, min(len(splits), spark.sparkContext.defaultParallelism * 4))
    # Largest first, dealt out in turn, so that all tasks have about the same to do.
    rows = sorted(splits, key=lambda split: split.start - split.end)
    dealt = [split for first in range(tasks) for split in rows[first::tasks]]
    read = partial(read_splits, tables=str(tables), zone=zone)
    found = [
        Told(**json.loads(one)) for one in spark.sparkContext.parallelize(dealt, tasks).mapPartitions(read).collect()
    ]
    return sorted(found, key=lambda one: (one.file_id, one.start))


def known_files(tables: Path) -> Manifest:
    """What has been read into a folder of tables so far."""
    return manifests.load(tables)
