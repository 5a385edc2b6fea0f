"""The stream held beside a snapshot at its limit: the replica stops reading, then the limit of the master decides."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil
import pytest

from tests.fault.processes import children, resident_bytes, snapshot_child
from tests.interop import channels
from tests.peers import compare
from tests.peers.kinds import maker
from tests.peers.lab import Lab, Node, wait_until

MB: Final = 1 << 20
VALUE: Final = b"v" * (MB // 32)
KEYS: Final = 1500
SLOW_US: Final = 2000
"""Per key: the snapshot takes three seconds."""
LIMIT: Final = {"replica-full-sync-buffer-limit": "1mb"}
ATTENTIVE: Final = {"loading-process-events-interval-bytes": "1024"}
"""Redis looks at other connections only so often while it loads, by default once in 2 MB."""
READ_BYTES: Final = MB
"""One read of the socket may pass the limit with pyrepl; the bytes that it brought are kept."""
ALMOST: Final = MB - MB // 16
"""Redis stops before the limit."""

PARTIES: Final = [
    ("pyrepl", "pyrepl", channels.REDIS),
    ("pyrepl", "pyrepl", channels.VALKEY),
    ("redis8", "pyrepl", channels.REDIS),
    ("pyrepl", "redis8", channels.REDIS),
    ("valkey8", "pyrepl", channels.VALKEY),
]


def start(lab: Lab, kinds: tuple[str, str, str], limit: str) -> tuple[Node, Node]:
    """A master whose snapshot takes its time, with that limit for the output of replicas, and a replica of it."""
    kind, replica_kind, dialect = kinds
    output = {"client-output-buffer-limit": f"replica {limit}", "repl-backlog-size": "1mb"}
    master = lab.start(kind, directives={**channels.directives(kind, dialect), **output})
    master.call("DEBUG", "POPULATE", KEYS, "key", 100)
    master.call("CONFIG", "SET", "rdb-key-save-delay", SLOW_US if replica_kind == "pyrepl" else 3 * SLOW_US)
    wanted = channels.directives(replica_kind, dialect)
    replica = lab.start(replica_kind, master, {**wanted, **LIMIT, **ATTENTIVE, "repl-diskless-load": "swapdb"})
    streaming = channels.MASTER_STREAMS[maker(kind)]
    wait_until("stream and snapshot flow", lambda: streaming in master.log(), 60, every_s=0.002)
    return master, replica


@contextmanager
def still(master: Node, replica: Node) -> Iterator[None]:
    """The snapshot does not move within the `with`, so that it cannot end before the buffer is full.

    With a real replica it goes on: that reads the stream only while the snapshot comes.
    """
    if replica.kind != "pyrepl":
        yield
        return
    child = snapshot_child(master)
    child.suspend()
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            child.resume()


def buffer(replica: Node, which: str) -> int:
    return int(replica.info("replication")[f"replica_full_sync_buffer_{which}"])


@contextmanager
def heavy_writes(master: Node) -> Iterator[None]:
    """Large values, some 100 MB a second at most, until the end of the `with`."""
    stopped = threading.Event()

    def write() -> None:
        with master.connect() as wire:
            number = 0
            while not stopped.wait(0.005):
                wire.pipeline([("SET", f"big:{(number + step) % 64}", VALUE) for step in range(16)])
                number += 16

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(20)


@pytest.mark.parametrize("kinds", PARTIES, ids="-".join)
def test_full_buffer_is_no_failure(lab: Lab, kinds: tuple[str, str, str]) -> None:
    """The replica stops reading the stream, goes on with the snapshot, and gets there in one sync."""
    master, replica = start(lab, kinds, "1gb 0 0")
    said = "Replication buffer limit has been reached"
    with still(master, replica), heavy_writes(master):
        replica.wait_log(said)
        assert ALMOST <= buffer(replica, "size") <= MB + READ_BYTES
        assert not replica.link_is_up()
        wait_until("what the replica does not read waits on the master", lambda: kept(master) > 4 * MB)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert ALMOST <= buffer(replica, "peak") <= MB + READ_BYTES
    assert buffer(replica, "size") == 0
    assert replica.log().count(said) == 1
    assert master.stat("sync_full") == 1


def kept(master: Node) -> int:
    """Bytes of the stream that a master holds for backlog and replicas."""
    return int(master.info("memory")["mem_total_replication_buffers"])


@pytest.mark.parametrize("kinds", [kinds for kinds in PARTIES if kinds[0] == "pyrepl"], ids="-".join)
def test_the_masters_limit_decides(lab: Lab, kinds: tuple[str, str, str]) -> None:
    """Its client-output-buffer-limit is small: it gives the replica up, says so, stays small; later they are equal."""
    master, replica = start(lab, kinds, "8mb 0 0")
    before = resident_bytes(master)
    with still(master, replica), heavy_writes(master):
        wait_until("the master gave it up", lambda: "overcoming of output buffer limits" in master.log())
    assert resident_bytes(master) < before + 60 * MB
    assert int(master.info("stats")["client_output_buffer_limit_disconnections"]) >= 1
    master.call("CONFIG", "SET", "rdb-key-save-delay", 0)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert master.stat("sync_full") > 1


def test_its_cause_is_counted(lab: Lab) -> None:
    """The next full sync of such a replica is one for `output_buffer`, in INFO and in the log."""
    master, replica = start(lab, PARTIES[0], "8mb 0 0")
    with still(master, replica), heavy_writes(master):
        wait_until("the master gave it up", lambda: "overcoming of output buffer limits" in master.log())
    master.call("CONFIG", "SET", "rdb-key-save-delay", 0)
    replica.wait_link_up(60)
    assert int(master.info("stats")["sync_full_output_buffer"]) >= 1
    assert "(cause: output_buffer" in master.log()


def test_without_a_limit_of_its_own_it_takes_that_of_replicas_output(lab: Lab) -> None:
    """replica-full-sync-buffer-limit 0: the hard limit of client-output-buffer-limit replica, on the replica."""
    master = lab.start("pyrepl", directives={"client-output-buffer-limit": "replica 1gb 0 0"})
    master.call("DEBUG", "POPULATE", KEYS, "key", 100)
    master.call("CONFIG", "SET", "rdb-key-save-delay", SLOW_US)
    limits = {"replica-full-sync-buffer-limit": "0", "client-output-buffer-limit": "replica 2mb 0 0"}
    replica = lab.start("pyrepl", master, {**limits, "repl-diskless-load": "swapdb"})
    wait_until("there is a snapshot", lambda: children(master), 60, every_s=0.002)
    with still(master, replica), heavy_writes(master):
        replica.wait_log(f"Replication buffer limit has been reached ({2 * MB} bytes)")
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def test_without_any_limit_it_takes_a_share_of_the_memory(lab: Lab) -> None:
    """Both directives 0: a quarter of maxmemory. There the replica stops reading; nothing fails, and INFO shows it."""
    master = lab.start("pyrepl", directives={"client-output-buffer-limit": "replica 1gb 0 0"})
    master.call("DEBUG", "POPULATE", KEYS, "key", 100)
    master.call("CONFIG", "SET", "rdb-key-save-delay", SLOW_US)
    limits = {"replica-full-sync-buffer-limit": "0", "client-output-buffer-limit": "replica 0 0 0"}
    replica = lab.start("pyrepl", master, {**limits, "maxmemory": "8mb", "repl-diskless-load": "swapdb"})
    assert replica.info("replication")["replica_full_sync_buffer_limit"] == str(2 * MB)
    wait_until("there is a snapshot", lambda: children(master), 60, every_s=0.002)
    with still(master, replica), heavy_writes(master):
        replica.wait_log(f"Replication buffer limit has been reached ({2 * MB} bytes)")
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert master.stat("sync_full") == 1
