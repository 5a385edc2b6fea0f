"""Logs that Hadoop alone sees: a folder that its viewfs shows under another name, copied again and again."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.fetch import fetched
from tests.unit.metrics.conftest import Row

WRONG = (
    "viewfs://fleet/logs/none",
    "viewfs://fleet/logs/*/none-*",
    "s3a://bucket/logs",
    "nosuch://host/logs",
    "viewfs://unknown/logs",
)


def told(spark: SparkSession, folder: Path) -> Row:
    """What is there after each step."""
    far, copies = folder / "far", folder / "copies"
    for name, data in (
        ("a/redis.log", b"one\n"), ("b/redis.log.1.gz", gzip.compress(b"two\n")), ("b/c d/redis.log", b"three\n"),
        ("b/dump.rdb", b"REDIS"), (".old/redis.log", b"four\n"),
    ):  # fmt: skip
        (far / name).parent.mkdir(parents=True, exist_ok=True)
        (far / name).write_bytes(data)
    context: Any = spark.sparkContext
    settings = context._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.fleet.link./logs", far.as_uri())

    def fetch(*logs: str) -> tuple[list[str], dict[str, tuple[str, int]]]:
        here = [str(Path(log).relative_to(folder)) for log in fetched(spark, logs, copies)]
        files = {path: (path.read_bytes().hex(), path.stat().st_ino) for path in copies.rglob("*") if path.is_file()}
        return here, {path.relative_to(copies).as_posix(): seen for path, seen in files.items()}

    steps = {"first": fetch("viewfs://fleet/logs", str(far)), "again": fetch("viewfs://fleet/logs")}
    (far / "a" / "redis.log").write_bytes(b"one\ntwo\n")
    (far / "b" / "redis.log.1.gz").unlink()
    steps["grown"] = fetch("viewfs://fleet/logs")
    steps["matched"] = fetch("viewfs://fleet/logs/{a,z}/redis.*")
    return {"steps": steps, "wrong": {log: _failed(spark, log, copies) for log in WRONG}}


def _failed(spark: SparkSession, log: str, copies: Path) -> str:
    try:
        fetched(spark, [log], copies)
    except CannotRun as error:
        return str(error)
    return ""
