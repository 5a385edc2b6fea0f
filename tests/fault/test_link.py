"""The link cut at any byte, stalled, half-closed: it heals by itself, by the cheapest means that are safe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.pair import BACKLOG
from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.proxy import Proxy
from tests.peers.writer import Writer

SCALE = 2000
PAIRS = [("pyrepl", "pyrepl"), ("redis7", "pyrepl"), ("pyrepl", "redis7")]
IMPATIENT = {"repl-timeout": "3", "repl-ping-replica-period": "1"}

HANDSHAKE_CUTS = [0, 1, 6, 7, 12, 30, 75]
SNAPSHOT_CUTS = [100, 200, 5_000, 1_000_000]


@pytest.fixture(params=PAIRS, ids="-".join)
def ends(request: pytest.FixtureRequest, lab: Lab) -> tuple[Node, str]:
    """A filled master, and the kind of its replica."""
    master_kind, replica_kind = request.param
    master = lab.start(master_kind, directives={**BACKLOG, **IMPATIENT})
    dataset.fill(master, dataset.commands(SCALE))
    return master, replica_kind


@pytest.fixture
def proxy(ends: tuple[Node, str]) -> Iterator[Proxy]:
    with Proxy(ends[0].port) as proxy:
        yield proxy


def follow(lab: Lab, kind: str, proxy: Proxy, **directives: str) -> Node:
    return lab.start(kind, proxy.port, directives={**BACKLOG, **IMPATIENT, **directives})


def again(replica: Node, port: int) -> None:
    """Make it connect now; its pauses have grown meanwhile."""
    replica.call("REPLICAOF", "NO", "ONE")
    replica.call("REPLICAOF", "127.0.0.1", port)


def test_cut_while_syncing(lab: Lab, ends: tuple[Node, str], proxy: Proxy) -> None:
    """At byte N of what the master sends, for N within the handshake and within the snapshot, one after the other."""
    master, kind = ends
    proxy.cut_after(HANDSHAKE_CUTS[0], "down")
    replica = follow(lab, kind, proxy)
    for cut in HANDSHAKE_CUTS + SNAPSHOT_CUTS:
        proxy.cut_after(cut, "down")
        seen = proxy.connections
        again(replica, proxy.port)
        wait_until(f"another try, to be cut at {cut}", lambda seen=seen: proxy.connections > seen, 60)  # type: ignore[misc]
        assert not replica.link_is_up()
    proxy.heal()
    again(replica, proxy.port)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_cut_within_the_stream_is_continued(lab: Lab, ends: tuple[Node, str], proxy: Proxy, direction: str) -> None:
    """Wherever the cut falls, within a command or a word: nothing is lost, nothing applied twice, no full resync."""
    master, kind = ends
    replica = follow(lab, kind, proxy)
    replica.wait_link_up()
    full = master.stat("sync_full")
    with Writer(master):
        for cut in (301, 20_011) if direction == "down" else (330, 371):
            proxy.cut_after(cut, direction)
            before = master.stat("sync_partial_ok")
            proxy.cut()
            wait_until("two partial resyncs", lambda before=before: master.stat("sync_partial_ok") > before + 1, 60)  # type: ignore[misc]
        proxy.heal()
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert master.stat("sync_full") == full


def test_stall_is_noticed_and_continued(lab: Lab, ends: tuple[Node, str], proxy: Proxy) -> None:
    """Nothing passes and nothing closes: after repl-timeout the link is given up, and continued when it flows again."""
    master, kind = ends
    replica = follow(lab, kind, proxy)
    replica.wait_link_up()
    full = master.stat("sync_full")
    proxy.stall()
    master.call("SET", "while", "stalled")
    wait_until(
        "the replica gives the link up",
        lambda: not replica.link_is_up(),
    )
    wait_until(
        "the master gives the replica up",
        lambda: master.info("replication")["connected_slaves"] == "0",
    )
    proxy.cut()
    proxy.heal()
    replica.wait_link_up(60)
    compare.settle(master, replica)
    assert replica.call("GET", "while") == b"stalled"
    assert master.stat("sync_full") == full


def test_half_close_is_a_lost_link(lab: Lab, ends: tuple[Node, str], proxy: Proxy) -> None:
    master, kind = ends
    replica = follow(lab, kind, proxy)
    replica.wait_link_up()
    full, partial = master.stat("sync_full"), master.stat("sync_partial_ok")
    proxy.half_close()
    wait_until("a partial resync", lambda: master.stat("sync_partial_ok") > partial, 60)
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert master.stat("sync_full") == full


def test_stall_within_the_snapshot(lab: Lab, ends: tuple[Node, str], proxy: Proxy) -> None:
    """The transfer stops for longer than repl-timeout; it is given up, begun anew, and no one waits for ever."""
    master, kind = ends
    master.call("CONFIG", "SET", "rdb-key-save-delay", "1000")
    replica = follow(lab, kind, proxy)
    wait_until(
        "the transfer has begun",
        lambda: proxy.passed["down"] > 300,
    )
    proxy.stall()
    wait_until("the replica gives the transfer up", lambda: "imeout" in replica.log())
    master.call("CONFIG", "SET", "rdb-key-save-delay", "0")
    proxy.cut()
    proxy.heal()
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def test_cut_longer_than_the_backlog_is_a_full_resync_with_its_cause(lab: Lab) -> None:
    """The replica was away while more was written than the backlog holds: a full resync, and INFO says why."""
    master = lab.start("pyrepl", directives={"repl-backlog-size": "16kb"})
    with Proxy(master.port) as proxy:
        replica = lab.start("pyrepl", proxy.port)
        replica.wait_link_up()
        proxy.refuse()
        wait_until("the link is down", lambda: not replica.link_is_up())
        for number in range(100):
            master.call("SET", f"key:{number}", "x" * 1000)
        proxy.heal()
        replica.call("REPLICAOF", "127.0.0.1", proxy.port)
        replica.wait_link_up(60)
        compare.settle(master, replica)
        compare.assert_equal(master, replica)
    stats = master.info()
    assert stats["sync_full"] == "2"
    assert stats["sync_full_first"] == "1"
    assert stats["sync_full_out_of_backlog"] == "1"
    assert "out_of_backlog" in master.log()
