"""Many replicas need a full sync at once: no more of them are served at a time than repl-max-concurrent-syncs."""

from __future__ import annotations

import re

import pytest

from tests.interop.pair import BACKLOG
from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST

SCALE = 4000
KINDS = ("pyrepl", "redis7", "redis8", "valkey8", "pyrepl", "redis7")


def states(master: Node) -> list[str]:
    """Where each replica stands."""
    return re.findall(r"state=(\w+)", "\n".join(master.info("replication").values()))


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_at_a_bounded_rate(lab: Lab, diskless: str) -> None:
    """The snapshot trickles: its replica sees it grow, and gets all of it."""
    master = lab.start(
        "pyrepl",
        directives={
            **BACKLOG,
            "repl-sync-max-bytes-per-second": "150kb",
            "repl-diskless-sync": diskless,
            "repl-rdb-channel": "no",
            "rdbcompression": "no",
        },
    )
    master.call("DEBUG", "POPULATE", 4000, "key", 100)
    replica = lab.start("redis7", directives=BACKLOG)
    replica.call("REPLICAOF", HOST, str(master.port))
    seen: set[int] = set()

    def is_up() -> bool:
        found = replica.info("replication")
        seen.add(int(found.get("master_sync_read_bytes", 0)))
        return found["master_link_status"] == "up"

    wait_until("the snapshot is there", is_up)
    assert len(seen) > 3, f"it came in one go: {seen}"
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_two_at_a_time(lab: Lab, diskless: str) -> None:
    master = lab.start(
        "pyrepl",
        directives={
            **BACKLOG,
            "repl-max-concurrent-syncs": "2",
            "repl-diskless-sync": diskless,
            "repl-rdb-channel": "no",
            "rdb-key-save-delay": "20",
        },
    )
    dataset.fill(master, dataset.commands(SCALE, field_ttl=False, exact_scores=True))
    replicas = [lab.start(kind, directives=BACKLOG) for kind in KINDS]
    for replica in replicas:
        replica.call("REPLICAOF", HOST, str(master.port))
    served: list[int] = []

    def all_online() -> bool:
        now = states(master)
        running = int(master.info("persistence")["rdb_bgsave_in_progress"])
        served.append(now.count("send_bulk"))
        return now == ["online"] * len(KINDS) and not running

    wait_until("all are online", all_online, 60)
    assert max(served) <= 2
    for replica in replicas:
        replica.wait_link_up()
    assert master.stat("sync_full") == len(KINDS)
    children = master.log().split("terminated with success")[1:]
    assert len(KINDS) / 2 <= len(children) <= len(KINDS), master.tail()
    assert all(child.count("Streamed replica") <= 2 for child in children), master.tail()
    compare.settle(master, *replicas)
    for replica in replicas:
        compare.assert_equal(master, replica)
