"""A full sync under writes, snapshot and stream on two connections or on one.

What two connections are for: the stream that comes during a sync waits on the replica and not on the master. Measured
with pyrepl to pyrepl, Redis to Redis and Valkey to Valkey, with and without, in turns within each round:

    sync time         from REPLICAOF until the replica holds every byte that the master had when the link came up
    master's buffer   the most of INFO's mem_total_replication_buffers: stream bytes kept for backlog and replicas,
                      each byte counted once however many wait for it. The backlog's own 1 MB is part of it
    replica's buffer  replica_full_sync_buffer_peak
    writes            SETs per second of the master during the sync; 8 clients of redis-benchmark, one request at a time
    latency           of one more client's SETs beside them, every 2 ms, during the sync
    CPU               user and system time of the master's process, its snapshot child not counted. Clients that
                      wait less write more, which costs CPU too: hence the figure per write

1 GB of 1000-byte strings at scale 1 (less if a tenth of the free memory is less), written uncompressed. There is no
output limit: the peak of what would be kept is the point. A plot of both buffers over time goes to bench/out/.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from bench import plot
from bench.report import BESIDE, Row
from tests.interop import channels
from tests.peers import finder
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.wire import ErrorReply

RIVAL: Final = "redis8"
DIALECTS: Final = {"pyrepl": channels.REDIS, RIVAL: channels.REDIS, BESIDE: channels.VALKEY}
"""The kinds, and how each takes a snapshot on a second connection."""
KINDS: Final = tuple(DIALECTS)
MODES: Final = ("two", "one")

VALUE_BYTES: Final = 1000
MOST_BYTES: Final = 1_000_000_000
MEMORY_SHARE: Final = 10
WRITTEN_KEYS: Final = 20_000
CLIENTS: Final = 8
ENOUGH_REQUESTS: Final = 500_000_000
PROBE_EVERY_S: Final = 0.002
SAMPLE_EVERY_S: Final = 0.02
WARM_UP_S: Final = 1.0
TIMEOUT_S: Final = 900.0

SETTINGS: Final = {
    "rdbcompression": "no",
    "repl-diskless-load": "on-empty-db",
    "client-output-buffer-limit": "replica 0 0 0",
}

PEAKS: Final = ("replica_full_sync_buffer_peak", "replicas_repl_buffer_peak")
"""What Redis's INFO calls a replica's buffer, and Valkey's."""


@dataclass
class Figures:
    """One sync, measured."""

    sync_s: float = 0.0
    master_bytes: int = 0
    replica_bytes: int = 0
    writes_per_s: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """(seconds since REPLICAOF, bytes kept by the master, bytes kept by the replica)."""

    def latency_ms(self, percent: int) -> float:
        return statistics.quantiles(self.latencies_ms, n=100, method="inclusive")[percent - 1]


Results = dict[tuple[str, str], list[Figures]]
"""(kind, mode) -> one for each round."""


def measure(rounds: int, scale: float) -> list[Row]:
    """All figures; `scale` makes the data set smaller or larger."""
    keys = _data_bytes(scale) // VALUE_BYTES
    results: Results = {(kind, mode): [] for mode in MODES for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        masters = {kind: start_master(lab, kind, keys) for kind in KINDS}
        for _ in range(rounds):
            for mode in MODES:
                for kind, master in masters.items():
                    results[kind, mode].append(full_sync(lab, master, mode))
    print(f"data: {keys:,} strings of {VALUE_BYTES} bytes; plot: {_draw(results)}")
    return _rows(results)


def _data_bytes(scale: float) -> int:
    free = psutil.virtual_memory().available
    return int(min(MOST_BYTES * scale, free / MEMORY_SHARE))


def start_master(lab: Lab, kind: str, keys: int) -> Node:
    master = lab.start(kind, directives=SETTINGS)
    with master.connect(timeout_s=TIMEOUT_S) as wire:
        wire.call("DEBUG", "POPULATE", keys, "key", VALUE_BYTES)
    return master


def full_sync(lab: Lab, master: Node, mode: str) -> Figures:
    """A new, empty replica attaches while clients write."""
    directives = channels.directives(master.kind, DIALECTS[master.kind] if mode == "two" else channels.ONE)
    for name, value in directives.items():
        master.call("CONFIG", "SET", name, value)
    replica = lab.start(master.kind, directives={**SETTINGS, **directives})
    figures = Figures()
    process = psutil.Process(master.process.pid)
    with writes(master):
        time.sleep(WARM_UP_S)
        began, before, cpu = time.monotonic(), commands(master), cpu_s(process)
        with watched(master, replica, figures, began):
            replica.call("REPLICAOF", HOST, master.port)
            replica.wait_link_up(TIMEOUT_S)
            wanted = master.offset()
            wait_until("it has all of it", lambda: replica.offset() >= wanted, TIMEOUT_S, every_s=0.01)
            figures.sync_s = time.monotonic() - began
            figures.writes_per_s = (commands(master) - before) / figures.sync_s
            figures.cpu_s = cpu_s(process) - cpu
    figures.master_bytes = max(sample[1] for sample in figures.samples)
    shown = replica.info("replication")
    figures.replica_bytes = int(shown[next(name for name in PEAKS if name in shown)])
    replica.end()
    wait_until("the master let it go", lambda: master.info("replication")["connected_slaves"] == "0", 60)
    return figures


@contextmanager
def writes(master: Node) -> Iterator[None]:
    """Clients that SET all the time, each waiting for its reply."""
    command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", master.port, "-t", "set", "-d", VALUE_BYTES]
    command += ["-n", ENOUGH_REQUESTS, "-c", CLIENTS, "-r", WRITTEN_KEYS, "-q"]
    writing = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        writing.kill()
        writing.wait()


@contextmanager
def watched(master: Node, replica: Node, figures: Figures, began: float) -> Iterator[None]:
    """Meanwhile the buffers are sampled and a client's latency is measured, in threads of their own."""
    stopped = threading.Event()
    threads = [
        threading.Thread(target=_sample, args=(master, replica, figures, began, stopped), daemon=True),
        threading.Thread(target=probe, args=(master, figures, stopped), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join(60)


def _sample(master: Node, replica: Node, figures: Figures, began: float, stopped: threading.Event) -> None:
    with master.connect() as above, replica.connect() as below:
        while not stopped.wait(SAMPLE_EVERY_S):
            kept = _field(above.call("INFO", "memory"), b"mem_total_replication_buffers")
            try:
                held = _held(below.call("INFO", "replication"))
            except ErrorReply:
                held = 0
            figures.samples.append((time.monotonic() - began, kept, held))


def _held(info: bytes) -> int:
    return max(_field(info, name) for name in (b"replica_full_sync_buffer_size", b"replicas_repl_buffer_size"))


def _field(info: bytes, name: bytes) -> int:
    _, found, rest = info.partition(b"\r\n" + name + b":")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def probe(master: Node, figures: Figures, stopped: threading.Event) -> None:
    value = b"p" * VALUE_BYTES
    with master.connect() as wire:
        while not stopped.wait(PROBE_EVERY_S):
            asked = time.perf_counter()
            wire.call("SET", "probe", value)
            figures.latencies_ms.append((time.perf_counter() - asked) * 1000)


def commands(master: Node) -> int:
    return master.stat("total_commands_processed")


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _rows(results: Results) -> list[Row]:
    rows: list[Row] = []
    readers: tuple[tuple[str, str, str, Callable[[Figures], float]], ...] = (
        ("sync time", "s", "<= 1x", lambda f: f.sync_s),
        ("master's buffer, peak", "MB", "<= 1x", lambda f: f.master_bytes / 1e6),
        ("writes during the sync", "per s", ">= 1x", lambda f: f.writes_per_s),
        ("latency p50", "ms", "<= 1x", lambda f: f.latency_ms(50)),
        ("latency p99", "ms", "<= 1x", lambda f: f.latency_ms(99)),
        ("CPU of the master", "s", "<= 1x", lambda f: f.cpu_s),
        ("CPU of the master per write", "us", "<= 1x", lambda f: f.cpu_s * 1e6 / (f.writes_per_s * f.sync_s)),
    )
    for what, unit, goal, read in readers:
        values = {key: [read(figures) for figures in of_round] for key, of_round in results.items()}
        for mode in MODES:
            ours, theirs, beside = (values[kind, mode] for kind in KINDS)
            rows.append(Row(f"{what}, {mode}", unit, ours, theirs, "", beside))
        ours, theirs, beside = (_ratios(values, kind) for kind in KINDS)
        rows.append(Row(f"{what}, two/one", "x", ours, theirs, goal, beside))
    ours, theirs, beside = ([figures.replica_bytes / 1e6 for figures in results[kind, "two"]] for kind in KINDS)
    return [*rows, Row("replica's buffer, peak, two", "MB", ours, theirs, "", beside)]


def _ratios(values: dict[tuple[str, str], list[float]], kind: str) -> list[float]:
    """Of the medians: one round of a few seconds says little on a machine that does other things."""
    return [statistics.median(values[kind, "two"]) / statistics.median(values[kind, "one"])]


def _draw(results: Results) -> str:
    """The last round's buffers over time, one picture for each kind and mode."""
    pictures = {
        f"{kind}, {mode} connection{'s' if mode == 'two' else ''}": results[kind, mode][-1].samples
        for kind in KINDS
        for mode in MODES
    }
    return plot.draw("rdbchannel-buffers", "Stream bytes kept during a full sync", pictures)
