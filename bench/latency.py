"""The longest pause: a client that PINGs every millisecond, while a node does work that goes through all it holds.

Worst answer in milliseconds for each kind of work, on a node of strings and collections.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from bench import data
from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.wire import ErrorReply, encode

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL, BESIDE)
STRINGS: Final = 1_000_000
MIXED: Final = 200_000
EXPIRING: Final = 100_000
GROWING: Final = 300_000
"""Beyond those before: the table of keys grows meanwhile, at 1.4 million."""
VALUE_BYTES: Final = 100
EVERY_S: Final = 0.001
CONNECTIONS_BYTES: Final = 1 << 20
SETTINGS: Final = {"enable-debug-command": "yes", "repl-diskless-load": "swapdb", "repl-diskless-sync-delay": "0"}
GOAL: Final = "ours <= 5 ms"


def measure(rounds: int, scale: float) -> list[Row]:
    """Milliseconds; `scale` makes the data smaller or larger."""
    figures: dict[str, dict[str, list[float]]] = {kind: {} for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
                for what, worst in _all(lab, kind, scale):
                    figures[kind].setdefault(what, []).append(worst)
    ours, theirs, beside = (figures[kind] for kind in KINDS)
    return [Row(what, "ms", worst, theirs[what], GOAL, beside[what]) for what, worst in ours.items()]


def _all(lab: Lab, kind: str, scale: float) -> Iterator[tuple[str, float]]:
    node = lab.start(kind, directives=SETTINGS)
    data.fill_strings(node, int(STRINGS * scale), VALUE_BYTES)
    works: tuple[tuple[str, Callable[[Node], object]], ...] = (
        ("idle, for a second", lambda node: time.sleep(1)),
        ("writes of collections", lambda node: data.fill_mixed(node, int(MIXED * scale), alone=False)),
        ("expiry of a tenth", lambda node: _expire(node, int(EXPIRING * scale))),
        ("SETs of new keys", lambda node: _grow(node, int(GROWING * scale))),
        ("KEYS of none", lambda node: node.call("KEYS", "none:*")),
        ("DEBUG DIGEST", lambda node: node.call("DEBUG", "DIGEST")),
        ("SCAN, the first", lambda node: node.call("SCAN", 0)),
        ("eviction of a tenth", _evict),
        ("BGSAVE", _save),
        ("backlog to 64 MB and back", _resize),
    )
    for what, work in works:
        yield what, _worst(node, work)
    replica = lab.start(kind, directives=SETTINGS)
    data.fill_strings(replica, int(STRINGS * scale), VALUE_BYTES)
    yield "full sync beside old data, on the replica", _worst(replica, lambda replica: _follow(replica, node))
    replica.end()
    yield "FLUSHALL ASYNC", _worst(node, _flush)


def _worst(node: Node, work: Callable[[Node], object]) -> float:
    with _probed(node) as answers:
        work(node)
    return max(answers) * 1000


@contextmanager
def _probed(node: Node) -> Iterator[list[float]]:
    """Seconds that each PING took meanwhile."""
    answers = [0.0]
    stopped = threading.Event()

    def probe() -> None:
        with node.connect(timeout_s=300) as wire:
            while not stopped.is_set():
                asked = time.perf_counter()
                with suppress(ErrorReply):
                    wire.call("PING")
                answers.append(time.perf_counter() - asked)
                time.sleep(EVERY_S)

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    time.sleep(0.1)
    try:
        yield answers
    finally:
        stopped.set()
        thread.join(300)


def _expire(node: Node, keys: int) -> None:
    with node.connect(timeout_s=300) as wire:
        wire.send(encode(["CLIENT", "REPLY", "OFF"]))
        for first in range(0, keys, 1000):
            wire.send(b"".join(encode(["SET", f"due:{n}", "v", "PX", 500]) for n in range(first, first + 1000)))
        wire.send(encode(["CLIENT", "REPLY", "ON"]))
        wire.read()
    wait_until("they are gone", lambda: node.info("keyspace")["db0"].split(",")[1] == "expires=0", 120)


def _grow(node: Node, keys: int) -> None:
    with node.connect(timeout_s=300) as wire:
        wire.send(encode(["CLIENT", "REPLY", "OFF"]))
        for first in range(0, keys, 1000):
            wire.send(b"".join(encode(["SET", f"grow:{n}", "v" * VALUE_BYTES]) for n in range(first, first + 1000)))
        wire.send(encode(["CLIENT", "REPLY", "ON"]))
        wire.read()


def _evict(node: Node) -> None:
    limit = int(node.info("memory")["used_memory"]) * 9 // 10
    node.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", limit)
    # What connections hold counts in used_memory, and not for evictions.
    enough = limit + CONNECTIONS_BYTES
    wait_until("there is room", lambda: int(node.info("memory")["used_memory"]) <= enough, 120)
    node.call("CONFIG", "SET", "maxmemory", 0)


def _save(node: Node) -> None:
    node.call("BGSAVE")
    wait_until("it is saved", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0", 300)


def _resize(node: Node) -> None:
    for size in ("64mb", "1mb"):
        node.call("CONFIG", "SET", "repl-backlog-size", size)


def _follow(replica: Node, master: Node) -> None:
    replica.call("REPLICAOF", HOST, master.port)
    replica.wait_link_up(300)
    time.sleep(1)


def _flush(node: Node) -> None:
    node.call("FLUSHALL", "ASYNC")
    time.sleep(1)
