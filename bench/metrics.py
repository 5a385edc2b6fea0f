"""Metrics from logs: reading event lines and answering from the tables, beside DuckDB and Polars doing the same.

`python -m bench.metrics [--lines 5000000]` generates that many lines of an event log (about 400 bytes each), then runs
each step in a process of its own: wall time, MB/s of log, peak memory of the process and its children. The work of the
rivals: parse the same lines into Parquet, then phases by sync and percentiles of lag on it. Spark answers with all its
result tables, which is more.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

NODES: Final = 4
_BEGIN_US: Final = 1_795_000_000_000_000
_BY_SYNC: Final = "SELECT sync, min(at_us), max(at_us), max(mode) FROM {events} WHERE sync IS NOT NULL GROUP BY sync"
_LAGS: Final = (
    "SELECT node, peer, quantile_cont(lag_bytes, [0.5, 0.9, 0.99]), quantile_cont(lag_s, [0.5, 0.9, 0.99]) "
    "FROM {samples} WHERE lag_bytes IS NOT NULL GROUP BY node, peer"
)


def generate(path: Path, lines: int, first: int = 0) -> int:
    """Write that many lines of one node's event log: nine in ten are samples, the others syncs. Its size in bytes."""
    rng = random.Random(first)
    with path.open("w", encoding="ascii") as file:
        for number in range(first, first + lines):
            file.write(json.dumps(_line(number, rng, path.stem), separators=(",", ":")) + "\n")
    return path.stat().st_size


def _line(number: int, rng: random.Random, node: str) -> dict[str, Any]:
    head = {
        "v": 1, "at_us": _BEGIN_US + number * 10_000, "mono_us": number * 10_000, "seq": number + 1, "node": node,
        "run": f"{node:0>40}", "role": "master", "replid": "b" * 40, "offset": number * 100,
    }  # fmt: skip
    if number % 10:
        peer = f"10.0.0.{number % 3}:6379"
        lag = {"event": "replica_sample", "peer": peer, "phase": "online", "lag_bytes": rng.randrange(10_000)}
        state = {"event": "sample", "backlog_start_offset": number, "backlog_bytes": 1 << 20,
                 "backlog_size_bytes": 1 << 20, "replicas": 3, "output_bytes": 0, "sync_buffer_bytes": 0,
                 "rss_bytes": 1 << 27, "keys": 10**6, "clients": 12, "writes_per_s": 1234.5,
                 "stream_bytes_per_s": 99999.5}  # fmt: skip
        return {**head, **({**lag, "lag_s": rng.random(), "output_bytes": 0} if number % 2 else state)}
    sync, step = divmod(number // 10, 4)
    base = {"end": "master", "sync": f"{node}-{sync}/?", "peer": "10.0.0.1:6379"}
    asked = {"event": "psync_asked", **base, "replica": "10.0.0.1:6379", "conn": f"10.0.0.1:{sync % 60_000}"}
    decided = {"event": "psync_decided", **base, "verdict": "full", "cause": "first", "snapshot_offset": number}
    online = {"event": "online", **base, "mode": "full_disk", "sync_ms": rng.randrange(5000)}
    down = {"event": "replica_down", "sync": base["sync"], "peer": base["peer"], "phase": "online",
            "cause": "connection_lost", "by_us": False, "lag_bytes": 0, "output_bytes": 0}  # fmt: skip
    return {**head, **(asked, decided, online, down)[step]}


def spark(work: Path, master: str) -> dict[str, float]:
    """Start, read all, read again with a hundredth more, answer: seconds of each."""
    from pyrepl.metrics.ingest import ingest
    from pyrepl.metrics.jobs import analyse
    from pyrepl.metrics.session import session

    tables = work / f"tables-{'two' if '2' in master else 'one'}"
    found: dict[str, float] = {}
    at = time.monotonic()
    with session(master) as made:
        at = _lap(found, "start", at)
        ingest(made, [work / "logs"], tables)
        at = _lap(found, "parse", at)
        ingest(made, [work / "logs", work / "more"], tables)
        at = _lap(found, "parse 1 % more", at)
        for frame in analyse(made, tables).values():
            frame.collect() if frame.columns[0] != "sync" else frame.count()
        _lap(found, "answer", at)
    return found


def duckdb(work: Path, _: str) -> dict[str, float]:
    """The same by DuckDB."""
    import duckdb as rival

    found: dict[str, float] = {}
    at = time.monotonic()
    base = rival.connect()
    whole = work / "duckdb.parquet"
    base.execute(f"COPY (SELECT * FROM read_ndjson('{work}/logs/*.jsonl')) TO '{whole}' (FORMAT parquet)")
    at = _lap(found, "parse", at)
    for query in (_BY_SYNC, _LAGS):
        base.execute(query.format(events=f"'{whole}'", samples=f"'{whole}'")).fetchall()
    _lap(found, "answer", at)
    return found


def polars(work: Path, _: str) -> dict[str, float]:
    """The same by Polars."""
    import polars as pl

    found: dict[str, float] = {}
    at = time.monotonic()
    whole = work / "polars.parquet"
    pl.scan_ndjson(str(work / "logs" / "*.jsonl"), infer_schema_length=1000).sink_parquet(whole)
    at = _lap(found, "parse", at)
    rows = pl.scan_parquet(whole)
    col = pl.col
    rows.filter(col("sync").is_not_null()).group_by("sync").agg(
        col("at_us").min().alias("first"), col("at_us").max().alias("last"), col("mode").max()
    ).collect()
    marks = [
        col(name).quantile(q, "linear").alias(f"{name}{q}") for name in ("lag_bytes", "lag_s") for q in (0.5, 0.9, 0.99)
    ]
    rows.filter(col("lag_bytes").is_not_null()).group_by("node", "peer").agg(marks).collect()
    _lap(found, "answer", at)
    return found


def _lap(found: dict[str, float], name: str, since: float) -> float:
    now = time.monotonic()
    found[name] = now - since
    return now


def measured(work: Path, step: Callable[[Path, str], dict[str, float]], master: str) -> tuple[dict[str, float], float]:
    """Run a step in a process of its own; its seconds, and the peak memory of it and its children in MB."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    process = context.Process(target=_call, args=(results, step, work, master))
    process.start()
    peak = [0.0]
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peak, over))
    watcher.start()
    found: dict[str, float] = results.get()
    process.join()
    over.set()
    watcher.join()
    return found, peak[0]


def _call(results: Any, step: Callable[[Path, str], dict[str, float]], work: Path, master: str) -> None:
    results.put(step(work, master))


def _watch(pid: int | None, peak: list[float], over: threading.Event) -> None:
    while not over.wait(0.1):
        try:
            whole = psutil.Process(pid)
            sizes = [one.memory_info().rss for one in (whole, *whole.children(recursive=True))]
            peak[0] = max(peak[0], sum(sizes) / 1e6)
        except psutil.Error:
            continue


def main() -> None:
    """Generate, measure, print one line a step."""
    parser = argparse.ArgumentParser(prog="python -m bench.metrics", description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000, help="event lines (default 5 million, about 1.5 GB)")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="pyrepl-bench-"))
    try:
        (work / "logs").mkdir()
        (work / "more").mkdir()
        share = options.lines // NODES
        size = sum(generate(work / "logs" / f"node{i}.jsonl", share) for i in range(NODES))
        generate(work / "more" / "node9.jsonl", max(1, options.lines // 100))
        print(f"{share * NODES} lines, {size / 1e6:.0f} MB")
        steps = (("Spark local[1]", spark, "local[1]"), ("Spark local[2]", spark, "local[2]"), ("DuckDB", duckdb, ""),
                 ("Polars", polars, ""))  # fmt: skip
        for name, step, master in steps:
            found, peak = measured(work, step, master)
            laps = ", ".join(f"{lap} {seconds:.1f} s" for lap, seconds in found.items())
            print(f"{name:15} {laps}; {size / 1e6 / found['parse']:.0f} MB/s parsed; peak {peak:.0f} MB", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
