"""Advice is proven: the trouble is made with real servers, what the report advises is set, and the trouble is gone.

Each story is run twice with the same loads and the same waits; what is asserted is what the servers count themselves.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.fault.advised import advised, setting, start, tables
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import free_port
from tests.peers.proxy import Proxy
from tests.peers.recorder import cut, fill, up

Nodes = dict[str, Node]
Settings = dict[str, str]
ALL = [
    "redis7",
    "pyrepl",
    pytest.param("redis8", marks=pytest.mark.matrix),
    pytest.param("valkey8", marks=pytest.mark.matrix),
]
"""CI runs the first two, `make matrix` all."""
REAL = [
    "redis8",
    pytest.param("redis7", marks=pytest.mark.matrix),
    pytest.param("valkey8", marks=pytest.mark.matrix),
]
"""Servers that are not ours: CI runs the first one."""
ONE: dict[str, Settings] = {"redis8": {"repl-rdb-channel": "no"}}
"""Full syncs on one connection, where two are the default."""


def disconnections(master: Node) -> int:
    """Cuts for an output buffer, by the master's log: Redis 7.0 has no counter for it."""
    return master.log().count("overcoming of output buffer limits")


def missed(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """A replica that is away while more is written than the backlog holds."""
    one = ONE.get(kind, {})
    master = start(lab, kind, directives={"repl-backlog-size": "16kb", **one, **settings})
    fill(master, 1000)
    replica = start(lab, kind, master, one)
    up(master, replica)
    replica.process.send_signal(signal.SIGSTOP)
    master.call("CLIENT", "KILL", "TYPE", "replica")
    fill(master, 3000, prefix="b")
    replica.process.send_signal(signal.SIGCONT)
    wait_until("it came back", lambda: master.stat("sync_full") + master.stat("sync_partial_ok") >= 2)
    up(master, replica)
    return {"master": master, "replica": replica}


@pytest.mark.parametrize("kind", ALL)
def test_a_backlog_of_that_size_makes_the_full_resync_partial(lab: Lab, tmp_path: Path, kind: str) -> None:
    nodes = missed(lab, kind, {})
    assert nodes["master"].stat("sync_partial_err") == 1
    piece = advised(nodes, tmp_path / "report", "backlog_size")
    again = missed(lab, kind, setting(piece))
    assert (again["master"].stat("sync_full"), again["master"].stat("sync_partial_err")) == (1, 0)


def away(lab: Lab, kind: str, settings: Settings, away_s: float | None = None) -> tuple[Nodes, float]:
    """A replica, the only one, that is away for so many seconds, or until its master has freed the backlog; and for how
    long that was."""
    one = ONE.get(kind, {})
    master = start(lab, kind, directives={"repl-backlog-ttl": "2", **one, **settings})
    fill(master, 1000)
    replica = start(lab, kind, master, one)
    up(master, replica)
    replica.process.send_signal(signal.SIGSTOP)
    master.call("CLIENT", "KILL", "TYPE", "replica")
    began = time.monotonic()
    if away_s is None:
        wait_until("the backlog is freed", lambda: master.info("replication")["repl_backlog_active"] == "0")
    else:
        time.sleep(away_s)
    gone_s = time.monotonic() - began
    replica.process.send_signal(signal.SIGCONT)
    wait_until("it came back", lambda: master.stat("sync_full") + master.stat("sync_partial_ok") >= 2)
    up(master, replica)
    return {"master": master, "replica": replica}, gone_s


@pytest.mark.parametrize("kind", ALL)
def test_a_backlog_that_is_kept_for_so_long_makes_the_full_resync_partial(lab: Lab, tmp_path: Path, kind: str) -> None:
    nodes, gone_s = away(lab, kind, {})
    assert nodes["master"].stat("sync_full") == 2
    piece = advised(nodes, tmp_path / "report", "backlog_ttl")
    again, _ = away(lab, kind, setting(piece), gone_s)
    assert (again["master"].stat("sync_full"), again["master"].stat("sync_partial_ok")) == (1, 1)


def slow_reader(lab: Lab, kind: str, settings: Settings, mb: int = 24) -> Nodes:
    """A replica that does not read for a second, while the master writes more than it may keep for it."""
    limits = {"client-output-buffer-limit": "replica 3mb 0 0", "repl-backlog-size": "1mb"}
    one = ONE.get(kind, {})
    master = start(lab, kind, directives={**limits, **one, **settings})
    fill(master, 1000)
    replica = start(lab, kind, master, one)
    up(master, replica)
    replica.process.send_signal(signal.SIGSTOP)
    fill(master, mb * 100, size=10_000, prefix="big")
    time.sleep(0.5)
    replica.process.send_signal(signal.SIGCONT)
    up(master, replica)
    return {"master": master, "replica": replica}


@pytest.mark.parametrize("kind", ALL)
def test_a_limit_of_that_size_keeps_a_replica_that_is_slow(lab: Lab, tmp_path: Path, kind: str) -> None:
    """What waited at the cut is no measure: it is just above the limit, and all that came later counts too."""
    nodes = slow_reader(lab, kind, {})
    assert (disconnections(nodes["master"]), nodes["master"].stat("sync_full")) == (1, 2)
    piece = advised(nodes, tmp_path / "report", "output_buffer")
    assert piece["confidence"] == "measured"
    again = slow_reader(lab, kind, setting(piece))
    assert (disconnections(again["master"]), again["master"].stat("sync_full")) == (0, 1)


def slow_readers(lab: Lab, settings: Settings) -> Nodes:
    """Two replicas that stop reading, one of them earlier than the other."""
    limits = {"client-output-buffer-limit": "replica 3mb 0 0", "repl-backlog-size": "1mb"}
    master = start(lab, "redis7", directives={**limits, **settings})
    replicas = [start(lab, "redis7", master) for _ in range(2)]
    up(master, *replicas)
    for stopped, mb in ((1, 24), (2, 12)):
        replicas[stopped - 1].process.send_signal(signal.SIGSTOP)
        for part in range(mb):
            fill(master, 100, size=10_000, prefix=f"big{part}")
            # Only who stands still may be cut, however busy the machine is.
            up(master, *replicas[stopped:])
    time.sleep(0.5)
    for replica in replicas:
        replica.process.send_signal(signal.SIGCONT)
    up(master, *replicas)
    return {"master": master, "early": replicas[0], "late": replicas[1]}


def test_one_limit_keeps_all_replicas_of_a_master(lab: Lab, tmp_path: Path) -> None:
    """Whichever of them the advice is for."""
    nodes = slow_readers(lab, {})
    assert disconnections(nodes["master"]) == 2
    found = [row for row in tables(nodes, tmp_path / "report")["advice"] if row["kind"] == "output_buffer"]
    assert {row["replica"] for row in found} == {"early", "late"}
    limit, other = map(setting, found)
    assert limit == other
    again = slow_readers(lab, limit)
    assert (disconnections(again["master"]), again["master"].stat("sync_full")) == (0, 2)


def test_the_backlog_alone_helps_such_a_replica_as_well(lab: Lab, tmp_path: Path) -> None:
    """Since Redis 7 a limit below the backlog's size is none."""
    piece = advised(slow_reader(lab, "redis7", {}), tmp_path / "report", "backlog_size")
    again = slow_reader(lab, "redis7", setting(piece))
    assert again["master"].stat("sync_full") == 1


def slow_loader(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """A replica that takes its time to load, while the master writes."""
    limits = {"client-output-buffer-limit": "replica 2mb 0 0", "repl-backlog-size": "64kb"}
    both = ONE.get(kind, {}) | {name: value for name, value in settings.items() if "channel" in name}
    master = start(lab, kind, directives={**limits, **both, **settings})
    fill(master, 2000)
    replica = start(
        lab, kind, master, {"key-load-delay": "500", "loading-process-events-interval-bytes": "1024", **both}
    )
    wait_until("it has asked for a snapshot", lambda: master.stat("sync_full") >= 1)
    wait_until("it loads", lambda: replica.info("persistence")["loading"] == "1", every_s=0.005)
    fill(master, 1600, size=10_000, prefix="big")
    replica.wait_link_up()
    up(master, replica)
    return {"master": master, "replica": replica}


@pytest.mark.parametrize("kind", REAL)
def test_a_sync_is_not_cut_in_the_middle_any_more(lab: Lab, tmp_path: Path, kind: str) -> None:
    """By a limit that holds what is written meanwhile, or by a second connection where both ends have that."""
    nodes = slow_loader(lab, kind, {})
    assert disconnections(nodes["master"]) >= 1 and nodes["master"].stat("sync_full") >= 2
    found = tables(nodes, tmp_path / "report")["advice"]
    piece = next(row for row in found if row["kind"] in ("sync_buffer", "output_buffer"))
    again = slow_loader(lab, kind, setting(piece))
    assert (disconnections(again["master"]), again["master"].stat("sync_full")) == (0, 1)


def test_a_replica_that_stands_still_is_looked_at(lab: Lab, tmp_path: Path) -> None:
    """It reads nothing: a limit four times as large is filled as well. What helps is to let it run."""
    for limit in ("3mb", "12mb"):
        limits = {"client-output-buffer-limit": f"replica {limit} 0 0", "repl-backlog-size": "1mb"}
        master = start(lab, "redis7", directives=limits)
        fill(master, 100)
        replica = start(lab, "redis7", master)
        up(master, replica)
        replica.process.send_signal(signal.SIGSTOP)
        fill(master, 2600, size=10_000, prefix="big")
        wait_until("it is cut", lambda: disconnections(master) == 1)  # noqa: B023
        time.sleep(1.1)
        fill(master, 10)
        found = tables({"master": master, "replica": replica}, tmp_path / "report")["advice"]
        (piece,) = [row for row in found if row["kind"] == "stalled"]
        assert (piece["directive"], piece["value"]) == (None, None)
        assert "has not come back" in piece["text"] and piece["severity"] == "act"
        assert not [row for row in found if row["directive"]], "no buffer is advised, of any kind"
        replica.process.send_signal(signal.SIGCONT)
        up(master, replica)


def herd(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """Three replicas that come a second apart, while a snapshot takes longer than that."""
    slow = {"rdb-key-save-delay": "500", "repl-diskless-sync": "yes", "repl-diskless-sync-delay": "0"}
    master = start(lab, kind, directives={**slow, **settings})
    fill(master, 4000)
    replicas = []
    for _ in range(3):
        replicas.append(start(lab, kind, master))
        time.sleep(0.6)
    up(master, *replicas)
    return {"master": master, **{f"replica{place}": node for place, node in enumerate(replicas)}}


def snapshots(master: Node) -> int:
    """Children that it forked for its replicas, by its log."""
    return master.log().count("Starting BGSAVE for SYNC")


@pytest.mark.parametrize("kind", REAL)
def test_a_delay_of_that_length_lets_a_herd_share_a_snapshot(lab: Lab, tmp_path: Path, kind: str) -> None:
    nodes = herd(lab, kind, {})
    assert snapshots(nodes["master"]) > 1
    again = herd(lab, kind, setting(advised(nodes, tmp_path / "report", "storm")))
    assert snapshots(again["master"]) == 1
    assert again["master"].stat("sync_full") == 3


def herd_by_file(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """Three replicas that come one after another, each when the file for the one before is written, and not loaded."""
    master = start(lab, kind, directives={"repl-diskless-sync": "no", "repl-diskless-sync-delay": "0", **settings})
    fill(master, 4000)
    slow = {"key-load-delay": "700", "loading-process-events-interval-bytes": "1024"}
    replicas = []
    for _ in range(3):
        replicas.append(start(lab, kind, master, slow))
        time.sleep(0.6)
    up(master, *replicas)
    return {"master": master, **{f"replica{place}": node for place, node in enumerate(replicas)}}


@pytest.mark.parametrize("kind", REAL)
def test_two_settings_let_a_herd_by_file_share_a_snapshot(lab: Lab, tmp_path: Path, kind: str) -> None:
    nodes = herd_by_file(lab, kind, {})
    assert snapshots(nodes["master"]) > 1
    found = [row for row in tables(nodes, tmp_path / "report")["advice"] if row["kind"] == "storm"]
    both = {name: value for row in found for name, value in setting(row).items()}
    assert both.keys() == {"repl-diskless-sync", "repl-diskless-sync-delay"}
    again = herd_by_file(lab, kind, both)
    assert (snapshots(again["master"]), again["master"].stat("sync_full")) == (1, 3)


def too_new(lab: Lab, kind: str, other: str, settings: Settings) -> Nodes:
    """A master whose snapshots may be newer than the replica."""
    master = start(lab, kind, directives=settings)
    fill(master, 100)
    replica = start(lab, other, master)
    done = lambda: replica.link_is_up() or master.stat("sync_full") >= 5  # noqa: E731
    wait_until("it is in step, or has tried five times", done)
    return {"master": master, "replica": replica}


def test_an_older_snapshot_is_understood(lab: Lab, tmp_path: Path) -> None:
    nodes = too_new(lab, "pyrepl", "redis7", {"rdb-version": "12"})
    assert not nodes["replica"].link_is_up()
    again = too_new(lab, "pyrepl", "redis7", setting(advised(nodes, tmp_path / "report", "version_mismatch")))
    assert again["replica"].link_is_up() and again["master"].stat("sync_full") == 1


def test_a_newer_replica_understands_the_snapshot(lab: Lab, tmp_path: Path) -> None:
    nodes = too_new(lab, "valkey8", "redis7", {})
    piece = advised(nodes, tmp_path / "report", "version_mismatch")
    assert piece["directive"] is None and "upgrade the replica, or put a pyrepl between" in piece["text"]
    assert too_new(lab, "valkey8", "valkey8", {})["replica"].link_is_up()
    between = start(lab, "pyrepl", nodes["master"])
    between.wait_link_up()
    nodes["replica"].call("REPLICAOF", "127.0.0.1", between.port)
    nodes["replica"].wait_link_up()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("given", ["wrong", ""])
def test_the_right_password_brings_the_stream(lab: Lab, tmp_path: Path, kind: str, given: str) -> None:
    master = start(lab, kind, directives={"requirepass": "right"})
    replica = start(lab, kind, master, {"masterauth": given} if given else {})
    time.sleep(2.5)
    piece = advised({"master": master, "replica": replica}, tmp_path / "report", "auth")
    assert (piece["severity"], piece["directive"]) == ("act", "masterauth")
    replica.call("CONFIG", "SET", piece["directive"], "right")
    replica.wait_link_up()


def test_a_master_that_is_not_there_is_looked_for(lab: Lab, tmp_path: Path) -> None:
    port = free_port()
    replica = start(lab, "redis7", port)
    time.sleep(2.5)
    piece = advised({"replica": replica}, tmp_path / "report", "outage")
    assert "Nothing answers at the master's address" in piece["text"]
    lab.start("redis7", port=port)
    replica.wait_link_up()


def test_a_line_that_is_dead_is_looked_at(lab: Lab, tmp_path: Path) -> None:
    master = start(lab, "redis7")
    with Proxy(master.port) as proxy:
        replica = start(lab, "redis7", proxy.port, {"repl-timeout": "2"})
        replica.wait_link_up()
        proxy.stall()
        replica.wait_log("MASTER timeout")
        replica.wait_log("Timeout connecting to the MASTER")
        time.sleep(1.5)
        piece = advised({"replica": replica}, tmp_path / "report", "outage")
        assert "whether the replica can reach its port" in piece["text"]
        proxy.heal()
        replica.wait_link_up()


def test_a_line_that_breaks_each_time_is_looked_at(lab: Lab, tmp_path: Path) -> None:
    """A loop that no setting of the servers ends: what stands between them does."""
    master = start(lab, "redis7", directives={"repl-backlog-size": "16kb"})
    fill(master, 3000)
    with Proxy(master.port) as proxy:
        proxy.cut_after(50_000, "down")
        replica = start(lab, "redis7", proxy.port)
        wait_until("it has tried five times", lambda: master.stat("sync_full") >= 5)
        # The proxy's port is no node's: each end tells of the other as of a stranger.
        piece = advised({"replica": replica}, tmp_path / "report", "loop")
        assert "see what stands between the two" in piece["text"] and piece["count"] >= 3
        proxy.heal()
        replica.wait_link_up()


def test_the_quicker_kind_of_sync_is_taken(lab: Lab, tmp_path: Path) -> None:
    """What the report says of one connection and two is what later syncs then use."""
    master = start(lab, "redis8", directives={"repl-diskless-sync": "yes"})
    fill(master, 3000)
    nodes = {"master": master}
    for turn, wanted in enumerate(("no", "yes")):
        master.call("CONFIG", "SET", "repl-rdb-channel", wanted)
        for number in range(3):
            replica = start(lab, "redis8", master, {"repl-rdb-channel": wanted, "repl-diskless-load": "swapdb"})
            up(master, replica)
            nodes[f"replica{turn}{number}"] = replica
            replica.terminate()
    piece = advised(nodes, tmp_path / "report", "rdb_channel")
    chosen = setting(piece)
    assert list(chosen) == ["repl-rdb-channel"]
    again = start(lab, "redis8", directives={"repl-diskless-sync": "yes", **chosen})
    fill(again, 3000)
    replica = start(lab, "redis8", again, {"repl-diskless-load": "swapdb", **chosen})
    up(again, replica)
    (sync,) = tables({"master": again, "replica": replica}, tmp_path / "again")["syncs"]
    assert sync["mode"] == ("rdb_channel" if piece["value"] == "yes" else "full_diskless")


def test_a_cut_that_the_backlog_covers_needs_no_advice(lab: Lab, tmp_path: Path) -> None:
    master = start(lab, "redis7")
    fill(master, 100)
    replica = start(lab, "redis7", master)
    up(master, replica)
    cut(replica)
    wait_until("it is back", lambda: master.stat("sync_partial_ok") == 1)
    up(master, replica)
    assert tables({"master": master, "replica": replica}, tmp_path / "report")["advice"] == []
