"""When and how often keys were accessed: full syncs and restarts carry it, beside real servers."""

from __future__ import annotations

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node

OPTIONS = {"allkeys-lru": "IDLETIME", "allkeys-lfu": "FREQ"}
"""A policy -> the word of OBJECT and of RESTORE that it gives a meaning."""
KEYS: dict[str, tuple[str | int, ...]] = {
    "string": ("SET", "string", "v"),
    "timed": ("SET", "timed", "v", "EX", 9000),
    "list": ("RPUSH", "list", "a"),
    "set": ("SADD", "set", "a"),
    "zset": ("ZADD", "zset", 1, "a"),
    "hash": ("HSET", "hash", "f", "v"),
    "stream": ("XADD", "stream", "*", "f", "v"),
}
TOLERANCE_S = 60
"""A busy machine may leave so much time between two questions."""


def fill(node: Node, option: str) -> None:
    """Make the keys, and say of each that it was not accessed for long, or often."""
    for number, (key, words) in enumerate(KEYS.items()):
        node.call(*words)
        payload = node.call("DUMP", key)
        told = 100_000 + number * 1000 if option == "IDLETIME" else 200 + number
        node.call("RESTORE", key, 9_000_000 if key == "timed" else 0, payload, "REPLACE", option, told)


def asked(node: Node, option: str) -> list[int]:
    return [node.call("OBJECT", "FREQ" if option == "FREQ" else "IDLETIME", key) for key in KEYS]


def assert_near(first: list[int], second: list[int], option: str) -> None:
    tolerance = TOLERANCE_S if option == "IDLETIME" else 0
    assert all(abs(one - other) <= tolerance for one, other in zip(first, second, strict=True)), (first, second)
    assert min(first) >= 200


@pytest.mark.parametrize("policy", OPTIONS)
@pytest.mark.parametrize(
    "kinds", [("pyrepl", "redis8"), ("pyrepl", "valkey8"), ("redis8", "pyrepl"), ("pyrepl", "pyrepl")]
)
def test_a_full_sync_carries_it(lab: Lab, kinds: tuple[str, str], policy: str) -> None:
    directives = {"maxmemory-policy": policy, "lfu-decay-time": "0"}
    master = lab.start(kinds[0], directives=directives)
    fill(master, OPTIONS[policy])
    replica = lab.start(kinds[1], master, directives)
    replica.wait_link_up()
    compare.settle(master, replica)
    assert_near(asked(master, OPTIONS[policy]), asked(replica, OPTIONS[policy]), OPTIONS[policy])


@pytest.mark.parametrize("policy", OPTIONS)
def test_a_restart_keeps_it(lab: Lab, policy: str) -> None:
    directives = {"maxmemory-policy": policy, "lfu-decay-time": "0"}
    node = lab.start("pyrepl", directives=directives)
    fill(node, OPTIONS[policy])
    before = asked(node, OPTIONS[policy])
    node.call("SAVE")
    node.end()
    again = lab.start("pyrepl", directives=directives, folder=node.folder)
    assert_near(before, asked(again, OPTIONS[policy]), OPTIONS[policy])


def test_no_policy_that_needs_it_writes_none(lab: Lab) -> None:
    """A snapshot is then as long as ever."""
    sizes = []
    for policy in ("noeviction", "allkeys-lru"):
        node = lab.start("pyrepl", directives={"maxmemory-policy": policy})
        node.call("SET", "k", "v")
        assert node.call("SAVE") == "OK"
        sizes.append(len((node.folder / "dump.rdb").read_bytes().partition(b"\xfe\x00")[2]))
    assert sizes[1] - sizes[0] == 2
