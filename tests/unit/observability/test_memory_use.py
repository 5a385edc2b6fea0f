"""Where memory goes: the parts add up, and never to more than there is."""

from __future__ import annotations

from pyrepl.observability.memory_use import MemoryUse, memory_use
from pyrepl.replication.syncbuffer import SyncBuffer
from pyrepl.units import Offset
from tests.unit.commands.rig import Rig

MB = 1 << 20


def use(**sizes: int) -> MemoryUse:
    return MemoryUse(
        **dict.fromkeys(
            (
                *("held", "peak_before", "startup", "backlog", "replicas", "sync_buffer", "not_counted"),
                *("clients", "keys", "dataset"),
            ),
            0,
        )
        | sizes
    )


def test_what_is_used_is_the_sum() -> None:
    subject = use(dataset=70 * MB, startup=20 * MB, backlog=5 * MB, clients=5 * MB, keys=10, held=150 * MB)
    assert subject.overhead == 30 * MB
    assert (subject.used, subject.peak, subject.fragmentation) == (100 * MB, 100 * MB, 1.5)
    assert subject.dataset_percent == 87.5
    assert subject.bytes_per_key == 8 * MB


def test_of_nothing() -> None:
    subject = use(startup=30)
    assert (subject.overhead, subject.used, subject.dataset_percent, subject.bytes_per_key) == (30, 30, 0.0, 0)
    assert (use().peak_percent, use().fragmentation) == (0.0, 1.0)


def test_what_the_process_holds_is_not_what_is_used() -> None:
    """Freed memory that the process still holds counts as fragmentation."""
    rig = Rig()
    rig.node.process.startup_bytes = 10 * MB
    rig.node.process.rss_bytes = 90 * MB
    rig.run("SET", "a", b"x" * MB)
    before = memory_use(rig.node)
    assert 11 * MB <= before.used < 12 * MB
    rig.say("FLUSHALL")
    after = memory_use(rig.node)
    assert after.dataset == 0 and 10 * MB <= after.used < 11 * MB and after.held == 90 * MB


def test_the_stream_is_split_at_the_size_of_the_backlog() -> None:
    rig = Rig()
    backlog = rig.node.replication.backlog
    backlog.create()
    backlog.resize(1000)
    cursor = backlog.attach(Offset(backlog.end))
    replica = rig.connect()
    replica.become_replica()
    backlog.append(b"x" * 500_000)
    before = memory_use(rig.node)
    replica.output_bytes = 500_000
    measured = memory_use(rig.node)
    assert measured.backlog == 1000
    assert 499_000 <= measured.replicas < 510_000
    assert measured == before, "what waits for a replica is the stream, which is counted already"
    assert measured.not_counted == measured.replicas
    backlog.detach(cursor)


def test_without_replicas_all_of_the_stream_is_the_backlog() -> None:
    """As Redis 8.2 shows it; blocks are dropped whole, so it may be a little more than repl-backlog-size."""
    rig = Rig()
    backlog = rig.node.replication.backlog
    backlog.create()
    backlog.resize(1000)
    backlog.append(b"x" * 500_000)
    measured = memory_use(rig.node)
    assert (measured.backlog, measured.replicas) == (backlog.memory_bytes, 0)
    assert measured.not_counted == backlog.memory_bytes - 1000


def test_what_is_held_beside_a_snapshot_is_used() -> None:
    rig = Rig()
    before = memory_use(rig.node)
    SyncBuffer(MB, rig.node.replication.buffer_use).add(b"x" * 1000)
    after = memory_use(rig.node)
    assert (after.sync_buffer, after.used - before.used, after.not_counted) == (1000, 1000, 0)


def test_the_peak_is_of_what_was_used() -> None:
    rig = Rig()
    rig.node.process.startup_bytes, rig.node.process.rss_bytes = 20 * MB, 60 * MB
    assert memory_use(rig.node).peak == memory_use(rig.node).used
    rig.node.process.peak_used_bytes = 30 * MB
    assert memory_use(rig.node).peak == 30 * MB


def test_clients_by_kind() -> None:
    rig = Rig()
    rig.connect().become_replica()
    measured = memory_use(rig.node)
    assert 0 < measured.clients == measured.replicas


def test_keys_of_all_databases() -> None:
    rig = Rig()
    rig.say("SET a 1")
    rig.say("SELECT 2")
    rig.say("MSET a 1 b 2")
    assert memory_use(rig.node).keys == 3
