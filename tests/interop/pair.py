"""What a master and a replica of any kind must do together; the tests say which kinds and how much data.

One run: a master with the data set, under load of redis-benchmark and the mixed writer; a replica attaches while they
write; they go on for a while; then both hold the same, by digest and by a walk. Then the link is cut from either end,
under load again: it heals by a partial resync, and both hold the same.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.interop import channels
from tests.peers import compare, dataset, finder, kinds
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.writer import Writer

BENCHMARK_TESTS: Final = "set,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,mset"
PER_SECOND: Final = 10_000
"""Commands of the mixed writer: its short times to live pass while it writes, and it is done soon after."""
BACKLOG: Final = {"repl-backlog-size": "128mb"}
"""Large enough that a cut link never outlives it, at any scale."""


class Pair(NamedTuple):
    """Which kinds, and how the snapshot travels: by way of a file or not, on a connection of its own or not."""

    master: str
    replica: str
    diskless: bool
    dialect: str = channels.ONE
    """That of the two connections, see channels.py."""
    tls: bool = False
    """Are they encrypted, with a certificate on both sides?"""

    @property
    def field_ttl(self) -> bool:
        """Do both ends know hashes whose fields expire?"""
        return kinds.field_ttl(self.master, self.replica)

    @property
    def newest(self) -> bool:
        """Do both ends know the commands of Redis 8.4 and 8.6?"""
        return kinds.newest(self.master, self.replica)

    @property
    def exact_scores(self) -> bool:
        """Must scores be such that Redis 7.0 prints them as the others do?"""
        return kinds.exact_scores(self.master, self.replica)

    @property
    def source(self) -> str:
        """The real server that makes the data set: one whose files both ends can hold."""
        return next((kind for kind in (self.master, self.replica) if kind != kinds.OURS), "redis8")

    def __str__(self) -> str:
        way = self.dialect or ("diskless" if self.diskless else "disk")
        return f"{self.master}-{self.replica}-{way}" + "-tls" * self.tls


def run(lab: Lab, pair: Pair, scale: int, dumps: Path) -> None:
    """The whole story above. Raises AssertionError (or a kind of it) at the first thing that is not so."""
    master = start_master(lab, pair, scale, dumps)
    with load(master, scale, pair.field_ttl, newest=pair.newest, scripts=True) as writer:
        replica = start_replica(lab, pair, master)
        replica.wait_link_up()
        assert master.stat("sync_full") == 1, "the first sync took more than one full resync"
        go_on(master, writer)
    compare.settle(master, replica, field_ttl=pair.field_ttl)
    compare.assert_equal(master, replica)

    delicate = kinds.delicate(pair.replica)
    with load(master, scale // 4, pair.field_ttl, seed=2, without=delicate, newest=pair.newest, scripts=True) as writer:
        cut_and_heal(master, replica, at=master, kind="replica")
        cut_and_heal(master, replica, at=replica, kind="master")
        go_on(master, writer)
    compare.settle(master, replica, field_ttl=pair.field_ttl)
    compare.assert_equal(master, replica)


def start_master(lab: Lab, pair: Pair, scale: int, dumps: Path) -> Node:
    """A master with the data set: from a real server's dump.rdb, or made on the spot if it is a real server itself."""
    directives = {
        **BACKLOG,
        **channels.directives(pair.master, pair.dialect),
        "repl-diskless-sync": "yes" if pair.diskless else "no",
        **(lab.authority.directives() if pair.tls else {}),
    }
    traits = {"field_ttl": pair.field_ttl, "exact_scores": pair.exact_scores}
    if pair.master == "pyrepl":
        dump = dataset.real_dump(pair.source, scale, dumps, **traits)
        master = lab.start(pair.master, directives=directives, dump=dump)
        master.wait_loaded()
        return master
    master = lab.start(pair.master, directives=directives)
    dataset.fill(master, dataset.commands(scale, **traits))
    return master


def start_replica(lab: Lab, pair: Pair, master: Node) -> Node:
    """A replica of that master, which loads as it arrives if the snapshot travels without a file."""
    load = "on-empty-db" if pair.diskless else "disabled"
    wanted = {**BACKLOG, **channels.directives(pair.replica, pair.dialect), "repl-diskless-load": load}
    if not pair.tls:
        return lab.start(pair.replica, master, directives=wanted)
    return lab.start(pair.replica, master.tls_port, directives={**wanted, **lab.authority.directives()})


@contextmanager
def load(
    master: Node,
    scale: int,
    field_ttl: bool,
    seed: int = 1,
    without: frozenset[str] = frozenset(),
    newest: bool = False,
    scripts: bool = False,
) -> Iterator[Writer]:
    """Within it, redis-benchmark and the mixed writer write to the master; after it, both have ended well."""
    command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", master.port, "-t", BENCHMARK_TESTS]
    command += ["-n", scale // 4, "-r", 1000, "-P", 8, "-c", 10, "-d", 30, "-q"]
    benchmark = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        with Writer(master, seed, PER_SECOND, field_ttl, newest, scripts, without) as writer:
            yield writer
            output, _ = benchmark.communicate(timeout=300)
        assert benchmark.returncode == 0, output
        assert "error" not in output.lower(), output
        assert writer.written > 0
    finally:
        benchmark.kill()
        benchmark.wait()


def go_on(master: Node, writer: Writer, stream_bytes: int = 300_000) -> None:
    """Until the load has written that much more. Raises what ended the writer, if something did."""
    goal = master.offset() + stream_bytes

    def reached() -> bool:
        writer.check()
        return master.offset() >= goal

    wait_until(f"{master.name} wrote {stream_bytes} bytes more", reached, 60)


def cut_and_heal(master: Node, replica: Node, at: Node, kind: str) -> None:
    """CLIENT KILL the link at one end; it is up again by one partial resync and no full one."""
    before = master.info("stats")
    assert at.call("CLIENT", "KILL", "TYPE", kind) == 1
    partial, full = int(before["sync_partial_ok"]) + 1, int(before["sync_full"])
    what = f"{replica.name} is back by a partial resync"
    wait_until(what, lambda: master.stat("sync_partial_ok") >= partial or master.stat("sync_full") > full, 60)
    replica.wait_link_up()
    after = master.info("stats")
    assert (int(after["sync_partial_ok"]), int(after["sync_full"])) == (partial, full)
