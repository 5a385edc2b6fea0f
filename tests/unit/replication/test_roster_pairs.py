"""Which snapshot serves whom, where some sync on two connections."""

from __future__ import annotations

from pyrepl.replication.dialects import REDIS_RDB_CHANNEL
from pyrepl.replication.events import (
    RdbChannelAsks,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    SyncDecided,
)
from tests.unit.replication.pairs_bench import A, Bench


def test_pairs_and_single_connections_share_a_child() -> None:
    bench = Bench()
    single = bench.connect("capa eof capa psync2", port=7003)
    bench.options.diskless_delay_s = 5.0
    bench.say(single, "PSYNC ? -1")
    rdbs = []
    for port in (7001, 7002):
        main = bench.main(port=port)
        rdbs.append(bench.rdb(main))
        bench.say(rdbs[-1], "PSYNC ? -1")
    bench.tick_to(5.0)
    ids = (single.id, *(rdb.id for rdb in rdbs))
    assert bench.of(StartSnapshot) == [StartSnapshot(SnapshotTarget.SOCKETS, ids)]
    assert bench.roster.snapshot_started(5.0) == [single, *rdbs]


def test_who_reads_no_mark_waits_for_the_next() -> None:
    bench = Bench()
    bench.options.diskless_delay_s = 5.0
    old = bench.connect("capa psync2", port=7003)
    main = bench.main()
    rdb = bench.rdb(main)
    bench.say(rdb, "PSYNC ? -1")
    assert bench.of(StartSnapshot) == []
    bench.say(old, "PSYNC ? -1")
    bench.tick_to(5.0)
    assert bench.of(StartSnapshot) == [StartSnapshot(SnapshotTarget.SOCKETS, (rdb.id,))]
    assert bench.roster.snapshot_started(5.0) == [rdb]
    bench.roster.snapshot_ended(True, 6.0)
    assert bench.of(StartSnapshot)[1:] == [StartSnapshot(SnapshotTarget.DISK, (old.id,))]
    assert bench.roster.snapshot_started(6.0) == [old]


def test_an_rdb_connection_joins_no_snapshot_on_disk() -> None:
    bench = Bench()
    old = bench.connect("capa psync2", port=7003)
    bench.say(old, "PSYNC ? -1")
    bench.roster.snapshot_started(0.0)
    main = bench.main()
    rdb = bench.rdb(main)
    bench.say(rdb, "PSYNC ? -1")
    assert bench.of(RdbChannelAsks) == [RdbChannelAsks(rdb.id, REDIS_RDB_CHANNEL, main.id, "next_file")]
    assert rdb.state is SessionState.WAIT_SNAPSHOT_START and len(bench.of(StartSnapshot)) == 1
    bench.roster.snapshot_ended(True, 1.0, size_bytes=10)
    assert bench.of(StartSnapshot)[1:] == [StartSnapshot(SnapshotTarget.SOCKETS, (rdb.id,))]


def test_decided_is_told_for_the_main_connection() -> None:
    bench = Bench()
    main = bench.connect()
    bench.say(main, f"PSYNC {A} 5")
    (decided,) = bench.of(SyncDecided)
    assert isinstance(decided, SyncDecided) and decided.wait == "rdb_channel" and decided.reason is not None
    assert bench.roster.counters.partial_err == 1
