"""A full sync on two connections, broken at every point of its way by every means.

Whatever is cut or killed, and whenever: the pair heals by itself and is equal; meanwhile the replica's old data is as
`repl-diskless-load` promises; no process, temporary file or descriptor stays behind.
"""

from __future__ import annotations

import enum
import itertools
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, NamedTuple

import psutil
import pytest

from tests.fault.processes import children, descriptors, gone, left_behind, snapshot_child
from tests.interop import channels
from tests.interop.pair import BACKLOG
from tests.peers import compare, finder
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.proxy import MAIN, RDB, Proxy
from tests.peers.wire import ErrorReply
from tests.peers.writer import Writer

KEYS: Final = 2000
VALUE_BYTES: Final = 200
SLOW_US: Final = 800
SLOWER_US: Final = 2000
"""Per key: the snapshot takes about two seconds; with a real master more, as it writes in larger pieces."""
OLD_KEYS: Final = 50
HEAVY_REQUESTS: Final = 200_000
"""Of either kind, beside the snapshot: applying them takes a second or two."""


MOST_ATTEMPTS: Final = 5


class Phase(enum.StrEnum):
    """How far the sync has come."""

    UNPAIRED = "before-pairing"
    PAIRED = "after-pairing"
    AT_10 = "at-10-percent"
    AT_50 = "at-50-percent"
    AT_90 = "at-90-percent"
    APPLYING = "while-the-buffer-is-applied"


PERCENT: Final = {Phase.AT_10: 10, Phase.AT_50: 50, Phase.AT_90: 90}


class Victim(enum.StrEnum):
    """What is cut or killed."""

    MAIN_CHANNEL = "main-channel"
    RDB_CHANNEL = "rdb-channel"
    MASTER = "master"
    REPLICA = "replica"
    CHILD = "child"


class Load(NamedTuple):
    """repl-diskless-load, and whether the replica has data of its own before."""

    how: str
    old_data: bool = True

    def __str__(self) -> str:
        return self.how if self.old_data else f"{self.how}-empty"


LOADS: Final = (Load("disabled"), Load("on-empty-db"), Load("on-empty-db", old_data=False), Load("swapdb"))


class Case(NamedTuple):
    """One cell of the matrix."""

    master: str
    replica: str
    dialect: str
    load: Load
    phase: Phase
    victim: Victim

    def __str__(self) -> str:
        return "-".join(map(str, self))


def happens(phase: Phase, victim: Victim) -> bool:
    """Is there such a victim at that point? A child only during the snapshot, an RDB channel only until its end."""
    if victim is Victim.CHILD:
        return phase in PERCENT
    return victim is not Victim.RDB_CHANNEL or phase is not Phase.APPLYING


PLACES: Final = [(phase, victim) for phase in Phase for victim in Victim if happens(phase, victim)]

PARTIES: Final = [
    ("pyrepl", "pyrepl", channels.REDIS),
    ("pyrepl", "pyrepl", channels.VALKEY),
    ("pyrepl", "redis8", channels.REDIS),
    ("redis8", "pyrepl", channels.REDIS),
    ("pyrepl", "valkey8", channels.VALKEY),
    ("valkey8", "pyrepl", channels.VALKEY),
]

MATRIX: Final = [
    Case(*parties, load, phase, victim)
    for parties in PARTIES
    for load in LOADS
    for phase, victim in PLACES
    if "pyrepl" == parties[0] == parties[1] or load.how == "swapdb"
]

QUICK: Final = [
    Case(*PARTIES[number % 2], load, phase, victim)
    for number, ((phase, victim), load) in enumerate(zip(PLACES, itertools.cycle(LOADS)))
    if phase is not Phase.AT_10
]
"""For CI: every point but one and every victim between two pyrepls, with loads and dialects in turn."""


class Missed(Exception):
    """A busy machine let the moment pass at which the case was to strike: nothing is proved, nothing refuted."""


class Stage:
    """One master, one replica, the proxy between, and how they were before the sync."""

    def __init__(self, lab: Lab, case: Case, proxy: Proxy, master: Node) -> None:
        self.lab = lab
        self.case = case
        self.proxy = proxy
        self.master = master
        self.snapshot_bytes = (master.folder / "dump.rdb").stat().st_size
        wanted = channels.directives(case.replica, case.dialect)
        self._settings = {**BACKLOG, **wanted, "repl-diskless-load": case.load.how}
        self.replica = lab.start(case.replica, directives=self._settings)
        if case.load.old_data:
            for number in range(OLD_KEYS):
                self.replica.call("SET", f"old:{number}", "data")
            self.replica.call("SAVE")
        self.old_dump = self.dump()
        self.old_digest = compare.digest(self.replica)
        self.child: psutil.Process | None = None
        self.descriptors = {node: descriptors(node) for node in (self.master, self.replica)}

    def dump(self) -> bytes:
        """The replica's dump.rdb; b"" if it has none."""
        path = self.replica.folder / "dump.rdb"
        return path.read_bytes() if path.exists() else b""

    def begin(self) -> None:
        """The replica follows, and the sync comes as far as the case says."""
        case, proxy, master = self.case, self.proxy, self.master
        if case.phase is Phase.UNPAIRED:
            proxy.admit(1)
        if case.phase is Phase.PAIRED:
            master.call("CONFIG", "SET", "repl-diskless-sync-delay", 20)
        self.replica.call("REPLICAOF", HOST, proxy.port)
        if case.phase in PERCENT:
            self.child = snapshot_child(master)
        wait_until(f"the sync is {case.phase}", self._reached(), 60, every_s=0.005)
        if self.child is not None:
            self._hold(self.child)

    def _hold(self, child: psutil.Process) -> None:
        """Let the snapshot come no further before the strike. Raises Missed if it has all been written."""
        try:
            child.suspend()
        except psutil.NoSuchProcess:
            raise Missed from None
        if gone(child) or self.proxy.passed_on(RDB) >= self.snapshot_bytes:
            raise Missed

    def _reached(self) -> Callable[[], bool]:
        proxy, phase, master, replica = self.proxy, self.case.phase, self.master, self.replica
        if phase is Phase.UNPAIRED:
            return lambda: proxy.connections == 2
        if phase is Phase.PAIRED:
            return lambda: "elay next BGSAVE for diskless SYNC" in master.log()
        if phase is Phase.APPLYING:
            begins = "Starting to stream replication buffer" if replica.kind != "valkey8" else "Finished with success"
            return lambda: begins in replica.log()
        return lambda: proxy.passed_on(RDB) * 100 >= self.snapshot_bytes * PERCENT[phase]

    def strike(self) -> None:
        """The fault itself; nobody gets through to the master until `heal`."""
        self.proxy.shut_the_door()
        match self.case.victim:
            case Victim.MAIN_CHANNEL:
                self.proxy.cut(MAIN)
            case Victim.RDB_CHANNEL:
                self.proxy.cut(RDB)
            case Victim.REPLICA:
                self.replica.kill()
            case Victim.MASTER:
                self.master.kill()
            case Victim.CHILD:
                assert self.child is not None
                self.child.kill()
        if self.child is not None:
            with suppress(psutil.NoSuchProcess):
                self.child.resume()
        if self.case.victim is Victim.MASTER:
            if self.child is not None:
                wait_until("the child died with its master", partial(gone, self.child))
            wait_until("nothing of the master lives on", lambda: not left_behind(self.master))

    def check_meanwhile(self) -> None:
        """The replica is on its own now: what does it hold?"""
        case = self.case
        if case.victim is not Victim.MASTER:
            wait_until("the master's child has ended", lambda: not children(self.master))
        if case.victim is Victim.REPLICA:
            if case.phase is not Phase.APPLYING:
                assert self.dump() == self.old_dump, "the file of the old data was touched before the new was complete"
            return
        wait_until("the replica noticed", lambda: self.is_idle(self.replica))
        if case.phase is Phase.APPLYING or self._whole_snapshot_came():
            assert self.replica.call("GET", "key:0"), "the snapshot was loaded, and is gone"
        else:
            assert compare.digest(self.replica) == self.old_digest, f"not the data from before: {self.replica.tail()}"
            assert self.dump() == self.old_dump
        assert temporary_files(self.replica) == []

    def _whole_snapshot_came(self) -> bool:
        """The child of a killed Redis or Valkey may live on and write its snapshot to the end, to the socket."""
        outlives = self.case.victim is Victim.MASTER and self.case.master != "pyrepl"
        return outlives and "Done loading RDB" in self.replica.log()

    @staticmethod
    def is_idle(replica: Node) -> bool:
        """Is no sync under way on it?"""
        try:
            info = replica.info()
        except ErrorReply as error:
            assert str(error).startswith("LOADING"), error
            return False
        return info["master_link_status"] == "down" and "0" == info["master_sync_in_progress"] == info["loading"]

    def heal(self) -> None:
        """No fault any more; whoever was killed is started again, in its own folder."""
        if self.case.victim is Victim.MASTER:
            dead = self.master
            settings = master_settings(self.case)
            self.master = self.lab.start(dead.kind, directives=settings, port=dead.port, folder=dead.folder)
            self.master.wait_loaded()
        self.master.call("CONFIG", "SET", "rdb-key-save-delay", 0, "repl-diskless-sync-delay", 0)
        self.proxy.cut(RDB)
        self.proxy.heal()
        if self.case.victim is Victim.REPLICA:
            dead = self.replica
            self.replica = self.lab.start(dead.kind, self.proxy.port, self._settings, folder=dead.folder)
        self.replica.wait_link_up(60)
        # Valkey 8.0 does not close its main connection when the other one fails, but opens a new one beside it.
        self.proxy.cut_older(MAIN)

    def check_afterwards(self) -> None:
        """Equal, and nothing left of what broke."""
        compare.settle(self.master, self.replica)
        compare.assert_equal(self.master, self.replica)
        for node in (self.master, self.replica):
            assert children(node) == []
            if node.kind == "pyrepl":
                assert temporary_files(node) == [], f"left in the folder of {node.name}"
            if node.kind == "pyrepl" and node in self.descriptors:
                # The master's socket; on the replica the link's, and the epoll that watches it for a reset.
                expected = self.descriptors[node] + (1 if node is self.master else 2)
                what = f"{node.name} has {expected} descriptors: those of before the sync, and the link's"
                wait_until(what, lambda node=node, expected=expected: descriptors(node) == expected)  # type: ignore[misc]


def temporary_files(node: Node) -> list[str]:
    return [path.name for path in node.folder.glob("temp-*")]


def master_settings(case: Case) -> dict[str, str]:
    return {**BACKLOG, **channels.directives(case.master, case.dialect), "repl-diskless-sync": "yes"}


@contextmanager
def stage(lab: Lab, case: Case) -> Iterator[Stage]:
    """A master whose snapshot grows evenly with time, and all else before the replica follows it."""
    master = lab.start(case.master, directives=master_settings(case))
    rng = random.Random(1)
    with master.connect() as wire:
        wire.pipeline([("SET", f"key:{number}", rng.randbytes(VALUE_BYTES)) for number in range(KEYS)])
    master.call("SAVE")
    master.call("CONFIG", "SET", "rdb-key-save-delay", SLOW_US if case.master == "pyrepl" else SLOWER_US)
    with Proxy(master.port) as proxy:
        yield Stage(lab, case, proxy, master)


@contextmanager
def writes(master: Node, heavy: bool) -> Iterator[None]:
    """Mixed writes to the master, which may be killed meanwhile; `heavy`: so many that applying them takes a while."""
    # A FLUSHDB in the stream would hide whether the snapshot is still there.
    writer = Writer(master, without=frozenset({"FLUSHDB"})).start()
    benchmark = None
    if heavy:
        command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", master.port, "-t", "incr,sadd", "-P", 50]
        command += ["-n", HEAVY_REQUESTS, "-r", 200, "-q"]
        benchmark = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        if benchmark is not None:
            benchmark.kill()
            benchmark.wait()
        if master.alive():
            writer.stop()
        else:
            with suppress(OSError):
                writer.stop()


def play(lab: Lab, case: Case) -> None:
    """The whole story of one cell, told anew while a busy machine spoils it."""
    for attempt in itertools.count(1):
        try:
            tell(lab, case)
        except Missed:
            assert attempt < MOST_ATTEMPTS, f"{attempt} times the snapshot had ended before it was {case.phase}"
        else:
            return


def tell(lab: Lab, case: Case) -> None:
    """The whole story of one cell, once. Raises Missed."""
    with stage(lab, case) as it:
        with writes(it.master, heavy=case.phase is Phase.APPLYING):
            it.begin()
            it.strike()
        it.check_meanwhile()
        it.heal()
        it.check_afterwards()
        if (case.phase, case.victim) == (Phase.APPLYING, Victim.MAIN_CHANNEL) and case.replica == "pyrepl":
            assert it.master.stat("sync_full") == 1, "all was there to go on from, and it was sent anew"


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_broken(lab: Lab, case: Case) -> None:
    play(lab, case)


@pytest.mark.matrix
@pytest.mark.parametrize("case", MATRIX, ids=str)
def test_broken_everywhere(lab: Lab, case: Case) -> None:
    play(lab, case)


@pytest.mark.parametrize("kind", ["redis8", "pyrepl"])
def test_a_sync_that_goes_well_is_not_called_lost(lab: Lab, kind: str) -> None:
    """The RDB channel ends with the snapshot, whoever of the two hangs up first."""
    master = lab.start("pyrepl", directives={"repl-rdb-channel": "yes"})
    master.call("SET", "a", "1")
    replica = lab.start(kind, master, directives={"repl-rdb-channel": "yes"})
    replica.wait_link_up()
    master.wait_log("the whole snapshot was sent over it")
    assert " lost" not in master.log()
    assert "Diskless rdb transfer, done reading from pipe, 1 replicas still up." in master.log()
