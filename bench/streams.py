"""Change streams: rows per second to one subscriber, coming back to a million rows, writes beside many subscribers.

Redis has nothing that is resumable for free; measured beside it are the two things that people use instead:

    one subscriber      from the first SET of redis-benchmark (16 at a time) until its row has come to the subscriber,
                        a socket that counts, and the Python client that makes rows of it. Redis: notifications of
                        changed keys by pub/sub, which are lost when the subscriber is away; its client is redis-py
    coming back         from the token of a million rows ago until all of them have come. Redis: XREAD of a stream of a
                        million entries, which somebody has to write beside the data and to trim
    writes              SETs per second, 50 clients, one request at a time, with 0, 10 and 100 live subscribers that
                        another process drains. All of it shares this machine's cores
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.report import Row
from pyrepl.changes.history_digits import digits_of, token_at
from tests.peers import finder
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST, free_port

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL)
ROWS: Final = 300_000
ROWS_BEFORE: Final = 1_000_000
WRITES: Final = 80_000
SUBSCRIBERS: Final = (0, 10, 100)
DIRECTIVES: Final = {
    "pyrepl": {"repl-backlog-size": "256mb"},
    RIVAL: {"notify-keyspace-events": "KA"},
}

Figures = dict[tuple[str, str], list[float]]
"""(what, kind) -> one for each round."""


def measure(rounds: int, scale: float) -> list[Row]:
    """All figures; `scale` shortens or lengthens each run."""
    figures: Figures = {}
    for part in (_one_subscriber, _writes, _coming_back):
        with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
            part(lab, figures, rounds, scale)
    rows = [Row(f"one subscriber, {way}", "rows/s", figures[way, "pyrepl"], figures[way, RIVAL], "") for way in WAYS]
    for way in ("socket", "client"):
        ours, theirs = figures[f"back {way}", "pyrepl"], figures["back socket", RIVAL]
        rows.append(Row(f"back after {int(ROWS_BEFORE * scale):,} rows, {way}", "s", ours, theirs, ""))
    for many in SUBSCRIBERS:
        ours, theirs = (figures[str(many), kind] for kind in KINDS)
        rows.append(Row(f"writes, {many} subscribers", "per s", ours, theirs, ""))
    for many in SUBSCRIBERS[1:]:
        ratios = [_median(figures, str(many), kind) / _median(figures, "0", kind) for kind in KINDS]
        rows.append(Row(f"writes, {many} subscribers / none", "x", ratios[:1], ratios[1:], ""))
    return rows


WAYS: Final = ("socket", "client")


def _median(figures: Figures, what: str, kind: str) -> float:
    return statistics.median(figures[what, kind])


def _note(figures: Figures, what: str, kind: str, figure: float) -> None:
    figures.setdefault((what, kind), []).append(figure)


def _start(lab: Lab, kind: str) -> tuple[Node, int]:
    """A node, and the port for its subscribers."""
    if kind == RIVAL:
        node = lab.start(kind, directives=DIRECTIVES[kind])
        return node, node.port
    port = free_port()
    return lab.start(kind, directives={**DIRECTIVES[kind], "stream-port": str(port)}), port


def _one_subscriber(lab: Lab, figures: Figures, rounds: int, scale: float) -> None:
    rows = int(ROWS * scale)
    nodes = {kind: _start(lab, kind) for kind in KINDS}
    for _ in range(rounds):
        for way in WAYS:
            for kind, (node, port) in nodes.items():
                with _reader(kind, way, port, rows, "NOW") as reader:
                    _wait(reader, "ready")
                    began = time.monotonic()
                    _benchmark(node, rows, depth=16)
                    _wait(reader, "done")
                    _note(figures, way, kind, rows / (time.monotonic() - began))


def _coming_back(lab: Lab, figures: Figures, rounds: int, scale: float) -> None:
    rows = int(ROWS_BEFORE * scale)
    node, port = _start(lab, "pyrepl")
    with _reader("pyrepl", "drain", port, 1):
        # A node keeps no backlog before it is asked for the first time.
        pass
    info = node.info("replication")
    start = token_at(int(info["master_repl_offset"]), digits_of(info["master_replid"]))
    _benchmark(node, rows, depth=16)
    rival, rival_port = _start(lab, RIVAL)
    with rival.connect() as wire:
        for first in range(0, rows, 10_000):
            wire.pipeline([["XADD", "log", "*", "key", f"key:{n}"] for n in range(first, min(first + 10_000, rows))])
    for _ in range(rounds):
        _note(figures, "back socket", RIVAL, _timed(RIVAL, "socket", rival_port, rows, "0"))
        for way in WAYS:
            _note(figures, f"back {way}", "pyrepl", _timed("pyrepl", way, port, rows, str(start)))


def _timed(kind: str, way: str, port: int, rows: int, start: str) -> float:
    """Seconds, without those that Python needs to start: those of a reader of no rows."""
    spans = []
    for count in (0, rows):
        began = time.monotonic()
        with _reader(kind, way, port, count, start) as reader:
            _wait(reader, "done")
        spans.append(time.monotonic() - began)
    return spans[1] - spans[0]


def _writes(lab: Lab, figures: Figures, rounds: int, scale: float) -> None:
    nodes = {kind: _start(lab, kind) for kind in KINDS}
    for _ in range(rounds):
        for many in SUBSCRIBERS:
            for kind, (node, port) in nodes.items():
                with _reader(kind, "drain", port, many) as reader:
                    _wait(reader, "ready")
                    _note(figures, str(many), kind, _benchmark(node, int(WRITES * scale), depth=1))
    cut = nodes["pyrepl"][0].info("streams")["stream_output_limit_disconnections"]
    print(f"subscribers of pyrepl that were cut because they read too slowly: {cut}")


@contextmanager
def _reader(kind: str, way: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "bench.stream_readers", kind, way, *map(str, arguments)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield reader
    finally:
        reader.kill()
        reader.wait()
        assert reader.stdout is not None
        reader.stdout.close()


def _wait(reader: subprocess.Popen[str], word: str) -> None:
    assert reader.stdout is not None
    for line in reader.stdout:
        if line.strip() == word:
            return
    raise RuntimeError(f"a reader ended before it said {word!r}")


def _benchmark(node: Node, requests: int, depth: int) -> float:
    """SETs per second. Raises CalledProcessError when the benchmark met an error reply."""
    command: list[object] = [finder.tool("redis-benchmark"), "-h", HOST, "-p", node.port, "-t", "set", "-n", requests]
    command += ["-r", 1_000_000, "-P", depth, "-c", 50, "-d", 100, "--csv"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    return next(float(row["rps"]) for row in csv.DictReader(lines))
