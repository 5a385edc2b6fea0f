"""No more replicas in a full sync at a time than allowed; the others wait, oldest first, and share the next child."""

from __future__ import annotations

from pyrepl.replication.events import SessionState, SnapshotTarget, StartSnapshot, SyncDecided
from tests.unit.replication.pairs_bench import Bench as Pairs
from tests.unit.replication.test_roster import Bench

WAITS = SessionState.WAIT_SNAPSHOT_START


def test_the_oldest_are_served_and_the_rest_share_the_next() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=2)
    replicas = [bench.connect() for _ in range(5)]
    assert bench.started() == StartSnapshot(SnapshotTarget.DISK, (replicas[0].id,))
    assert bench.roster.snapshot_started(0.0) == replicas[:2]
    bench.roster.snapshot_ended(True, 0.0, size_bytes=5)
    assert bench.started() is None and bench.roster.next_deadline() is not None
    replicas[0].file_sent(1.0)
    assert bench.tick_to(1.0) == [StartSnapshot(SnapshotTarget.DISK, (replicas[2].id,))]
    replicas[1].file_sent(1.5)
    assert bench.roster.snapshot_started(1.5) == replicas[2:4], "room that came after the order counts"
    bench.roster.snapshot_ended(True, 2.0, size_bytes=5)
    assert replicas[4].state is WAITS
    bench.roster.remove(replicas[2], 2.0)
    assert bench.tick_to(2.0)[0] == StartSnapshot(SnapshotTarget.DISK, (replicas[4].id,)), "who goes makes room"


def test_a_running_file_is_joined_only_where_there_is_room() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=2)
    bench.connect()
    bench.events()
    bench.roster.snapshot_started(0.0)
    joined, waits = bench.connect(), bench.connect()
    decided = [event.wait for event in bench.events() if isinstance(event, SyncDecided)]
    assert decided == ["joined", "next_file"]
    assert joined.state is SessionState.WAIT_SNAPSHOT_END and waits.state is WAITS


def test_who_waits_for_room_is_kept_alive() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=1)
    bench.connect()
    waits = bench.connect()
    bench.events()
    bench.roster.snapshot_started(0.0)
    waits.data_to_send()
    for second in range(1, 100):
        bench.tick_to(float(second))
    assert waits.data_to_send() == [b"\n"] * 99 and waits.state is WAITS


def test_sockets_are_given_to_as_many_as_allowed_without_delay_once_full() -> None:
    bench = Bench(diskless=True, diskless_delay_s=5.0, max_concurrent_syncs=2)
    first = bench.connect()
    assert bench.started() is None, "another one may come and share it"
    second, third = bench.connect(), bench.connect()
    assert bench.started() == StartSnapshot(SnapshotTarget.SOCKETS, (first.id, second.id))
    assert bench.roster.snapshot_started(0.0) == [first, second]
    bench.roster.snapshot_ended(True, 1.0)
    assert third.state is WAITS and bench.started() is None
    assert bench.tick_to(5.0)[0] == StartSnapshot(SnapshotTarget.SOCKETS, (third.id,))


def test_the_limit_may_change_at_any_time() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=2)
    replicas = [bench.connect() for _ in range(4)]
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.roster.snapshot_ended(True, 0.0, size_bytes=5)
    bench.options.max_concurrent_syncs = 1
    replicas[0].file_sent(0.0)
    assert bench.tick_to(0.0) == [], "one is still served"
    bench.options.max_concurrent_syncs = 0
    bench.tick_to(0.1)
    assert bench.roster.snapshot_started(0.1) == replicas[2:]


def test_a_replica_that_is_continued_needs_no_room() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=1)
    bench.connect()
    bench.events()
    bench.roster.snapshot_started(0.0)
    assert bench.continued().state is SessionState.ONLINE


def test_a_pair_counts_once_until_its_snapshot_is_out() -> None:
    bench = Pairs()
    bench.options.max_concurrent_syncs = 1
    main, rdb = bench.pair()
    late = bench.main(port=7002)
    late_rdb = bench.rdb(late)
    bench.say(late_rdb, "PSYNC ? -1")
    assert late_rdb.state is WAITS
    assert (main.takes_snapshot, rdb.takes_snapshot) == (True, False)
    bench.roster.snapshot_ended(True, 1.0)
    bench.look(rdb)
    assert not main.takes_snapshot and main.state is SessionState.SEND_BULK_AND_STREAM
    bench.tick_to(1.0)
    assert bench.roster.snapshot_started(1.0) == [late_rdb]
