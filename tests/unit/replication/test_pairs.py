"""Two connections that make one sync, on the master: who may pair with whom, and how they end together."""

from __future__ import annotations

import pytest

from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Capability
from pyrepl.replication.events import (
    Channel,
    PsyncWaitOver,
    RdbChannelAsks,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    StopSnapshot,
    StreamAttached,
)
from pyrepl.replication.psync import Cause, Reason
from tests.unit.replication.pairs_bench import A, B, Bench


def test_redis_from_the_question_to_online() -> None:
    bench = Bench()
    main = bench.connect()
    assert bench.say(main, "PSYNC ? -1") == "+RDBCHANNELSYNC 1|"
    assert main.state is SessionState.WAIT_RDB_CHANNEL and main.state.wire_name == "wait_bgsave"
    assert bench.roster.sessions == {1: main} and main.channel is Channel.MAIN and not main.may_stream
    rdb = bench.rdb(main)
    assert rdb.is_rdb_channel and not rdb.is_replica and rdb.channel is Channel.RDB
    assert bench.say(rdb, "PSYNC ? -1") == ""
    assert rdb.is_replica and bench.roster.sessions == {1: main} and bench.roster.rdb_channels == {2: rdb}
    assert bench.of(RdbChannelAsks) == [RdbChannelAsks(2, REDIS_RDB_CHANNEL, 1, "now")]
    assert bench.of(StartSnapshot) == [StartSnapshot(SnapshotTarget.SOCKETS, (2,))]
    bench.backlog.append(b"0123456789")
    assert bench.roster.snapshot_started(0.0) == [rdb]
    assert bench.sent(rdb) == f"+FULLRESYNC {B} 10|" and bench.sent(main) == ""
    assert main.state is SessionState.SEND_BULK_AND_STREAM and main.may_stream
    assert main.cursor is not None and main.cursor.at == 10 and rdb.cursor is None
    assert bench.of(StreamAttached) == [StreamAttached(1, main.cursor.at)]
    bench.backlog.append(b"xyz")
    main.cursor.advance(3)
    bench.roster.snapshot_ended(True, 0.0)
    bench.look(rdb, main)
    assert bench.closed == {rdb: "stopped (rdb_channel)"} and bench.roster.rdb_channels == {}
    assert main.state is SessionState.SEND_BULK_AND_STREAM
    bench.say(main, "REPLCONF ACK 10")
    assert main.state is SessionState.ONLINE and main.channel is Channel.WHOLE and bench.online == [main]
    assert bench.roster.counters.full == 1 and bench.roster.acked_at_least(10) == 1


def test_valkey_from_the_question_to_online() -> None:
    bench = Bench(redis=False)
    main = bench.connect()
    bench.say(main, "REPLCONF version 9.0.1")
    assert bench.say(main, "PSYNC ? -1") == "+DUALCHANNELSYNC|"
    assert not main.is_replica and bench.roster.sessions == {}
    rdb = bench.connect("")
    bench.say(rdb, "REPLCONF capa eof rdb-only 1 rdb-channel 1")
    bench.say(rdb, "SYNC")
    assert bench.of(RdbChannelAsks) == [RdbChannelAsks(2, VALKEY_DUAL_CHANNEL, None, "now")]
    assert rdb.told.version == "9.0.1" and Capability.READS_80 in rdb.told.capabilities
    bench.backlog.append(b"0123456789")
    bench.roster.makes_stream = False
    bench.roster.snapshot_started(0.0, stream_db=3)
    assert bench.sent(rdb) == f"$ENDOFF:10 {B} 3 2|"
    assert bench.roster.waiting_psync == 1 and bench.backlog.lowest_pin == 10
    assert bench.say(main, "REPLCONF set-rdb-client-id 2") == "+OK|"
    bench.backlog.append(b"xyz")
    assert bench.say(main, f"PSYNC {B} 11") == f"+CONTINUE {B}|"
    assert main.state is SessionState.SEND_BULK_AND_STREAM and main.channel is Channel.MAIN
    assert main.cursor is not None and main.cursor.at == 10 and bench.roster.waiting_psync == 0
    assert bench.roster.sessions == {1: main} and rdb.partner is main
    bench.roster.snapshot_ended(True, 0.0)
    bench.look(rdb)
    assert bench.closed == {rdb: "stopped (rdb_channel)"}
    bench.say(main, "REPLCONF ACK 10")
    counters = bench.roster.counters
    assert bench.online == [main] and (counters.full, counters.partial_ok, counters.partial_err) == (1, 0, 0)


@pytest.mark.parametrize("dialect", [REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL])
def test_one_connection_where_the_way_is_not_common(dialect: object) -> None:
    redis = dialect is REDIS_RDB_CHANNEL
    capa = "capa eof capa psync2 capa " + ("rdb-channel-repl" if redis else "dual-channel")
    for bench in (Bench(redis=not redis, valkey=redis), Bench(redis=redis, valkey=not redis, diskless=False)):
        session = bench.connect(capa)
        assert bench.say(session, "PSYNC ? -1") == "" and session.state is SessionState.WAIT_SNAPSHOT_START


def test_a_continuation_needs_no_second_connection() -> None:
    bench = Bench()
    bench.pair()
    back = bench.connect()
    assert bench.say(back, f"PSYNC {B} 1") == f"+CONTINUE {B}|" and back.state is SessionState.ONLINE


def test_sync_never_uses_two() -> None:
    bench = Bench()
    session = bench.connect()
    assert bench.say(session, "SYNC") == "" and session.state is SessionState.WAIT_SNAPSHOT_START


def test_the_options_are_unknown_where_we_sync_on_one_connection() -> None:
    bench = Bench(redis=False, valkey=False)
    session = bench.connect()
    for option in ("rdb-channel 1", "main-ch-client-id 1", "set-rdb-client-id 1"):
        assert bench.say(session, f"REPLCONF {option}") == f"-ERR Unrecognized REPLCONF option: {option.split()[0]}|"


def test_whom_an_rdb_connection_may_name() -> None:
    bench = Bench()
    main = bench.main()
    plain = bench.connect()
    bench.say(plain, "SYNC")
    rdb = bench.connect("")
    words = "REPLCONF rdb-only 1 rdb-channel 1 main-ch-client-id"
    assert bench.say(rdb, f"{words} 99") == "-ERR Unrecognized RDB client id: 99|"
    assert bench.say(rdb, f"{words} {plain.id}") == f"-ERR Unrecognized RDB client id: {plain.id}|"
    assert bench.say(rdb, f"{words} x") == "-ERR value is not an integer or out of range|"
    assert bench.say(rdb, "REPLCONF rdb-channel 2") == "-ERR value is out of range, value must between 0 and 1|"
    other = bench.connect("")
    assert bench.say(other, f"REPLCONF main-ch-client-id {main.id}").startswith("-ERR Unrecognized")
    assert bench.say(rdb, f"{words} {main.id}") == "+OK|"
    assert bench.say(other, f"{words} {main.id}").startswith("-ERR Unrecognized RDB client id"), "it is paired"
    assert bench.say(rdb, f"{words} {main.id}").startswith("-ERR Unrecognized RDB client id"), "so is this one"


def test_an_rdb_connection_without_a_main_one_gets_nothing() -> None:
    bench = Bench(valkey=False)
    rdb = bench.connect("")
    bench.say(rdb, "REPLCONF rdb-only 1 rdb-channel 1")
    assert bench.say(rdb, "PSYNC ? -1").startswith("-ERR the RDB channel has not named")
    assert bench.say(rdb, "SYNC").startswith("-ERR dual channel replication is not enabled")
    assert bench.roster.rdb_channels == {}


def test_whom_a_main_connection_may_name() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    main, other = bench.connect(), bench.connect()
    assert bench.say(main, "REPLCONF set-rdb-client-id 99") == "-ERR Unrecognized RDB client id 99|"
    assert bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}") == "+OK|"
    assert bench.say(other, f"REPLCONF set-rdb-client-id {rdb.id}").startswith("-ERR Unrecognized RDB client id")
    assert bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}").startswith("-ERR Unrecognized RDB client id")


def test_an_rdb_connection_that_never_comes() -> None:
    bench = Bench(rdb_channel_grace_s=5.0)
    main = bench.main()
    assert main.next_deadline() == 5.0
    bench.tick_to(4.9, main)
    assert bench.closed == {}
    bench.tick_to(5.0, main)
    assert bench.closed == {main: "timeout (rdb_channel)"} and bench.roster.sessions == {}
    again = bench.main()
    assert bench.roster.counters.full_by_cause[Cause.TIMEOUT] == 1 and again.state is SessionState.WAIT_RDB_CHANNEL


def test_one_that_came_stops_the_grace_period() -> None:
    bench = Bench(rdb_channel_grace_s=5.0)
    main = bench.main()
    rdb = bench.rdb(main)
    bench.say(rdb, "PSYNC ? -1")
    bench.tick_to(50.0, main, rdb)
    assert bench.closed == {}


def test_one_that_came_and_asks_for_nothing_does_not() -> None:
    bench = Bench(rdb_channel_grace_s=5.0)
    main = bench.main()
    rdb = bench.rdb(main)
    bench.tick_to(5.0, main, rdb)
    assert bench.closed == {main: "timeout (rdb_channel)", rdb: "connection_lost (main_channel)"}


def test_what_a_connection_is_for_is_settled_by_a_sync() -> None:
    bench = Bench(redis=False)
    rdb, main, plain = bench.valkey_rdb(), bench.connect(), bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    bench.say(plain, f"PSYNC {B} 1")
    bench.sent(rdb)
    assert bench.say(main, "REPLCONF rdb-channel 1").startswith("-ERR rdb-channel cannot change")
    assert bench.say(main, "REPLCONF rdb-channel 0") == "+OK|"
    for session, flag in ((rdb, 0), (plain, 1)):
        assert bench.say(session, f"REPLCONF rdb-channel {flag}") == ""
        assert session.state is SessionState.CLOSED
    other = Bench()
    second = other.rdb(other.main())
    assert other.say(second, "REPLCONF rdb-channel 0").startswith("-ERR rdb-channel cannot change")


@pytest.mark.parametrize("phase", ["named", "asked", "begun"])
def test_the_main_connection_takes_the_other_with_it(phase: str) -> None:
    bench = Bench()
    if phase == "begun":
        main, rdb = bench.pair()
    else:
        main = bench.main()
        rdb = bench.rdb(main)
        if phase == "asked":
            bench.say(rdb, "PSYNC ? -1")
    bench.roster.remove(main, 1.0)
    bench.look(rdb)
    assert bench.closed == {rdb: "connection_lost (main_channel)"} and bench.backlog.lowest_pin is None
    assert bench.roster.sessions == {} and bench.roster.rdb_channels == {} and bench.roster.no_replicas_since == 1.0
    assert bool(bench.of(StopSnapshot)) == (phase == "begun")
    bench.main()
    assert bench.roster.counters.full_by_cause[Cause.CONNECTION_LOST] == 1


@pytest.mark.parametrize("phase", ["named", "asked"])
def test_an_rdb_connection_that_goes_before_the_snapshot_takes_the_main_one_with_it(phase: str) -> None:
    bench = Bench()
    main = bench.main()
    rdb = bench.rdb(main)
    if phase == "asked":
        bench.say(rdb, "PSYNC ? -1")
    bench.roster.remove(rdb, 1.0)
    bench.look(main)
    assert bench.closed == {main: "connection_lost (rdb_channel)"} and bench.roster.sessions == {}


@pytest.mark.parametrize("ok, failed", [(True, True), (False, False)])
def test_an_rdb_connection_that_goes_in_the_middle(ok: bool, failed: bool) -> None:
    """Its child says that it could not write there, or fails as a whole."""
    bench = Bench()
    main, rdb = bench.pair()
    bench.roster.remove(rdb, 1.0)
    bench.look(main)
    assert bench.closed == {} and bench.of(StopSnapshot) == [], "it may have had everything"
    bench.roster.snapshot_ended(ok, 2.0, failed=[rdb.id] if failed else [])
    bench.look(main)
    assert bench.closed == {main: "connection_lost (rdb_channel)"} and bench.roster.sessions == {}


def test_an_rdb_connection_that_takes_nothing_ends_with_its_pair() -> None:
    """At once: nobody waits for the child to be done with the others."""
    bench = Bench()
    main, rdb = bench.pair()
    rdb.stalled()
    bench.look(rdb, main)
    assert bench.closed == {rdb: "timeout (wait_bgsave)", main: "connection_lost (rdb_channel)"}
    assert len(bench.of(StopSnapshot)) == 1 and bench.roster.sessions == {}


def test_in_valkeys_dialect_nothing_is_kept_for_an_rdb_connection_that_takes_nothing() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    rdb.stalled()
    bench.look(rdb)
    assert bench.closed == {rdb: "timeout (wait_bgsave)"} and bench.roster.waiting_psync == 0
    assert len(bench.of(StopSnapshot)) == 1 and bench.backlog.lowest_pin is None


def test_a_replica_may_hang_up_with_the_last_byte() -> None:
    bench = Bench(timeout_s=10.0)
    main, rdb = bench.pair()
    bench.roster.remove(rdb, 1.0)
    bench.roster.snapshot_ended(True, 2.0)
    bench.look(main)
    assert bench.closed == {} and main.state is SessionState.SEND_BULK_AND_STREAM
    assert main.next_deadline() == 12.0


def test_an_ack_may_come_before_the_news_of_the_child() -> None:
    bench = Bench()
    main, rdb = bench.pair()
    bench.say(main, "REPLCONF ACK 0")
    assert main.state is SessionState.ONLINE
    bench.roster.remove(rdb, 1.0)
    bench.roster.snapshot_ended(True, 2.0, failed=[rdb.id])
    bench.look(main)
    assert bench.closed == {}


def test_a_snapshot_that_fails_ends_the_pair() -> None:
    bench = Bench()
    main, rdb = bench.pair()
    bench.roster.snapshot_ended(False, 1.0, detail="killed")
    bench.look(rdb, main)
    assert bench.closed == {rdb: "snapshot_failed (killed)", main: "snapshot_failed (killed)"}
    assert bench.roster.sessions == {}


def test_silence_after_the_snapshot_ends_it() -> None:
    bench = Bench(timeout_s=10.0)
    main, rdb = bench.pair()
    bench.tick_to(30.0, main)
    assert bench.closed == {}, "while the child writes the main connection may be silent"
    bench.roster.snapshot_ended(True, 30.0)
    bench.look(rdb)
    bench.say(main, "")
    bench.tick_to(39.9, main)
    assert main not in bench.closed
    bench.tick_to(40.0, main)
    assert bench.closed[main] == "timeout (first_ack)"


def test_a_slow_main_connection_is_cut() -> None:
    bench = Bench(hard_limit_bytes=2000)
    main, rdb = bench.pair()
    bench.backlog.append(b"x" * 3000)
    bench.roster.check_output_buffers(1.0)
    bench.look(main, rdb)
    assert bench.closed[main].startswith("output_buffer") and bench.closed[rdb] == "connection_lost (main_channel)"
    bench.main()
    assert bench.roster.counters.full_by_cause[Cause.OUTPUT_BUFFER] == 1


def test_the_stream_is_kept_until_the_main_connection_asks() -> None:
    bench = Bench(redis=False, rdb_channel_grace_s=60.0)
    rdb = bench.valkey_rdb()
    bench.backlog.append(b"x" * 5000)
    bench.roster.snapshot_ended(True, 10.0)
    bench.look(rdb)
    assert bench.roster.waiting_psync == 1 and bench.roster.next_deadline() == 70.0
    assert bench.roster.no_replicas_since is None
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    assert bench.say(main, f"PSYNC {B} 1") == f"+CONTINUE {B}|"
    assert main.next_deadline() == 60.0, "its snapshot is out: it has to give signs"
    assert bench.roster.waiting_psync == 0 and bench.backlog.held_bytes == 5000


def test_nobody_asks_for_the_stream() -> None:
    bench = Bench(redis=False, rdb_channel_grace_s=60.0)
    rdb = bench.valkey_rdb()
    bench.backlog.append(b"x" * 5000)
    bench.roster.snapshot_ended(True, 10.0)
    bench.look(rdb)
    bench.tick_to(70.0)
    (over,) = bench.of(PsyncWaitOver)
    assert isinstance(over, PsyncWaitOver) and (over.session_id, str(over.reason)) == (rdb.id, "timeout (psync)")
    assert bench.roster.waiting_psync == 0 and bench.backlog.held_bytes == 1000
    assert bench.roster.no_replicas_since == 70.0
    main = bench.connect()
    assert bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}").startswith("-ERR Unrecognized")


def test_what_is_kept_has_the_limits_of_an_output_buffer() -> None:
    bench = Bench(redis=False, hard_limit_bytes=2000)
    rdb = bench.valkey_rdb()
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    bench.backlog.append(b"x" * 3000)
    bench.roster.check_output_buffers(1.0)
    bench.look(main, rdb)
    assert set(bench.closed) == {main, rdb} and all(why.startswith("output_buffer") for why in bench.closed.values())
    assert bench.backlog.held_bytes == 1000 and len(bench.of(PsyncWaitOver)) == 1


def test_a_main_connection_that_goes_before_it_asked() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    bench.roster.remove(main, 1.0)
    bench.look(rdb)
    assert bench.closed == {rdb: "connection_lost (main_channel)"} and bench.roster.waiting_psync == 0
    assert bench.backlog.lowest_pin is None and bench.of(StopSnapshot) == [StopSnapshot()]


@pytest.mark.parametrize("ok", [True, False])
def test_valkeys_rdb_connection_goes_while_the_child_writes(ok: bool) -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    bench.roster.remove(rdb, 1.0)
    bench.look(main)
    assert bench.closed == {} and bench.roster.waiting_psync == 1
    bench.roster.snapshot_ended(ok, 2.0)
    bench.look(main)
    assert bench.closed == ({} if ok else {main: "connection_lost (rdb_channel)"})
    assert bench.roster.waiting_psync == ok
    if ok:
        assert bench.say(main, f"PSYNC {B} 1") == f"+CONTINUE {B}|"


def test_it_goes_and_the_main_connection_asks_before_the_child_ends() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    bench.roster.remove(rdb, 1.0)
    assert bench.say(main, f"PSYNC {B} 1") == f"+CONTINUE {B}|"
    bench.roster.snapshot_ended(True, 2.0, failed=[rdb.id])
    bench.look(main)
    assert bench.closed == {main: "connection_lost (rdb_channel)"}


def test_a_main_connection_that_cannot_be_continued() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    main = bench.connect()
    bench.say(main, f"REPLCONF set-rdb-client-id {rdb.id}")
    assert bench.say(main, f"PSYNC {A} 1") == ""
    bench.look(main, rdb)
    assert bench.closed == {main: "id_mismatch", rdb: "connection_lost (main_channel)"}
    assert bench.roster.waiting_psync == 0


def test_another_stream_ends_all() -> None:
    bench = Bench()
    main, rdb = bench.pair()
    plain = bench.connect()
    bench.say(plain, f"PSYNC {B} 1")
    bench.roster.close_all(Reason(Cause.STOPPED, detail="promoted"), "new name", 1.0)
    assert bench.roster.sessions == {} and bench.roster.rdb_channels == {} and bench.backlog.lowest_pin is None
    bench.look(main, rdb, plain)
    assert set(bench.closed.values()) == {"stopped (promoted)"}


def test_another_stream_forgets_what_was_kept() -> None:
    bench = Bench(redis=False)
    rdb = bench.valkey_rdb()
    bench.roster.snapshot_ended(True, 1.0)
    bench.look(rdb)
    bench.roster.close_all(Reason(Cause.STOPPED, detail="promoted"), "new name", 2.0)
    assert bench.roster.waiting_psync == 0 and bench.backlog.lowest_pin is None
    assert bench.roster.no_replicas_since == 2.0
