"""Metrics from logs: reading event lines and answering from the tables, beside DuckDB and Polars doing the same.

`python -m bench.metrics [--lines 5000000] [--rounds 1] [--cores 1 2] [--cluster]` generates that many lines of an event
log (about 400 bytes each), then runs each step in a process of its own: wall time, MB/s of log, processor seconds, peak
memory of the process and its children; medians over the rounds.

Spark runs twice, as `pyrepl metrics --out` would: once over all logs, then in a new process over the same logs with a
hundredth more lines at the end of each. local[N] is bound to N processors. "start" is that of Spark, "parse" its
reading, "whole" is all.

DuckDB and Polars parse the same lines into Parquet. "answer" of Spark is every result table, from the rollups that it
made of each part while it read (their making is in "parse"); of DuckDB the same analysis in SQL (metrics_sql.py, which
says what it leaves out) over the canonical tables of the same run, all rows of them; of Polars only phases by sync and
percentiles of lag.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import psutil

from bench.metrics_sql import QUESTIONS, TABLES

NODES: Final = 4
_BEGIN_US: Final = 1_795_000_000_000_000
PERCENT: Final = 100
JAVA_ENDS_S: Final = 120
_STATE: Final = (
    '"backlog_bytes":1048576,"backlog_size_bytes":1048576,"replicas":3,"output_bytes":0,"sync_buffer_bytes":0,'
    '"rss_bytes":134217728,"keys":1000000,"clients":12,"writes_per_s":1234.5,"stream_bytes_per_s":99999.5'
)
Laps = dict[str, float]
"""Name of a step -> seconds, or MB for `peak`."""


def generate(path: Path, lines: int, first: int = 0) -> int:
    """Add that many lines to one node's event log: nine in ten are samples, the others syncs. Its size in bytes."""
    with path.open("a", encoding="ascii") as file:
        file.writelines(_lines(path.stem, first, lines))
    return path.stat().st_size


def _lines(node: str, first: int, count: int) -> Iterator[str]:
    """Put together by hand: json.dumps takes nine times as long, which at 50 million lines is half an hour."""
    rng = random.Random(first)
    own = f'"node":"{node}","run":"{node:0>40}","role":"master","replid":"{"b" * 40}"'
    for number in range(first, first + count):
        after_us = number * 10_000
        if number % 10 == 0:
            rest = _of_sync(number, rng, node)
        elif number % 2:
            rest = (
                f'"event":"replica_sample","peer":"10.0.0.{number % 3}:6379","phase":"online",'
                f'"lag_bytes":{rng.randrange(10_000)},"lag_s":{round(rng.random(), 3)},"output_bytes":0'
            )
        else:
            rest = f'"event":"sample","backlog_start_offset":{number},{_STATE}'
        at = f'"at_us":{_BEGIN_US + after_us},"mono_us":{after_us},"seq":{number + 1}'
        yield f'{{"v":1,{at},{own},"offset":{number * 100},{rest}}}\n'


def _of_sync(number: int, rng: random.Random, node: str) -> str:
    sync, step = divmod(number // 10, 4)
    of, by = f'"sync":"{node}-{sync}/?"', '"peer":"10.0.0.1:6379"'
    both = f'"end":"master",{of},{by}'
    return (
        f'"event":"psync_asked",{both},"replica":"10.0.0.1:6379","conn":"10.0.0.1:{sync % 60_000}"',
        f'"event":"psync_decided",{both},"verdict":"full","cause":"first","snapshot_offset":{number}',
        f'"event":"online",{both},"mode":"full_disk","sync_ms":{rng.randrange(5000)}',
        f'"event":"replica_down",{of},{by},"phase":"online","cause":"connection_lost","by_us":false,"lag_bytes":0,'
        '"output_bytes":0',
    )[step]


def spark(work: Path, master: str) -> Laps:
    """Start, read all, answer: seconds of each."""
    return _spark([work / "logs"], _tables(work, master), master, _size(work))


@contextlib.contextmanager
def grown(work: Path, share: int) -> Iterator[None]:
    """Every log, which has `share` lines, a hundredth longer for so long, as if its node had gone on."""
    sizes = {path: path.stat().st_size for path in (work / "logs").iterdir()}
    try:
        for path in sizes:
            generate(path, max(1, share // PERCENT), share)
        yield
    finally:
        for path, size in sizes.items():
            os.truncate(path, size)


def _spark(logs: list[Path], tables: Path, master: str, size: int) -> Laps:
    from pyrepl.analysis.archive import java_options
    from pyrepl.analysis.needs import java
    from pyrepl.analysis.spark import QUICK_BYTES
    from pyrepl.metrics import asking, reading
    from pyrepl.metrics.ingest import ingest
    from pyrepl.metrics.jobs import analyse
    from pyrepl.metrics.session import session

    found: Laps = {}
    begin = time.monotonic()
    with session(master, quick=size < QUICK_BYTES, java=java_options(java(), os.environ)) as made:
        at = _lap(found, "start", begin)
        ingest(reading.by_tasks(made), logs, tables)
        at = _lap(found, "parse", at)
        for frame in analyse(asking.by_tasks(made), tables).values():
            frame.collect()
        _lap(found, "answer", at)
        _lap(found, "whole", begin)
    return found


def prepare(work: Path, master: str) -> Laps:
    """What the first run of all does for those that follow: Java writes down its classes as it ends."""
    logs = work / "few"
    logs.mkdir(exist_ok=True)
    generate(logs / "node.jsonl", 1000)
    return _spark([logs], work / "few-tables", master, 0)


def _wait_for_java() -> None:
    from pyrepl.analysis.archive import java_options
    from pyrepl.analysis.needs import java

    over = time.monotonic() + JAVA_ENDS_S
    while "SharedArchiveFile" not in java_options(java(), os.environ) and time.monotonic() < over:
        time.sleep(0.5)


def _tables(work: Path, master: str) -> Path:
    """Without brackets, which DuckDB takes for a pattern."""
    return work / f"tables-{re.sub('[^a-z0-9]', '', master)}"


def _size(work: Path) -> int:
    return sum(path.stat().st_size for path in (work / "logs").iterdir())


def duckdb(work: Path, of: str) -> Laps:
    """Parse by itself; answer from the tables that Spark made on the master `of`."""
    import duckdb as rival

    found: Laps = {}
    at = time.monotonic()
    base = rival.connect()
    whole = work / "duckdb.parquet"
    base.execute(f"COPY (SELECT * FROM read_ndjson('{work}/logs/*.jsonl')) TO '{whole}' (FORMAT parquet)")
    at = _lap(found, "parse", at)
    for name in ("events", "samples"):
        parts = f"read_parquet('{_tables(work, of)}/{name}/**/*.parquet', hive_partitioning = true)"
        base.execute(f"CREATE VIEW {name} AS SELECT * FROM {parts}")
    for query in (*TABLES, *QUESTIONS):
        base.execute(query).fetchall()
    _lap(found, "answer", at)
    return found


def polars(work: Path, _: str) -> Laps:
    """Parse, and two questions."""
    import polars as pl

    found: Laps = {}
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


def _lap(found: Laps, name: str, since: float) -> float:
    now = time.monotonic()
    found[name] = now - since
    return now


def measured(work: Path, step: Callable[[Path, str], Laps], master: str) -> Laps:
    """Run a step in a process of its own: its seconds, its processor seconds (`cpu`) and the peak memory (`peak`, MB)
    of it and its children."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    process = context.Process(target=_call, args=(results, step, work, master))
    process.start()
    found: Laps = {}
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, found, over))
    watcher.start()
    laps: Laps | str = results.get()
    over.set()
    watcher.join()
    process.join()
    if isinstance(laps, str):
        raise RuntimeError(laps)
    return laps | found


def _call(results: Any, step: Callable[[Path, str], Laps], work: Path, master: str) -> None:
    """Java and Spark greet on standard error: that is shown only when the step fails.

    local[N] has N processors and no more: else Java's own threads, and those of Arrow and Polars, would use another.
    """
    if master.startswith("local") and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: cores(master)])
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            results.put(step(work, master))
        except Exception:
            said.seek(0)
            results.put(said.read().decode(errors="replace") + traceback.format_exc())


def _watch(pid: int | None, found: Laps, over: threading.Event) -> None:
    """Processor seconds are those of the processes there are, and of the children that they have waited for."""
    while not over.wait(0.1):
        with contextlib.suppress(psutil.Error):
            whole = psutil.Process(pid)
            every = (whole, *whole.children(recursive=True))
            found["peak"] = max(found.get("peak", 0.0), sum(one.memory_info().rss for one in every) / 1e6)
            found["cpu"] = max(found.get("cpu", 0.0), sum(sum(one.cpu_times()[:4]) for one in every))


def _median(rounds: list[Laps]) -> Laps:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def _tell(name: str, found: Laps, size: int) -> None:
    laps = ", ".join(f"{lap} {seconds:.1f} s" for lap, seconds in found.items() if lap not in ("peak", "cpu"))
    speed = f"; {size / 1e6 / found['parse']:.0f} MB/s parsed" if size else ""
    print(f"{name:28} {laps}{speed}; processor {found['cpu']:.0f} s; peak {found['peak']:.0f} MB", flush=True)


def compare(work: Path, masters: list[str], rounds: int, share: int) -> None:
    """`share` is the number of lines of each log. All steps, one line each, and how they stand to each other."""
    size = _size(work)
    locally = [master for master in masters if master.startswith("local")]
    widest = locally[-1]
    os.environ["XDG_CACHE_HOME"] = str(work / "cache")
    _tell("before Java's file", measured(work, prepare, widest), 0)
    _wait_for_java()
    firsts, seconds = {}, {}
    for master in masters:
        name = f"Spark {master.partition('//')[0]}"
        tried = []
        for _ in range(rounds):
            shutil.rmtree(_tables(work, master), ignore_errors=True)
            first = measured(work, spark, master)
            with grown(work, share):
                tried.append((first, measured(work, spark, master)))
        firsts[master], seconds[master] = (_median(list(one)) for one in zip(*tried, strict=True))
        _tell(name, firsts[master], size)
        _tell(f"{name} 1 % more", seconds[master], 0)
    rivals = {step.__name__: _median([measured(work, step, widest) for _ in range(rounds)])
              for step in (duckdb, polars)}  # fmt: skip
    for name, found in rivals.items():
        _tell(name, found, size)
    first, again = firsts[widest], seconds[widest]
    print("answers: Spark's tasks from rollups made while reading, DuckDB from the canonical tables")
    print(f"answer of {widest} / answer of DuckDB: {first['answer'] / rivals['duckdb']['answer']:.1f}")
    print(
        f"second run / first: {again['whole'] / first['whole']:.0%} as a whole, "
        f"{again['parse'] / first['parse']:.0%} of parse"
    )
    for master in locally[:-1]:
        for lap in ("parse", "answer", "whole"):
            print(f"{master} / {widest}, {lap}: {firsts[master][lap] / first[lap]:.2f}")


def cores(master: str) -> int:
    """How many local[N] names."""
    return int(master.removeprefix("local[").removesuffix("]"))


def main() -> None:
    """Generate, measure, tell."""
    parser = argparse.ArgumentParser(prog="python -m bench.metrics", description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000, help="event lines (default 5 million, about 2 GB)")
    parser.add_argument("--rounds", type=int, default=1, help="of each step; medians are told (default 1)")
    parser.add_argument(
        "--cores",
        type=int,
        nargs="+",
        default=[1, 2],
        help="of each local master; the last is compared with the rivals",
    )
    parser.add_argument("--cluster", action="store_true", help="also on a standalone master with two workers")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="pyrepl-bench-"))
    try:
        (work / "logs").mkdir()
        share = options.lines // NODES
        logs = [work / "logs" / f"node{number}.jsonl" for number in range(NODES)]
        with ProcessPoolExecutor() as writers:
            size = sum(writers.map(generate, logs, [share] * NODES))
        print(f"{share * NODES} lines, {size / 1e6:.0f} MB", flush=True)
        with contextlib.ExitStack() as stack:
            masters = [f"local[{count}]" for count in options.cores]
            if options.cluster:
                from bench.spark_cluster import cluster

                # The driver tells the workers which Python to run.
                os.environ["PYSPARK_PYTHON"] = sys.executable
                masters.append(stack.enter_context(cluster(work)))
            compare(work, masters, options.rounds, share)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
