"""By TLS, certificates on both sides: the usual commands, a full resync, and answers while a certificate is renewed.

Beside Redis 7.0, which Debian builds with TLS: redis-benchmark with 50 clients, one request at a time and sixteen;
from REPLICAOF to a link that is up, without a file at either end, each time with a new, empty replica; the 99th
percentile of what a client by TLS waits for its PING, in a second in which the certificate is renewed twice. The sides
take turns.
"""

from __future__ import annotations

import socket
import ssl
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from bench import data, fullsync, redis_benchmark
from bench.report import Row
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST
from tests.peers.wire import encode

RIVAL: Final = "redis7"
KINDS: Final = ("pyrepl", RIVAL)
REQUESTS: Final = {1: 50_000, 16: 400_000}
TESTS: Final = ("set", "get", "lpush", "lpop")
DATA_BYTES: Final = 1_000_000_000
VALUE_BYTES: Final = 1000
SETTINGS: Final = {"repl-diskless-load": "on-empty-db", "repl-diskless-sync": "yes", "repl-diskless-sync-delay": "0"}
RENEWALS: Final = 2
RENEW_EVERY_S: Final = 0.5


def measure(rounds: int, scale: float) -> list[Row]:
    """All figures; `scale` makes runs and data smaller or larger."""
    return [*_commands(rounds, scale), *_syncs(rounds, int(DATA_BYTES * scale) // VALUE_BYTES), *_renewals(rounds)]


def _commands(rounds: int, scale: float) -> list[Row]:
    figures: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        nodes = [lab.start(kind, directives=lab.authority.directives()) for kind in KINDS]
        for _ in range(rounds):
            for depth, requests in REQUESTS.items():
                for node in nodes:
                    node.call("FLUSHALL")
                    done = redis_benchmark.run_by_tls(node, TESTS, int(requests * scale), depth, lab.authority)
                    for test, rate in done.items():
                        figures.setdefault(f"{test} -P{depth}", {}).setdefault(node.kind, []).append(rate)
    return [Row(what, "1/s", by_kind["pyrepl"], by_kind[RIVAL], ">= 0.8x") for what, by_kind in figures.items()]


def _syncs(rounds: int, keys: int) -> list[Row]:
    """Each kind to itself, and each as a master of the other one and as its replica."""
    pairs = {"both ends": KINDS, "the replica": (RIVAL, RIVAL), "the master": KINDS}
    figures: dict[str, tuple[list[float], list[float]]] = {what: ([], []) for what in pairs}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        masters = {kind: lab.start(kind, directives={**SETTINGS, **lab.authority.directives()}) for kind in KINDS}
        for master in masters.values():
            data.fill_strings(master, keys, VALUE_BYTES)
        for _ in range(rounds):
            for what, of in pairs.items():
                for kind, master_kind, kept in zip(KINDS, of, figures[what], strict=True):
                    replica_kind = RIVAL if what == "the master" else kind
                    replica = lab.start(replica_kind, directives={**SETTINGS, **lab.authority.directives()})
                    kept.append(fullsync.once(replica, masters[master_kind], keys))
    size = f"full resync of {keys * VALUE_BYTES / 1e9:g} GB"
    return [Row(f"{size}, {what}", "s", *both, "<= 1.25x") for what, both in figures.items()]


def _renewals(rounds: int) -> list[Row]:
    still: dict[str, list[float]] = {kind: [] for kind in KINDS}
    renewed: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        nodes = [lab.start(kind, directives=lab.authority.directives()) for kind in KINDS]
        for _ in range(rounds):
            for node in nodes:
                still[node.kind].append(_waits(lab, node, renewals=0))
                renewed[node.kind].append(_waits(lab, node, renewals=RENEWALS))
    return [
        Row("PING, 99th percentile", "ms", still["pyrepl"], still[RIVAL], "<= 1.25x"),
        Row("the same, while the certificate is renewed", "ms", renewed["pyrepl"], renewed[RIVAL], "<= 1.25x"),
    ]


def _waits(lab: Lab, node: Node, renewals: int) -> float:
    """The 99th percentile of the milliseconds that a PING by TLS takes, in a second with so many renewals."""
    stopped = threading.Event()
    answers: list[float] = []
    prober = threading.Thread(target=_probe, args=(lab, node, answers, stopped), daemon=True)
    prober.start()
    path = str(lab.authority.folder / "node.pem")
    for number in range(RENEWALS):
        time.sleep(RENEW_EVERY_S)
        if number < renewals:
            lab.authority.issue()
            node.call("CONFIG", "SET", "tls-cert-file", path, "tls-key-file", path)
    stopped.set()
    prober.join()
    return statistics.quantiles(answers, n=100)[98] * 1000


def _probe(lab: Lab, node: Node, answers: list[float], stopped: threading.Event) -> None:
    context = ssl.create_default_context(cafile=lab.authority.ca_file)
    context.load_cert_chain(lab.authority.folder / "node.pem")
    request = encode(["PING"])
    with (
        socket.create_connection((HOST, node.tls_port)) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as wire,
    ):
        while not stopped.is_set():
            began = time.monotonic()
            wire.sendall(request)
            assert wire.recv(100) == b"+PONG\r\n"
            answers.append(time.monotonic() - began)
            time.sleep(0.0005)
