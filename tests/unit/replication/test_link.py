"""The replica's machine: straight path, losses in every phase, what is asked for afterwards, signs of life."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import (
    Apply,
    Connect,
    Continued,
    Disconnect,
    FullResyncAnnounced,
    FullResyncBegins,
    LinkEvent,
    LinkState,
    LinkUp,
    Lost,
    SnapshotBytes,
    SnapshotEnds,
    TryAgain,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Request
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
SET = encode_command([b"SET", b"k", b"v"])
GETACK = encode_command([b"REPLCONF", b"GETACK", b"*"])
FULL = b"+FULLRESYNC " + A.encode() + b" 100\r\n"
E = TypeVar("E", bound=LinkEvent)


def ack(cut: int) -> bytes:
    return encode_command([b"REPLCONF", b"ACK", b"%d" % cut])


class Bench:
    """A link with what it said and did; time stands still unless a test moves `now`."""

    def __init__(self, position: Request = ASK_FOR_ALL, timeout_s: float = 60.0) -> None:
        options = LinkOptions(Introduction(listening_port=6380), timeout_s)
        self.link = Link("master.example", 6379, options, position, lambda: 0.5)
        self.now = 1000.0
        self.seen: list[LinkEvent] = []

    def events(self) -> list[LinkEvent]:
        new = self.link.events()
        self.seen.extend(new)
        return new

    def of(self, kind: type[E]) -> list[E]:
        self.events()
        return [event for event in self.seen if isinstance(event, kind)]

    def sent(self) -> bytes:
        return b"".join(self.link.data_to_send())

    def receive(self, data: bytes) -> None:
        self.link.receive(data, self.now)

    def handshake(self) -> bytes:
        """Up to the PSYNC, whose words come back."""
        self.link.start(self.now)
        return self.shake()

    def shake(self) -> bytes:
        self.link.connected(self.now)
        self.receive(b"+PONG\r\n+OK\r\n+OK\r\n")
        return self.sent()[-80:].rpartition(b"PSYNC")[2]

    def up(self) -> None:
        """Through a full resync at cut 100."""
        self.handshake()
        self.receive(FULL + b"$3\r\nRDB")
        self.link.loaded(self.now)
        self.events()
        self.sent()

    def tick_to(self, now: float) -> None:
        self.now = now
        self.link.tick(now)


def test_the_straight_path() -> None:
    bench = Bench()
    link = bench.link
    assert link.role_state == "none"
    link.start(bench.now)
    assert bench.of(Connect) == [Connect("master.example", 6379)]
    assert link.role_state == "connecting"
    link.connected(bench.now)
    assert link.role_state == "handshake" and not link.is_up
    bench.receive(b"+PONG\r\n+OK\r\n+OK\r\n")
    bench.receive(FULL)
    assert link.role_state == "sync" and link.is_syncing
    assert bench.of(FullResyncAnnounced)[0].cut == 100
    bench.receive(b"\n$3\r\nRD")
    assert bench.of(FullResyncBegins)[0].total_bytes == 3
    assert link.progress.transfer is not None and link.progress.transfer.left_bytes == 1
    bench.receive(b"B")
    assert b"".join(event.data for event in bench.of(SnapshotBytes)) == b"RDB"
    assert bench.of(SnapshotEnds) == [SnapshotEnds(3)]
    assert link.state is LinkState.LOADING and not link.wants_data
    bench.sent()
    link.loaded(bench.now)
    assert link.is_up and link.wants_data and link.role_state == "connected"
    assert bench.of(LinkUp) == [LinkUp(full=True)]
    assert bench.sent() == ack(100)
    bench.receive(SET)
    assert bench.of(Apply)[0].start == 100
    assert link.read_offset == 100 + len(SET) and link.held == 100
    link.applied(100 + len(SET))
    assert link.held == 100 + len(SET)


def test_stream_bytes_right_behind_the_snapshot_wait_for_the_load() -> None:
    bench = Bench()
    bench.handshake()
    bench.receive(FULL + encode_mark_header(b"m" * 40) + b"RDB" + b"m" * 40 + SET + SET[:5])
    assert bench.of(Apply) == []
    bench.link.loaded(bench.now)
    assert bench.of(Apply)[0].raw == SET
    bench.receive(SET[5:])
    assert [apply.start for apply in bench.of(Apply)] == [100, 100 + len(SET)]


def test_nothing_is_taken_back_before_there_is_a_stream() -> None:
    bench = Bench()
    assert bench.link.take_back() is None
    bench.up()
    cut = bench.link.read_offset or 0
    bench.link.receive(SET, bench.now, SET[:7])
    assert bench.link.read_offset == cut + len(SET) + 7
    kept = bench.link.take_back() or b""
    bench.receive(kept + SET[7:])
    assert [apply.raw for apply in bench.of(Apply)] == [SET, SET]


def test_only_applied_bytes_are_acknowledged_each_second() -> None:
    bench = Bench()
    bench.up()
    bench.receive(SET + SET)
    bench.tick_to(bench.now + 1.0)
    assert bench.sent() == ack(100)
    bench.link.applied(100 + len(SET))
    bench.tick_to(bench.now + 0.5)
    assert bench.sent() == b""
    bench.tick_to(bench.now + 0.5)
    assert bench.sent() == ack(100 + len(SET))


def test_getack_is_answered_once_applied_and_counts() -> None:
    bench = Bench()
    bench.up()
    bench.receive(SET + GETACK + SET)
    bench.link.applied(100 + len(SET))
    assert bench.sent() == b""
    bench.link.applied(100 + len(SET + GETACK + SET))
    assert bench.sent() == ack(100 + len(SET + GETACK + SET))


def test_newlines_while_receiving_and_loading() -> None:
    bench = Bench()
    bench.handshake()
    bench.receive(FULL + b"$3\r\nR")
    bench.sent()
    bench.tick_to(bench.now + 1.0)
    assert bench.sent() == b"\n"
    bench.receive(b"DB")
    bench.tick_to(bench.now + 0.5)
    assert bench.sent() == b""
    for _ in range(100):
        bench.tick_to(bench.now + 1.0)
        assert bench.sent() == b"\n", "loading has no timeout"


def test_after_a_loss_the_rest_is_asked_for_at_once() -> None:
    bench = Bench()
    bench.up()
    bench.receive(SET)
    bench.link.applied(100 + len(SET))
    bench.link.lost(bench.now, "connection reset")
    lost = bench.of(Lost)[0]
    assert (lost.reason.cause, lost.state, lost.text) == (
        Cause.CONNECTION_LOST,
        LinkState.CONNECTED,
        "connection reset",
    )
    assert bench.of(TryAgain)[-1].in_s == 0.0
    bench.tick_to(bench.now)
    assert len(bench.of(Connect)) == 2
    assert bench.shake().split() == [b"$40", A.encode(), b"$3", b"%d" % (101 + len(SET))]
    bench.receive(b"+CONTINUE\r\n" + SET)
    assert bench.of(Continued)[0].held == 100 + len(SET)
    assert bench.of(Apply)[-1].start == 100 + len(SET)
    assert bench.link.progress.total_sync_attempts == 2


def test_half_a_transaction_is_asked_for_again() -> None:
    bench = Bench()
    bench.up()
    bench.receive(encode_command([b"MULTI"]) + SET)
    assert bench.of(Apply) == [] and bench.link.read_offset == 100 + len(SET) + 15
    bench.link.lost(bench.now, "")
    assert bench.link.position == Request(A, 100)


def test_a_new_name_is_taken_over() -> None:
    bench = Bench(Request(A, 57))
    assert b"58" in bench.handshake()
    bench.receive(b"+CONTINUE " + B.encode() + b"\r\n")
    continued = bench.of(Continued)[0]
    assert (continued.replid, continued.new_replid, continued.held) == (B, B, 57)
    assert bench.link.position == Request(B, 57)


def test_continue_without_having_asked_for_it() -> None:
    bench = Bench()
    bench.handshake()
    bench.receive(b"+CONTINUE\r\n")
    assert bench.of(Lost)[0].reason.cause is Cause.PROTOCOL


@pytest.mark.parametrize(
    "old_data, whole, position",
    [
        (None, False, ASK_FOR_ALL),
        (None, True, ASK_FOR_ALL),
        (OldData.GOES_AT_FIRST_BYTE, False, ASK_FOR_ALL),
        (OldData.GOES_AT_LAST_BYTE, False, Request(B, 57)),
        (OldData.GOES_AT_LAST_BYTE, True, ASK_FOR_ALL),
        (OldData.STAYS_UNTIL_LOADED, False, Request(B, 57)),
        (OldData.STAYS_UNTIL_LOADED, True, Request(B, 57)),
    ],
)
def test_a_failed_load_leaves_what_the_old_data_allows(
    old_data: OldData | None, whole: bool, position: Request
) -> None:
    bench = Bench(Request(B, 57))
    bench.handshake()
    bench.receive(FULL + (b"$3\r\nRDB" if whole else b"$3\r\nRD"))
    if old_data is not None:
        bench.link.keep_old_data(old_data)
    bench.link.load_failed("rdb_version", bench.now, "Can't handle RDB format version 99")
    assert bench.link.position == position
    lost = bench.of(Lost)[0]
    assert str(lost.reason) == "load_failed (rdb_version)"
    assert bench.of(TryAgain)[0].in_s >= 1.5
    assert bench.of(Disconnect)
    assert "version 99" in bench.link.progress.last_sync_error


def test_a_loss_before_the_snapshot_keeps_the_position() -> None:
    bench = Bench(Request(B, 57))
    bench.handshake()
    bench.receive(FULL + b"\n")
    bench.link.lost(bench.now, "")
    assert bench.link.position == Request(B, 57)


def test_a_loss_while_loading_does_not_spoil_the_snapshot() -> None:
    bench = Bench()
    bench.handshake()
    bench.receive(FULL + b"$3\r\nRDB")
    bench.link.lost(bench.now, "reset")
    assert bench.link.state is LinkState.LOADING and bench.of(Lost) == []
    bench.tick_to(bench.now + 5)
    assert bench.sent() == b""
    bench.link.loaded(bench.now)
    assert bench.of(Lost)[0].reason.cause is Cause.CONNECTION_LOST
    assert bench.of(TryAgain)[0].in_s == 0.0
    assert bench.link.position == Request(A, 100)


@pytest.mark.parametrize(
    "told, phase",
    [
        ("", "connecting"),
        ("c", "handshake:ping"),
        ("c+PONG\r\n", "handshake:listening-port"),
        ("c+PONG\r\n+OK\r\n+OK\r\n", "handshake:psync"),
        ("c+PONG\r\n+OK\r\n+OK\r\n" + FULL.decode(), "waiting_for_snapshot"),
        ("c+PONG\r\n+OK\r\n+OK\r\n" + FULL.decode() + "$3\r\nR", "transfer"),
    ],
)
def test_silence_ends_each_phase_by_its_name(told: str, phase: str) -> None:
    bench = Bench(timeout_s=10)
    bench.link.start(bench.now)
    if told:
        bench.link.connected(bench.now)
        bench.receive(told[1:].encode())
    bench.tick_to(bench.now + 9.9)
    assert bench.of(Lost) == []
    deadline = bench.link.next_deadline()
    assert deadline is not None and deadline <= bench.now + 1.1
    bench.tick_to(bench.now + 0.1)
    assert str(bench.of(Lost)[0].reason) == f"timeout ({phase})"
    assert bench.of(Disconnect)


def test_silence_ends_the_stream() -> None:
    bench = Bench(timeout_s=10)
    bench.up()
    bench.tick_to(bench.now + 10)
    assert str(bench.of(Lost)[0].reason) == "timeout (connected)"
    assert bench.link.position == Request(A, 100)


def test_refusals_back_off() -> None:
    bench = Bench()
    bench.handshake()
    waits = []
    for _ in range(8):
        bench.receive(b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n")
        again = bench.of(TryAgain)[-1]
        waits.append(again.in_s)
        bench.tick_to(again.at)
        bench.shake()
    assert waits == [0.5, 1, 2, 4, 5, 5, 5, 5]
    assert bench.of(Lost)[0].reason.cause is Cause.NOT_READY
    assert bench.link.progress.last_sync_error.startswith("not_ready: NOMASTERLINK")
    assert bench.link.progress.current_sync_attempts == 9


def test_an_operator_can_end_the_wait() -> None:
    bench = Bench()
    bench.handshake()
    bench.receive(FULL + b"$3\r\nRDB")
    bench.link.load_failed("corrupt", bench.now)
    bench.link.hurry(bench.now)
    bench.tick_to(bench.now)
    assert len(bench.of(Connect)) == 2
    bench.link.hurry(bench.now)
    assert bench.link.state is LinkState.CONNECTING


def test_an_unknown_command_stops_the_link_there() -> None:
    bench = Bench()
    bench.up()
    bench.receive(SET + encode_command([b"FROB"]))
    bench.link.applied(100 + len(SET))
    bench.link.apply_failed("unknown_command", bench.now, "unknown command 'FROB'")
    assert bench.link.position == Request(A, 100 + len(SET))
    assert bench.of(TryAgain)[0].in_s >= 1.5
    assert not bench.link.is_up


def test_inline_commands_in_the_stream_break_it() -> None:
    bench = Bench()
    bench.up()
    bench.receive(SET + b"FLUSHALL\r\n")
    assert [apply.raw for apply in bench.of(Apply)] == [SET]
    lost = bench.of(Lost)[0]
    assert lost.reason.cause is Cause.PROTOCOL and f"offset {100 + len(SET)}" in lost.text


def test_stopping_is_for_good() -> None:
    bench = Bench()
    bench.up()
    bench.link.stop(bench.now)
    assert bench.of(Disconnect) and bench.of(Lost)[0].reason.cause is Cause.STOPPED
    assert bench.link.next_deadline() is None
    bench.tick_to(bench.now + 1000)
    bench.link.lost(bench.now, "")
    bench.receive(SET)
    assert len(bench.of(Connect)) == 1 and bench.of(Apply) == []
    assert bench.link.position == Request(A, 100)


def test_wrong_calls_are_refused() -> None:
    bench = Bench()
    calls: list[Callable[[], None]] = [
        lambda: bench.link.connected(0.0),
        lambda: bench.link.loaded(0.0),
        lambda: bench.link.load_failed("x", 0.0),
        lambda: bench.link.applied(5),
        lambda: bench.link.apply_failed("x", 0.0),
    ]
    for call in calls:
        with pytest.raises(PeerError):
            call()
    bench.up()
    for cut in (99, 101):
        with pytest.raises(PeerError, match="applied up to"):
            bench.link.applied(cut)
    with pytest.raises(PeerError):
        bench.link.start(0.0)
    # A refused call changes nothing: the link is up as before, and INFO says so.
    assert bench.link.is_up and bench.link.progress.up_since is not None and bench.link.progress.down_since is None
