"""Full syncs on two connections, in the dialects of Redis 8 and Valkey 8: tests/interop/README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.interop import channels, pair
from tests.interop.channels import BOTH, REDIS, VALKEY, Watch
from tests.interop.pair import BACKLOG, Pair
from tests.peers import compare, dataset
from tests.peers.kinds import OURS, REAL, TABLE, delicate, maker
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.writer import Writer

CI_SCALE: Final = 4000
FULL: Final = 500_000
STRETCHED_MS: Final = 1500
"""How long a small snapshot is made to take, so that its states can be seen and a stream comes beside it."""

REALS: Final = [(dialect, real) for real in REAL for dialect in TABLE[real].dialects]
PAIRS: Final = [
    *(Pair(OURS, OURS, True, dialect) for dialect in channels.DIALECTS),
    *(Pair(OURS, real, True, dialect) for dialect, real in REALS),
    *(Pair(real, OURS, True, dialect) for dialect, real in REALS),
]
CONTROLS: Final = [Pair(real, real, True, dialect) for dialect, real in REALS]
"""Two real servers: what is asked of pyrepl is what they do."""


class Story(NamedTuple):
    """What one sync under load is judged by."""

    master: Node
    replica: Node
    watch: Watch


def sync(lab: Lab, which: Pair, scale: int, dumps: Path) -> Story:
    """A replica attaches on two connections while clients write; then both hold the same."""
    master = pair.start_master(lab, which, scale, dumps)
    master.call("CONFIG", "SET", "rdb-key-save-delay", max(0, STRETCHED_MS * 1000 // scale - 1))
    master.call("CONFIG", "SET", "repl-diskless-sync-delay", 1)
    with pair.load(master, scale, which.field_ttl) as writer:
        with Watch(master) as watch:
            replica = pair.start_replica(lab, which, master)
            replica.wait_link_up(600)
            wait_until("the replica is online", lambda: watch.states[-1:] == ["online"], 60)
        pair.go_on(master, writer)
    compare.settle(master, replica, field_ttl=which.field_ttl, timeout_s=300)
    compare.assert_equal(master, replica)
    return Story(master, replica, watch)


def judge(which: Pair, story: Story) -> None:
    """Two connections were used, once, and INFO and CLIENT LIST told so meanwhile."""
    master, replica, watch = story
    channels.prove(master, replica, which.dialect)
    assert (master.stat("sync_full"), master.stat("total_forks")) == (1, 1)
    expected = channels.expected_states(which.master, which.dialect)
    if maker(which.replica) == VALKEY and which.master == OURS:
        # It asks for the stream when it next looks, which with a short snapshot may be after it.
        assert watch.states == expected or (watch.waited_for_psync and watch.states == expected[-1:])
    else:
        assert watch.states == expected
    assert channels.expected_flags(which.master) - {"S"} <= watch.flags <= channels.expected_flags(which.master)
    assert "S" in watch.flags
    assert "Write error" not in master.log(), "a good sync ends with a warning"
    buffers = {name: int(value) for name, value in replica.info("replication").items() if "_buffer_" in name}
    sizes = [value for name, value in buffers.items() if name.endswith("_size")]
    peaks = [value for name, value in buffers.items() if name.endswith("_peak")]
    assert sizes and not any(sizes), "the buffer is not given back"
    assert which.replica != "pyrepl" or all(peak > 1000 for peak in peaks), "no stream came beside the snapshot"


@pytest.mark.parametrize("which", PAIRS + CONTROLS, ids=str)
def test_sync_small(lab: Lab, dumps: Path, which: Pair) -> None:
    judge(which, sync(lab, which, CI_SCALE, dumps))


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", PAIRS, ids=str)
def test_sync_full(lab: Lab, dumps: Path, which: Pair) -> None:
    judge(which, sync(lab, which, FULL, dumps))


@pytest.mark.parametrize("which", PAIRS, ids=str)
def test_a_cut_afterwards_is_continued(lab: Lab, dumps: Path, which: Pair) -> None:
    """A partial resync as ever: the second connection was for the snapshot alone."""
    master = pair.start_master(lab, which, 1000, dumps)
    replica = pair.start_replica(lab, which, master)
    replica.wait_link_up()
    master.wait_online()
    with Writer(master, field_ttl=which.field_ttl, without=delicate(which.replica)) as writer:
        pair.cut_and_heal(master, replica, at=master, kind="replica")
        pair.cut_and_heal(master, replica, at=replica, kind="master")
        pair.go_on(master, writer, 50_000)
    compare.settle(master, replica, field_ttl=which.field_ttl)
    compare.assert_equal(master, replica)
    channels.prove(master, replica, which.dialect)


@pytest.mark.parametrize("off", ["master", "replica"])
@pytest.mark.parametrize("which", PAIRS, ids=str)
def test_one_end_does_not_want_it(lab: Lab, which: Pair, off: str) -> None:
    """Then one connection serves, as ever."""
    on = {end: channels.ONE if end == off else which.dialect for end in ("master", "replica")}
    master = lab.start(which.master, directives=channels.directives(which.master, on["master"]))
    dataset.fill(master, dataset.commands(1000))
    replica = lab.start(which.replica, master, directives=channels.directives(which.replica, on["replica"]))
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert channels.used_one(master, replica)


def test_a_disk_based_master_uses_one(lab: Lab) -> None:
    """`repl-diskless-sync no`: there is a file to send, and the second connection is for a child that writes."""
    master = lab.start("pyrepl", directives={"repl-diskless-sync": "no"})
    dataset.fill(master, dataset.commands(1000))
    replica = lab.start("redis8", master)
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert channels.used_one(master, replica)


def test_every_kind_at_once(lab: Lab) -> None:
    """One master, both dialects on: each replica gets what it can, all of them the same data."""
    both = channels.directives("pyrepl", BOTH)
    master = lab.start("pyrepl", directives={**BACKLOG, **both, "repl-diskless-sync-delay": "2"})
    dataset.fill(master, dataset.commands(CI_SCALE))
    master.call("CONFIG", "SET", "rdb-key-save-delay", 100)
    kinds = {"pyrepl": BOTH, **{real: "".join(TABLE[real].dialects) for real in REAL}}
    with Writer(master):
        replicas = [lab.launch(kind, master, channels.directives(kind, how)) for kind, how in kinds.items()]
        for replica in replicas:
            replica.wait_ready()
            replica.wait_link_up()
    compare.settle(master, *replicas)
    for replica, how in zip(replicas, [REDIS, *list(kinds.values())[1:]], strict=True):
        compare.assert_equal(master, replica)
        if how:
            channels.prove(master, replica, how)
    assert master.stat("sync_full") == len(replicas)


@pytest.mark.parametrize(("dialect", "real"), REALS)
def test_replicas_share_one_child(lab: Lab, dialect: str, real: str) -> None:
    """Whoever asks within the delay gets the same snapshot, each on a second connection of its own."""
    wanted = channels.directives("pyrepl", dialect)
    waits = {"repl-diskless-sync-delay": "100", "repl-diskless-sync-max-replicas": "3"}
    master = lab.start("pyrepl", directives={**BACKLOG, **wanted, **waits})
    dataset.fill(master, dataset.commands(CI_SCALE))
    with Writer(master):
        kinds = ("pyrepl", "pyrepl", real)
        replicas = [lab.launch(kind, master, channels.directives(kind, dialect)) for kind in kinds]
        for replica in replicas:
            replica.wait_ready()
            replica.wait_link_up()
    compare.settle(master, *replicas)
    for replica in replicas:
        compare.assert_equal(master, replica)
        channels.prove(master, replica, dialect)
    assert (master.stat("sync_full"), master.stat("total_forks")) == (3, 1)


def test_chain_from_dialect_to_dialect(lab: Lab) -> None:
    """Redis 8.2 to pyrepl to Valkey 8.0, which cannot follow Redis 8.2 itself: two connections on either link."""
    master = lab.start("redis8", directives={**BACKLOG, **channels.directives("redis8", REDIS)})
    dataset.fill(master, dataset.commands(CI_SCALE))
    # What Redis 8.2 says in commands that Valkey 8.0 does not know.
    with Writer(master, without=frozenset({"HINCRBYFLOAT"})):
        middle = lab.start("pyrepl", master, {**BACKLOG, **channels.directives("pyrepl", BOTH)})
        middle.wait_link_up()
        last = lab.start("valkey8", middle, {**BACKLOG, **channels.directives("valkey8", VALKEY)})
        last.wait_link_up()
    compare.settle(master, middle, last)
    for replica, above, dialect in ((middle, master, REDIS), (last, middle, VALKEY)):
        compare.assert_equal(master, replica)
        channels.prove(above, replica, dialect)


def begin_over(master: Node) -> None:
    """Cut the replicas, delete `old`, and write more than a backlog of 16 KB holds before they come back."""
    with master.connect() as client:
        client.call("MULTI")
        client.call("CLIENT", "KILL", "TYPE", "REPLICA")
        client.call("DEL", "old")
        for _ in range(100):
            client.call("SET", "gap", "x" * 400)
        client.call("EXEC")


def test_swapdb_answers_with_the_old_data_meanwhile(lab: Lab) -> None:
    """async_loading: reads get the old data until the new is complete, on two connections as on one.

    So only of the master whose data it is: the first sync is answered with -LOADING (tests/fault/test_old_data.py).
    """
    wanted = channels.directives("pyrepl", REDIS)
    master = lab.start("pyrepl", directives={"repl-backlog-size": "16384", **wanted})
    dataset.fill(master, dataset.commands(1000))
    master.call("SET", "old", "data")
    replica = lab.start("pyrepl", master, {**BACKLOG, **wanted, "repl-diskless-load": "swapdb"})
    replica.wait_link_up()
    master.call("CONFIG", "SET", "rdb-key-save-delay", "3000")
    begin_over(master)
    wait_until("it loads", lambda: replica.info("persistence")["async_loading"] == "1")
    seen = 0
    while replica.info("persistence")["async_loading"] == "1":
        answer = replica.call("GET", "old")
        assert answer in (b"data", None)
        seen += answer == b"data"
    assert seen > 10
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def test_info_names_the_buffer(lab: Lab) -> None:
    """What comes beside the snapshot grows replica_full_sync_buffer_size, and _peak stays; Valkey's names too."""
    wanted = channels.directives("pyrepl", REDIS)
    master = lab.start("pyrepl", directives={**BACKLOG, **wanted, "rdb-key-save-delay": "3000"})
    dataset.fill(master, dataset.commands(1500))
    with Writer(master):
        replica = lab.start("pyrepl", master, {**BACKLOG, **wanted, "repl-diskless-load": "swapdb"})

        def size() -> int:
            return int(replica.info("replication")["replica_full_sync_buffer_size"])

        wait_until("the buffer grows", lambda: size() > 10_000, every_s=0.005)
        assert int(replica.info("replication")["replicas_repl_buffer_size"]) > 10_000
        replica.wait_link_up()
    info = replica.info("replication")
    assert info["replica_full_sync_buffer_size"] == "0"
    assert int(info["replica_full_sync_buffer_peak"]) > 10_000
    assert info["replicas_repl_buffer_peak"] == info["replica_full_sync_buffer_peak"]
    logged = re.search(r"stream replication buffer into the db \((\d+) bytes\)", replica.log())
    assert logged and int(logged[1]) <= int(info["replica_full_sync_buffer_peak"])
