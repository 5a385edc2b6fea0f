"""A full resync of strings and of collections, and one from a real Redis.

From REPLICAOF to a link that is up. Diskless at both ends and on two connections, as Redis 8 does it best, without the
delay that waits for more replicas; each time with a new, empty replica. pyrepl to pyrepl against Redis to Redis, and
Valkey to Valkey in its own way of two connections beside them; then pyrepl and Redis as replicas of one Redis, whose
snapshot has listpacks and LZF, in a version of the format that Valkey 8 does not read. The sides take turns.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench import data
from bench.report import BESIDE, Row
from tests.interop import channels
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL)
DIALECTS: Final = {"pyrepl": channels.REDIS, RIVAL: channels.REDIS, BESIDE: channels.VALKEY}
STRINGS: Final = 5_000_000
VALUE_BYTES: Final = 100
MIXED: Final = 1_000_000
SETTINGS: Final = {"repl-diskless-load": "on-empty-db", "repl-diskless-sync-delay": "0"}

Fill = Callable[[Node, int], None]


def measure(rounds: int, scale: float) -> list[Row]:
    """Seconds for each data set; `scale` makes them smaller or larger."""
    strings, mixed = int(STRINGS * scale), int(MIXED * scale)
    return [
        _between_equals(f"{strings:,} strings of {VALUE_BYTES} bytes", _fill_strings, strings, rounds, "<= 0.33x"),
        _between_equals(f"{mixed:,} hashes, lists, sorted sets", data.fill_mixed, mixed, rounds, "<= 0.6x"),
        _from_redis(f"{strings:,} strings from a Redis master", _fill_strings, strings, rounds),
        _from_redis(f"{mixed:,} hashes, lists, sorted sets from a Redis master", data.fill_mixed, mixed, rounds),
    ]


def _fill_strings(node: Node, keys: int) -> None:
    data.fill_strings(node, keys, VALUE_BYTES)


def _start(lab: Lab, kind: str) -> Node:
    return lab.start(kind, directives={**SETTINGS, **channels.directives(kind, DIALECTS[kind])})


def _between_equals(what: str, fill: Fill, keys: int, rounds: int, goal: str) -> Row:
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        masters = {kind: _start(lab, kind) for kind in DIALECTS}
        for master in masters.values():
            fill(master, keys)
        return _take_turns(what, lab, masters, keys, rounds, goal)


def _from_redis(what: str, fill: Fill, keys: int, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        master = _start(lab, RIVAL)
        fill(master, keys)
        return _take_turns(what, lab, dict.fromkeys(KINDS, master), keys, rounds, "<= 1x")


def _take_turns(what: str, lab: Lab, masters: dict[str, Node], keys: int, rounds: int, goal: str) -> Row:
    figures: dict[str, list[float]] = {kind: [] for kind in masters}
    for _ in range(rounds):
        for kind, master in masters.items():
            figures[kind].append(once(_start(lab, kind), master, keys))
    return Row(what, "s", figures["pyrepl"], figures[RIVAL], goal, figures.get(BESIDE, []))


def once(replica: Node, master: Node, keys: int) -> float:
    """Seconds from REPLICAOF to a link that is up, with a new, empty replica, which is ended then."""
    began = time.monotonic()
    replica.call("REPLICAOF", HOST, master.link_port)
    replica.wait_link_up(900)
    took = time.monotonic() - began
    assert replica.call("DBSIZE") == keys
    replica.end()
    wait_until("the master has let it go", lambda: master.info("replication")["connected_slaves"] == "0", 60)
    return took
