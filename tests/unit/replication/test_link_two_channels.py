"""A link whose snapshot comes on a second connection: both dialects, each move, losses in every phase."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.dialects import DIALECTS, REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL
from pyrepl.replication.events import (
    CatchUpBegins,
    CloseRdbChannel,
    Connect,
    Disconnect,
    FullResyncAnnounced,
    FullResyncBegins,
    LinkState,
    LinkUp,
    Lost,
    OpenRdbChannel,
    SnapshotBytes,
    SnapshotEnds,
    StateChanged,
)
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Request
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.units import Offset
from tests.unit.replication.two_channels_bench import (
    MARK,
    PHASES,
    REDIS,
    SET,
    VALKEY,
    WHILE_IT_COMES,
    A,
    B,
    Bench,
    both,
)


def test_redis_from_psync_to_the_stream() -> None:
    bench = Bench(REDIS)
    bench.asked()
    assert "REPLCONF capa eof capa psync2 capa rdb-channel-repl" in bench.said()
    bench.receive(b"+RDBCHANNELSYNC 7\r\n")
    assert bench.of(OpenRdbChannel) == [OpenRdbChannel("master", 6379, REDIS_RDB_CHANNEL)]
    assert bench.link.role_state == "handshake" and bench.rdb_said() == []
    bench.link.rdb_connected(bench.now)
    words = "REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id 7 listening-port 6380"
    assert bench.rdb_said() == [words]
    bench.rdb(b"+OK\r\n")
    assert bench.rdb_said() == ["PSYNC ? -1"]
    bench.rdb(b"\n\n")
    assert bench.link.role_state == "handshake" and not bench.link.is_syncing, "the master waits with its snapshot"
    bench.rdb(b"+FULLRESYNC " + A.encode() + b" 100\r\n")
    assert bench.link.role_state == "sync" and bench.link.is_syncing
    assert [event.cut for event in bench.of(FullResyncAnnounced)] == [100] and bench.said() == []
    bench.receive(SET)
    bench.rdb(encode_mark_header(MARK) + b"SNAP")
    bench.link.keep_old_data(OldData.STAYS_UNTIL_LOADED)
    bench.rdb(b"SHOT" + MARK)
    assert bench.of(FullResyncBegins)[0].total_bytes is None and bench.of(SnapshotEnds) == [SnapshotEnds(8)]
    assert b"".join(event.data for event in bench.of(SnapshotBytes)) == b"SNAPSHOT"
    bench.receive(SET[:9])
    assert bench.link.sync_buffer_bytes == len(SET) + 9 and bench.link.wants_data
    bench.link.loaded(bench.now)
    assert bench.said() == ["REPLCONF ACK 100"], "the snapshot is applied, nothing of the stream yet"
    assert bench.of(CatchUpBegins) == [CatchUpBegins(len(SET) + 9)] and bench.of(CloseRdbChannel) != []
    assert not bench.link.is_up and bench.link.is_syncing and bench.link.read_offset == 100 + len(SET) + 9
    bench.drain()
    assert bench.link.state is LinkState.CONNECTED and bench.of(LinkUp) == [LinkUp(full=True)]
    assert bench.said() == [f"REPLCONF ACK {100 + len(SET)}"] and bench.link.position == Request(A, 100 + len(SET))
    bench.receive(SET[9:] + SET)
    assert bench.applied == SET * 3 and bench.link.read_offset == 100 + 3 * len(SET)
    states = [change.state.value for change in bench.of(StateChanged)]
    assert states == ["connecting", "handshake", "pairing", "transfer", "loading", "catching_up", "connected"]


def test_valkey_from_psync_to_the_stream() -> None:
    bench = Bench(VALKEY)
    bench.asked()
    assert "REPLCONF capa eof capa psync2 capa dual-channel" in bench.said()
    bench.receive(b"+DUALCHANNELSYNC\r\n")
    assert bench.of(OpenRdbChannel) == [OpenRdbChannel("master", 6379, VALKEY_DUAL_CHANNEL)]
    bench.link.rdb_connected(bench.now)
    assert bench.rdb_said() == ["REPLCONF capa eof rdb-only 1 rdb-channel 1 listening-port 6380"]
    bench.rdb(b"+OK\r\n")
    assert bench.link.rdb_data_to_send() == [b"SYNC\r\n"]
    bench.rdb(b"$ENDOFF:100 " + A.encode() + b" 0 9\r\n")
    assert bench.said() == ["REPLCONF set-rdb-client-id 9"]
    bench.rdb(encode_mark_header(MARK) + b"SNAPSHOT" + MARK)
    assert bench.link.state is LinkState.LOADING
    bench.receive(b"+OK\r\n")
    assert bench.said() == [f"PSYNC {A} 101"]
    bench.receive(b"+CONTINUE " + A.encode() + b"\r\n" + SET)
    assert bench.link.sync_buffer_bytes == len(SET)
    bench.link.loaded(bench.now)
    bench.drain()
    assert bench.link.is_up and bench.applied == SET and bench.said() == ["REPLCONF ACK 100", "REPLCONF ACK 127"]


def test_valkeys_stream_may_come_after_the_load() -> None:
    bench = Bench(VALKEY)
    bench.announced()
    bench.rdb(encode_mark_header(MARK) + MARK)
    bench.said()
    bench.link.loaded(bench.now)
    bench.drain()
    assert bench.link.state is LinkState.CATCHING_UP
    bench.now += 1.0
    bench.tick()
    assert set(b"".join(bench.link.data_to_send())) == {0x0A}, "no ACK before the master has us as a replica"
    bench.receive(b"+OK\r\n+CONTINUE\r\n" + SET)
    assert "REPLCONF ACK 100" in bench.said()
    bench.drain()
    assert bench.link.is_up and bench.applied == SET


def test_both_ways_are_offered_and_either_followed() -> None:
    for answer, dialect in ((b"+RDBCHANNELSYNC 7\r\n", "redis"), (b"+DUALCHANNELSYNC\r\n", "valkey")):
        bench = Bench()
        bench.options.dialects = frozenset(DIALECTS)
        bench.asked()
        assert "REPLCONF capa eof capa psync2 capa rdb-channel-repl capa dual-channel" in bench.said()
        bench.receive(answer)
        assert bench.of(OpenRdbChannel)[0].dialect.name == dialect


@pytest.mark.parametrize("answer", [b"+RDBCHANNELSYNC 7\r\n", b"+DUALCHANNELSYNC\r\n"])
def test_what_was_not_offered_is_refused(answer: bytes) -> None:
    bench = Bench("neither")
    bench.asked()
    bench.receive(answer)
    assert bench.of(Lost)[0].reason.cause is Cause.PROTOCOL and bench.of(OpenRdbChannel) == []


@both
def test_one_connection_if_the_master_says_so(dialect: str) -> None:
    bench = Bench(dialect)
    bench.asked()
    bench.receive(b"+FULLRESYNC " + A.encode() + b" 100\r\n$4\r\nSNAP")
    assert bench.link.state is LinkState.LOADING and not bench.link.uses_two_channels and not bench.link.wants_data
    bench.link.loaded(bench.now)
    assert bench.link.is_up


@both
@pytest.mark.parametrize("phase", WHILE_IT_COMES)
@pytest.mark.parametrize("which", ["main", "rdb"])
def test_the_loss_of_either_connection_ends_both(dialect: str, phase: Callable[[Bench], None], which: str) -> None:
    bench = Bench(dialect, Request(B, 57))
    phase(bench)
    if bench.of(FullResyncBegins):
        bench.link.keep_old_data(OldData.STAYS_UNTIL_LOADED)
    if which == "main":
        bench.link.lost(bench.now, "reset")
        assert len(bench.of(CloseRdbChannel)) == 1 and bench.of(Disconnect) == []
    else:
        bench.link.rdb_lost(bench.now, "reset")
        assert bench.of(CloseRdbChannel) == [] and len(bench.of(Disconnect)) == 1
    (lost,) = bench.of(Lost)
    waits = phase in (Bench.sent_away, Bench.introduced)
    assert lost.state is (LinkState.PAIRING if waits else LinkState.TRANSFER)
    assert bench.link.state is LinkState.WAITING
    cause = Cause.CONNECT_FAILED if which == "rdb" and phase is Bench.sent_away else Cause.CONNECTION_LOST
    assert lost.reason.cause is cause and bench.link.position == Request(B, 57)
    assert bench.use.size_bytes == 0 and bench.said() == [] and bench.rdb_said() == []
    bench.now = bench.link.next_deadline() or 0.0
    bench.tick()
    assert len(bench.of(Connect)) == 2


@both
@pytest.mark.parametrize("promise", list(OldData))
def test_the_position_goes_with_the_old_data(dialect: str, promise: OldData) -> None:
    bench = Bench(dialect, Request(B, 57))
    bench.begun()
    bench.link.keep_old_data(promise)
    bench.link.rdb_lost(bench.now, "reset")
    gone = promise is OldData.GOES_AT_FIRST_BYTE
    assert bench.link.position == (ASK_FOR_ALL if gone else Request(B, 57))


@both
def test_the_second_connection_is_not_missed_once_the_snapshot_is_whole(dialect: str) -> None:
    bench = Bench(dialect)
    bench.whole()
    bench.link.rdb_lost(bench.now, "closed by the master")
    bench.link.loaded(bench.now)
    bench.drain()
    assert bench.link.is_up and bench.of(Lost) == [] and bench.of(CloseRdbChannel) == []


@both
@pytest.mark.parametrize("when", ["loading", "catching_up"])
def test_what_is_held_is_applied_though_the_master_is_gone(dialect: str, when: str) -> None:
    bench = Bench(dialect, slice_bytes=30)
    if when == "loading":
        bench.whole()
        bench.receive(SET * 4)
        bench.link.lost(bench.now, "reset")
        assert bench.of(Lost) == []
        bench.link.loaded(bench.now)
    else:
        bench.catching_up()
        bench.tick()
        bench.link.lost(bench.now, "reset")
    bench.said()
    bench.receive(b"nothing of this")
    bench.drain()
    (lost,) = bench.of(Lost)
    assert lost.state is LinkState.CATCHING_UP and lost.reason.cause is Cause.CONNECTION_LOST
    assert bench.applied == SET * 4 and bench.link.position == Request(A, 100 + 4 * len(SET))
    assert bench.of(LinkUp) == [] and bench.of(Disconnect) == [] and bench.said() == []


@both
@pytest.mark.parametrize("phase", PHASES)
def test_stop_in_any_phase_closes_what_is_open(dialect: str, phase: Callable[[Bench], None]) -> None:
    bench = Bench(dialect)
    phase(bench)
    bench.link.stop(bench.now)
    assert len(bench.of(CloseRdbChannel)) == 1 and len(bench.of(Disconnect)) == 1
    assert bench.link.state is LinkState.IDLE and bench.use.size_bytes == 0


@both
@pytest.mark.parametrize("phase", [Bench.begun, Bench.whole])
def test_a_snapshot_that_cannot_be_loaded_ends_both(dialect: str, phase: Callable[[Bench], None]) -> None:
    bench = Bench(dialect)
    phase(bench)
    bench.link.load_failed("corrupt", bench.now)
    assert bench.of(Lost)[0].reason.cause is Cause.LOAD_FAILED
    assert len(bench.of(CloseRdbChannel)) == 1 and len(bench.of(Disconnect)) == 1


@both
def test_signs_of_life_on_the_main_connection(dialect: str) -> None:
    bench = Bench(dialect)
    bench.begun()
    bench.said()
    bench.rdb_said()
    for _ in range(2):
        bench.now += 1.0
        bench.tick()
    assert b"".join(bench.link.data_to_send()) == b"\n\n" and bench.rdb_said() == []


@both
@pytest.mark.parametrize(
    "phase, where",
    [
        (Bench.sent_away, "rdb_channel:connecting"),
        (Bench.introduced, "rdb_channel:waiting_for_snapshot"),
        (Bench.begun, "rdb_channel:transfer"),
    ],
)
def test_silence_on_the_second_connection(dialect: str, phase: Callable[[Bench], None], where: str) -> None:
    bench = Bench(dialect)
    phase(bench)
    bench.now += 59.0
    bench.link.receive(b"" if dialect == VALKEY and phase is not Bench.begun else SET, bench.now)
    bench.tick()
    assert bench.of(Lost) == []
    bench.now += 1.0
    bench.tick()
    (lost,) = bench.of(Lost)
    assert lost.reason.cause is Cause.TIMEOUT and lost.reason.detail == where
    assert len(bench.of(CloseRdbChannel)) == 1 and len(bench.of(Disconnect)) == 1


@both
def test_silence_on_the_first_one_is_no_fault_while_the_snapshot_comes(dialect: str) -> None:
    bench = Bench(dialect)
    bench.begun()
    for _ in range(10):
        bench.now += 50.0
        bench.rdb(b"x")
        bench.tick()
    assert bench.of(Lost) == []


def test_a_master_that_never_continues() -> None:
    bench = Bench(VALKEY)
    bench.announced()
    bench.rdb(encode_mark_header(MARK) + MARK)
    bench.link.loaded(bench.now)
    bench.now += 60.0
    bench.tick()
    (lost,) = bench.of(Lost)
    assert lost.reason.cause is Cause.TIMEOUT and lost.state is LinkState.CATCHING_UP
    assert bench.link.position == Request(A, Offset(100))


@pytest.mark.parametrize("after_the_snapshot", [False, True])
def test_a_refusal_on_the_main_connection(after_the_snapshot: bool) -> None:
    bench = Bench(VALKEY)
    bench.announced()
    if after_the_snapshot:
        bench.rdb(encode_mark_header(MARK) + MARK)
    bench.receive(b"-ERR Unrecognized RDB client id 9\r\n")
    assert len(bench.of(Disconnect)) == 1
    if after_the_snapshot:
        assert bench.of(Lost) == [], "the snapshot is whole, and will do"
        bench.link.loaded(bench.now)
        bench.drain()
        assert bench.link.position == Request(A, 100)
    (lost,) = bench.of(Lost)
    assert lost.reason.cause is Cause.REFUSED and lost.reason.detail == "main_channel:pairing"


@both
def test_a_refusal_on_the_second_connection(dialect: str) -> None:
    bench = Bench(dialect)
    bench.sent_away()
    bench.link.rdb_connected(bench.now)
    bench.rdb(b"-ERR Unrecognized RDB client id: 7\r\n")
    (lost,) = bench.of(Lost)
    assert lost.reason.cause is Cause.REFUSED and "Unrecognized" in lost.text


@both
@pytest.mark.parametrize("data", [b":1\r\n", b"$4\r\nSNAP"])
def test_nonsense_on_the_second_connection(dialect: str, data: bytes) -> None:
    bench = Bench(dialect)
    bench.introduced()
    bench.rdb(data)
    assert bench.of(Lost)[0].reason.cause is Cause.PROTOCOL and len(bench.of(Disconnect)) == 1


@both
def test_bytes_behind_the_snapshot(dialect: str) -> None:
    bench = Bench(dialect)
    bench.begun()
    bench.rdb(MARK + b"more")
    assert "behind the snapshot" in bench.of(Lost)[0].text


def test_calls_that_nobody_awaits() -> None:
    bench = Bench()
    bench.link.start(bench.now)
    with pytest.raises(PeerError, match="no second connection is expected"):
        bench.link.rdb_connected(bench.now)
    bench.link.rdb_receive(b"x", bench.now)
    bench.link.rdb_lost(bench.now, "x")
    assert bench.link.rdb_data_to_send() == [] and bench.of(Lost) == []


@both
def test_the_next_sync_starts_afresh(dialect: str) -> None:
    bench = Bench(dialect)
    bench.begun()
    bench.receive(SET * 3)
    bench.link.lost(bench.now, "reset")
    bench.now = bench.link.next_deadline() or 0.0
    bench.tick()
    bench.link.connected(bench.now)
    bench.receive(b"+PONG\r\n+OK\r\n+OK\r\n+CONTINUE\r\n")
    assert bench.of(Lost)[-1].reason.cause is Cause.PROTOCOL, "we asked for all"
    bench.now = bench.link.next_deadline() or 0.0
    bench.tick()
    bench.link.connected(bench.now)
    bench.receive(
        b"+PONG\r\n+OK\r\n+OK\r\n" + (b"+RDBCHANNELSYNC 8\r\n" if dialect == REDIS else b"+DUALCHANNELSYNC\r\n")
    )
    assert len(bench.of(OpenRdbChannel)) == 2 and bench.link.sync_buffer_bytes == 0
