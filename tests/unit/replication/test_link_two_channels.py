"""A link whose snapshot comes on a second connection: both dialects, each move, losses in every phase, the buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import (
    Apply,
    CatchUpBegins,
    CloseRdbChannel,
    Connect,
    Disconnect,
    FullResyncAnnounced,
    FullResyncBegins,
    LinkEvent,
    LinkState,
    LinkUp,
    Lost,
    OpenRdbChannel,
    SnapshotBytes,
    SnapshotEnds,
    StateChanged,
    SyncBufferFull,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Request
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
MARK = b"0123456789" * 4
SET = encode_command([b"SET", b"k", b"v"])
REDIS, VALKEY = "redis", "valkey"
E = TypeVar("E", bound=LinkEvent)


class Bench:
    """A link that offers one dialect (or both), and what it says on either connection."""

    def __init__(self, dialect: str = REDIS, position: Request = ASK_FOR_ALL, **options: int) -> None:
        self.dialect = dialect
        self.options = LinkOptions(
            Introduction(listening_port=6380),
            60.0,
            rdb_channel=dialect == REDIS,
            dual_channel=dialect == VALKEY,
            **options,
        )
        self.use = BufferUse()
        self.link = Link("master", 6379, self.options, position, lambda: 0.5, self.use)
        self.now = 1000.0
        self.seen: list[LinkEvent] = []
        self.applied = b""

    def look(self) -> None:
        """As the shell does: Apply events are carried out in their order."""
        for event in self.link.events():
            self.seen.append(event)
            if isinstance(event, Apply) and self.link.may_apply:
                self.applied += event.raw
                self.link.applied(event.end)

    def of(self, kind: type[E]) -> list[E]:
        self.look()
        return [event for event in self.seen if isinstance(event, kind)]

    def receive(self, data: bytes) -> None:
        self.link.receive(data, self.now)
        self.look()

    def rdb(self, data: bytes) -> None:
        self.link.rdb_receive(data, self.now)
        self.look()

    def said(self) -> list[str]:
        return _words(self.link.data_to_send())

    def rdb_said(self) -> list[str]:
        return _words(self.link.rdb_data_to_send())

    def tick(self) -> None:
        self.link.tick(self.now)
        self.look()

    def drain(self) -> int:
        """Ticks as a loop does as long as something is due at once; how many it took."""
        ticks = 0
        while (at := self.link.next_deadline()) is not None and at <= self.now and self.link.may_apply:
            self.tick()
            ticks += 1
            assert ticks < 10_000
        return ticks

    # ------------------------------------------------------------------ phases, each with what comes before it

    def asked(self) -> None:
        """PSYNC is out."""
        self.link.start(self.now)
        self.link.connected(self.now)
        self.receive(b"+PONG\r\n+OK\r\n+OK\r\n")

    def sent_away(self) -> None:
        """The second connection is to be opened."""
        self.asked()
        self.said()
        self.receive(b"+RDBCHANNELSYNC 7\r\n" if self.dialect == REDIS else b"+DUALCHANNELSYNC\r\n")

    def introduced(self) -> None:
        """It stands, and waits for the snapshot."""
        self.sent_away()
        self.link.rdb_connected(self.now)
        self.rdb(b"+OK\r\n")

    def announced(self) -> None:
        """The cut is known: 100."""
        self.introduced()
        redis = b"+FULLRESYNC " + A.encode() + b" 100\r\n"
        self.rdb(redis if self.dialect == REDIS else b"$ENDOFF:100 " + A.encode() + b" 0 9\r\n")

    def begun(self) -> None:
        """The snapshot comes; the stream may."""
        self.announced()
        self.rdb(encode_mark_header(MARK) + b"SNAP")
        if self.dialect == VALKEY:
            self.receive(b"+OK\r\n+CONTINUE " + A.encode() + b"\r\n")

    def whole(self) -> None:
        """The snapshot is whole and being loaded."""
        self.begun()
        self.rdb(b"SHOT" + MARK)

    def catching_up(self) -> None:
        """It is loaded, four commands are buffered, nothing of them is applied."""
        self.whole()
        self.receive(SET * 4)
        self.link.loaded(self.now)
        self.look()

    def up(self) -> None:
        self.catching_up()
        self.drain()


PHASES: list[Callable[[Bench], None]] = [
    Bench.sent_away,
    Bench.introduced,
    Bench.announced,
    Bench.begun,
    Bench.whole,
    Bench.catching_up,
]
WHILE_IT_COMES = PHASES[:4]


def _words(pieces: list[bytes]) -> list[str]:
    data = b"".join(pieces)
    return [b" ".join(argv).decode() for argv in Parser().feed(data).commands] or ([repr(data)] if data else [])


both = pytest.mark.parametrize("dialect", [REDIS, VALKEY])


def test_redis_from_psync_to_the_stream() -> None:
    bench = Bench(REDIS)
    bench.asked()
    assert "REPLCONF capa eof capa psync2 capa rdb-channel-repl" in bench.said()
    bench.receive(b"+RDBCHANNELSYNC 7\r\n")
    assert bench.of(OpenRdbChannel) == [OpenRdbChannel("master", 6379, "redis")]
    assert bench.link.role_state == "sync" and bench.rdb_said() == []
    bench.link.rdb_connected(bench.now)
    words = "REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id 7 listening-port 6380"
    assert bench.rdb_said() == [words]
    bench.rdb(b"+OK\r\n")
    assert bench.rdb_said() == ["PSYNC ? -1"]
    bench.rdb(b"\n\n+FULLRESYNC " + A.encode() + b" 100\r\n")
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
    assert states == ["connecting", "handshake", "transfer", "loading", "catching_up", "connected"]


def test_valkey_from_psync_to_the_stream() -> None:
    bench = Bench(VALKEY)
    bench.asked()
    assert "REPLCONF capa eof capa psync2 capa dual-channel" in bench.said()
    bench.receive(b"+DUALCHANNELSYNC\r\n")
    assert bench.of(OpenRdbChannel) == [OpenRdbChannel("master", 6379, "valkey")]
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
        bench.options.rdb_channel = bench.options.dual_channel = True
        bench.asked()
        assert "REPLCONF capa eof capa psync2 capa rdb-channel-repl capa dual-channel" in bench.said()
        bench.receive(answer)
        assert bench.of(OpenRdbChannel)[0].dialect == dialect


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
    assert lost.state is LinkState.TRANSFER and bench.link.state is LinkState.WAITING
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
def test_the_buffer_has_a_limit_that_is_no_failure(dialect: str) -> None:
    bench = Bench(dialect, sync_buffer_limit_bytes=3 * len(SET), slice_bytes=len(SET))
    bench.begun()
    bench.receive(SET * 2)
    assert bench.link.wants_data and bench.of(SyncBufferFull) == []
    bench.receive(SET * 2)
    assert not bench.link.wants_data and bench.of(SyncBufferFull) == [SyncBufferFull(3 * len(SET))]
    bench.rdb(MARK)
    assert not bench.link.wants_data
    bench.now += 1000.0
    bench.tick()
    assert bench.of(Lost) == [], "loading takes its time"
    bench.link.loaded(bench.now)
    bench.look()
    assert not bench.link.wants_data
    bench.tick()
    bench.tick()
    assert bench.link.wants_data and bench.link.sync_buffer_bytes == 2 * len(SET)
    bench.receive(SET)
    bench.drain()
    assert bench.applied == SET * 5 and bench.link.is_up
    assert (bench.use.size_bytes, bench.use.peak_bytes) == (0, 4 * len(SET))


@both
def test_slices_are_bounded_and_one_a_tick(dialect: str) -> None:
    bench = Bench(dialect, slice_bytes=2 * len(SET) + 5)
    bench.whole()
    bench.receive(SET * 20)
    bench.link.loaded(bench.now)
    bench.look()
    assert bench.applied == b""
    for tick in range(1, 4):
        bench.tick()
        assert len(bench.applied) == tick * (2 * len(SET) + 5) // len(SET) * len(SET)
    bench.receive(SET)
    assert len(bench.applied) == 6 * len(SET), "what comes now queues behind"
    bench.drain()
    assert bench.applied == SET * 21


@both
def test_no_slice_before_the_last_one_is_applied(dialect: str) -> None:
    bench = Bench(dialect, slice_bytes=len(SET))
    bench.catching_up()
    bench.link.tick(bench.now)
    first = [event for event in bench.link.events() if isinstance(event, Apply)]
    assert len(first) == 1
    deadline = bench.link.next_deadline()
    assert deadline is not None and deadline > bench.now
    bench.link.tick(bench.now)
    assert bench.link.events() == []
    bench.link.applied(first[0].end)
    assert bench.link.next_deadline() == bench.now


@both
def test_acks_state_what_is_applied(dialect: str) -> None:
    bench = Bench(dialect, slice_bytes=len(SET))
    bench.whole()
    getack = encode_command([b"REPLCONF", b"GETACK", b"*"])
    bench.receive(SET * 2 + getack + SET)
    bench.said()
    bench.link.loaded(bench.now)
    assert bench.said() == ["REPLCONF ACK 100"]
    bench.tick()
    bench.now += 1.0
    bench.tick()
    assert f"REPLCONF ACK {100 + len(SET)}" in bench.said()
    bench.drain()
    assert bench.said() == [f"REPLCONF ACK {100 + 2 * len(SET) + len(getack)}", f"REPLCONF ACK {bench.link.held}"]


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


@both
def test_a_broken_stream_is_found_when_it_is_applied(dialect: str) -> None:
    bench = Bench(dialect)
    bench.whole()
    bench.receive(SET + b"FLUSHALL\r\n")
    bench.link.loaded(bench.now)
    bench.drain()
    (lost,) = bench.of(Lost)
    assert lost.reason.cause is Cause.PROTOCOL and "at offset 127" in lost.text and len(bench.of(Disconnect)) == 1


@both
def test_a_command_that_cannot_be_applied(dialect: str) -> None:
    bench = Bench(dialect)
    bench.catching_up()
    bench.link.apply_failed("unknown_command", bench.now)
    assert bench.of(Lost)[0].reason.cause is Cause.APPLY_FAILED and bench.link.position == Request(A, 100)
    assert bench.use.size_bytes == 0


@both
def test_a_transaction_cut_by_a_slice_is_applied_whole(dialect: str) -> None:
    bench = Bench(dialect, slice_bytes=20)
    bench.whole()
    unit = encode_command([b"MULTI"]) + SET + SET + encode_command([b"EXEC"])
    bench.receive(SET + unit + encode_command([b"MULTI"]) + SET)
    bench.link.loaded(bench.now)
    bench.drain()
    assert bench.applied == SET + unit and bench.link.is_up
    assert all(apply.raw.count(b"MULTI") == apply.raw.count(b"EXEC") for apply in bench.of(Apply))


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
