"""The usual commands by redis-benchmark, and elements handed over to clients that wait in BLPOP (`hand_over`),
and reads of clients that cache, with the invalidations that follow (`tracked_reads`).

One request at a time and sixteen, 50 clients, keys from a million, 100-byte values, without a replica. The servers
take turns within each round, so that whatever else the machine does hits all; all are emptied before each group, and
have freed what they held.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from bench import hand_over, redis_benchmark, tracked_reads
from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node, wait_until

RIVAL: Final = "redis8"
REQUESTS: Final = {1: 50_000, 16: 400_000}
HAND_OVERS: Final = 50_000
TRACKED: Final = 200_000
GROUPS: Final = (
    ("set", "get"),
    ("set_as_user",),
    ("incr",),
    ("lpush", "lpop"),
    ("rpush",),
    ("sadd", "spop"),
    ("hset",),
    ("zadd",),
    ("lpush", "lrange_100"),
    ("mset",),
    ("pfadd",),
    ("pfadd_one",),
    ("geosearch",),
    ("evalsha",),
    ("fcall",),
)
"""What is measured together, as one needs what the other leaves."""
PLAIN_GOAL: Final = ">= 1x"
GOALS: Final = {"SET": ">= 1x", "GET": ">= 1x"}
"""Pipelined; for all others PIPELINED_GOAL."""
PIPELINED_GOAL: Final = ">= 0.8x"
GOALS_AT_ANY_DEPTH: Final = {"PFADD": ">= 0.8x", "PFADD_ONE": ">= 0.8x", "GEOSEARCH": ">= 0.8x"}
"""Commands that work on their value for longer than they take to come and go."""
GOALS_OF_SCRIPTS: Final = {"EVALSHA": ">= 0.7x", "FCALL": ">= 0.8x"}
"""One request at a time. Pipelined they have no goal: of the instructions that Redis takes for one, lupa's two ways
(into Lua, and out for the call) and Lua itself take four fifths."""
_SLOW: Final = 10
"""LRANGE, MSET and GEOSEARCH move so many keys or elements in one request that fewer do; not so few that a run is over
at once."""
_PLACES: Final = 20_000
_PLACES_AT_ONCE: Final = 100


def measure(rounds: int, scale: float) -> list[Row]:
    """All figures, in requests per second; `scale` shortens or lengthens each run."""
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        nodes = [lab.start(kind) for kind in ("pyrepl", RIVAL, BESIDE)]
        rows = [row for depth, requests in REQUESTS.items() for row in _depth(nodes, depth, rounds, requests * scale)]
        rows.append(_by_clients("BLPOP hand-over", nodes, rounds, int(HAND_OVERS * scale), hand_over.run))
        rows.append(_by_clients("TRACKING", nodes, rounds, int(TRACKED * scale), tracked_reads.run))
        return rows


def _by_clients(name: str, nodes: list[Node], rounds: int, count: int, run: Callable[[Node, int], float]) -> Row:
    """A figure that clients of ours measure: `run` does about `count` things and returns how many a second."""
    figures: dict[str, list[float]] = {node.kind: [] for node in nodes}
    for _ in range(rounds):
        for node in nodes:
            _empty(node)
            figures[node.kind].append(run(node, count))
    return Row(name, "1/s", figures["pyrepl"], figures[RIVAL], PIPELINED_GOAL, figures[BESIDE])


def _depth(nodes: list[Node], depth: int, rounds: int, requests: float) -> list[Row]:
    figures: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for group in GROUPS:
            count = int(
                requests / _SLOW if depth > 1 and {"lrange_100", "mset", "geosearch"} & set(group) else requests
            )
            for node in nodes:
                _empty(node)
                if "geosearch" in group:
                    _add_places(node)
                elif "evalsha" in group:
                    node.call("SCRIPT", "LOAD", redis_benchmark.SCRIPT)
                elif "set_as_user" in group:
                    node.call("ACL", "SETUSER", *redis_benchmark.USER)
                elif "fcall" in group:
                    node.call("FUNCTION", "LOAD", "REPLACE", redis_benchmark.LIBRARY)
                for test, per_second in redis_benchmark.run(node, group, count, depth).items():
                    figures.setdefault(test, {}).setdefault(node.kind, []).append(per_second)
    return [
        Row(f"{test} -P {depth}", "req/s", sides["pyrepl"], sides[RIVAL], _goal(test, depth), sides[BESIDE])
        for test, sides in figures.items()
    ]


def _empty(node: Node) -> None:
    """Drop everything, and let the freeing of it be over before the clock runs: pyrepl does that in slices."""
    node.call("FLUSHALL")
    wait_until("nothing is left to free", lambda: node.info("memory")["lazyfree_pending_objects"] == "0", 60)


def _add_places(node: Node) -> None:
    """Members over a thousand kilometres in each direction: some ten are in the circle that is searched."""
    rng = Random(1)
    with node.connect() as wire:
        for start in range(0, _PLACES, _PLACES_AT_ONCE):
            members = range(start, start + _PLACES_AT_ONCE)
            places = [(f"{rng.uniform(0, 10):.6f}", f"{rng.uniform(40, 50):.6f}", f"m{member}") for member in members]
            wire.call("GEOADD", "geo", *[word for place in places for word in place])


def _goal(test: str, depth: int) -> str:
    if test in GOALS_OF_SCRIPTS:
        return GOALS_OF_SCRIPTS[test] if depth == 1 else ""
    if test in GOALS_AT_ANY_DEPTH:
        return GOALS_AT_ANY_DEPTH[test]
    return PLAIN_GOAL if depth == 1 else GOALS.get(test, PIPELINED_GOAL)
