"""Streams that remember idempotency ids (XADD IDMP), between Redis 8.6 and pyrepl: by snapshots and by the stream."""

from __future__ import annotations

import pytest

from tests.interop import channels
from tests.interop.pair import BACKLOG
from tests.peers import compare
from tests.peers.lab import Lab, Node

CHAINS = [
    ("redis86", "pyrepl"),
    ("pyrepl", "redis86"),
    ("redis86", "pyrepl", "pyrepl"),
    ("redis86", "pyrepl", "redis86"),
]
SHOWN = (b"idmp-duration", b"idmp-maxsize", b"pids-tracked", b"iids-tracked", b"iids-added")
LONG = {**BACKLOG, "stream-idmp-duration": "86400"}
"""Nothing is forgotten while the test looks."""


def add(node: Node, key: str, producer: str, number: int) -> bytes:
    """The id under which the stream has this entry, new or not."""
    return bytes(node.call("XADD", key, "IDMP", producer, f"id:{number}", "*", "number", number))


def remembered(node: Node, key: str) -> list[object]:
    """What XINFO tells of its idempotency ids; the duplicates seen are each node's own."""
    flat = node.call("XINFO", "STREAM", key)
    info = dict(zip(flat[::2], flat[1::2], strict=True))
    return [info[name] for name in SHOWN]


@pytest.mark.parametrize("kinds", CHAINS, ids="-".join)
def test_a_promoted_replica_knows_them(lab: Lab, kinds: tuple[str, ...]) -> None:
    """What the master was given before the sync and after it is a duplicate to whoever takes its place."""
    nodes = [lab.start(kinds[0], directives=LONG)]
    before = [add(nodes[0], "s", producer, number) for producer in ("one", "two") for number in range(40)]
    nodes[0].call("XADD", "plain", "1-1", "a", "b")
    for kind in kinds[1:]:
        # A Redis 8.6 says what it reads where it loads without a file.
        directives = {**LONG, **channels.directives(kind, channels.ONE), "repl-diskless-load": "on-empty-db"}
        nodes.append(lab.start(kind, nodes[-1], directives=directives))
        nodes[-1].wait_link_up()
    after = [add(nodes[0], "s", "three", number) for number in range(40)]
    assert add(nodes[0], "s", "one", 7) == before[7]
    nodes[0].call("XADD", "t", "IDMPAUTO", "four", "*", "a", "b")
    compare.settle(*nodes)
    for node in nodes[1:]:
        compare.assert_equal(nodes[0], node)
        for key in ("s", "t", "plain"):
            assert remembered(node, key) == remembered(nodes[0], key)
    end = nodes[-1]
    end.call("REPLICAOF", "NO", "ONE")
    length = end.call("XLEN", "s")
    again = [add(end, "s", producer, number) for producer in ("one", "two", "three") for number in range(40)]
    assert again == before + after
    assert end.call("XLEN", "s") == length
