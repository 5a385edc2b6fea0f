"""The master's machine for one replica: REPLCONF, the states of a sync, ACKs, limits."""

from __future__ import annotations

import pytest

from pyrepl.replication.backlog import Backlog, Cursor
from pyrepl.replication.dialects import Capability
from pyrepl.replication.events import (
    CloseSession,
    SendFile,
    SessionEvent,
    SessionState,
    SnapshotTarget,
    SyncRequested,
    WentOnline,
)
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Request
from pyrepl.replication.replconf import Exclusion
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.units import Offset, ReplId
from tests.replica_input import hear

A = ReplId("a" * 40)


class Bench:
    """A session and the backlog its cursor points into."""

    def __init__(self, **options: float) -> None:
        self.session = Session(7, "192.0.2.1", SessionOptions(**options), 0.0)  # type: ignore[arg-type]
        self.backlog = Backlog(1000)
        self.backlog.create()
        self.now = 0.0

    def say(self, *lines: str) -> str:
        """The replica says these inline commands; the answer."""
        for line in lines:
            hear(self.session, line.encode() + b"\r\n", self.now)
        return self.sent()

    def sent(self) -> str:
        return b"".join(self.session.data_to_send()).decode()

    def events(self) -> list[SessionEvent]:
        return self.session.events()

    def cursor(self) -> Cursor:
        return self.backlog.attach(Offset(self.backlog.end))

    def syncing(self, target: SnapshotTarget) -> None:
        self.session.wait_for_snapshot(self.now)
        self.session.snapshot_started(target, A, self.cursor(), self.now)

    def online(self) -> None:
        self.session.continued(A, self.cursor(), 0, self.now)
        self.sent()
        self.events()

    def hand_over(self, size: int) -> None:
        """So many bytes of stream go out."""
        self.backlog.append(b"x" * size)
        assert self.session.cursor is not None
        self.session.cursor.advance(size)

    def tick_to(self, now: float) -> str:
        self.now = now
        self.session.tick(now)
        return self.sent()


@pytest.mark.parametrize(
    "line, answer",
    [
        ("REPLCONF listening-port 6380", "+OK"),
        ("replconf LISTENING-PORT 6380 capa eof", "+OK"),
        ("REPLCONF capa nonsense", "+OK"),
        ("REPLCONF", "+OK"),
        ("REPLCONF version 8.0.1", "+OK"),
        ("REPLCONF rdb-only 1", "+OK"),
        ("REPLCONF foo bar", "-ERR Unrecognized REPLCONF option: foo"),
        ("REPLCONF foo", "-ERR syntax error"),
        ("REPLCONF listening-port abc", "-ERR value is not an integer or out of range"),
        ("REPLCONF rdb-only x", "-ERR value is not an integer or out of range"),
        ("REPLCONF rdb-filter-only functions", "+OK"),
        ('REPLCONF rdb-filter-only "functions FUNCTIONS"', "+OK"),
        ('REPLCONF rdb-filter-only ""', "+OK"),
        ('REPLCONF rdb-filter-only "functions data"', "-ERR Unsupported rdb-filter-only option: data"),
        (r'REPLCONF rdb-filter-only "\"x"', "-ERR Missing rdb-filter-only values"),
        (r'REPLCONF "a\r\n+OK" b', "-ERR Unrecognized REPLCONF option: a  +OK"),
        ("REPLCONF rdb-no-compress 1", "+OK"),
        ("REPLCONF rdb-no-compress 2", "-ERR value is out of range, value must between 0 and 1"),
        ("REPLCONF rdb-only 2", "-ERR value is out of range, value must between 0 and 1"),
        (
            "REPLCONF ip-address " + "x" * 300,
            "-ERR REPLCONF ip-address provided by replica instance is too long: 300 bytes",
        ),
        ("PSYNC ? x", "-ERR value is not an integer or out of range"),
        ("PSYNC ?", "-ERR wrong number of arguments for 'psync' command"),
    ],
)
def test_answers_to_the_letter(line: str, answer: str) -> None:
    """Captured from Redis 7.0.15, but for `version`, which is Valkey's, `rdb-filter-only` of Redis 8.2.3, and
    `rdb-no-compress` of Redis 8.6.3."""
    assert Bench().say(line) == answer + "\r\n"


@pytest.mark.parametrize(
    "line", ["REPLCONF ACK 12", "REPLCONF GETACK *", "REPLCONF ACK x", "REPLCONF ACK 1 FACK 2", ""]
)
def test_what_is_never_answered(line: str) -> None:
    assert Bench().say(line) == ""


def test_what_it_said_about_itself() -> None:
    bench = Bench()
    bench.say("REPLCONF listening-port 6380 capa eof capa psync2", "REPLCONF ip-address 10.0.0.9 version 8.0.1")
    session = bench.session
    assert session.address == "10.0.0.9:6380" and session.told.version == "8.0.1"
    assert session.told.capabilities == Capability.EOF | Capability.PSYNC2


def test_the_last_filter_counts() -> None:
    bench = Bench()
    assert not bench.session.needs_socket
    for value, excluded in (
        ("functions", Exclusion.DATA),
        ('""', Exclusion.DATA | Exclusion.FUNCTIONS),
        ("functions", Exclusion.DATA),
        ("nonsense", Exclusion.DATA),
    ):
        bench.say(f"REPLCONF rdb-filter-only {value}")
        assert bench.session.told.excluded == excluded and bench.session.needs_socket


def test_a_pyrepl_has_not_told_its_version() -> None:
    """What it names is the Valkey whose snapshots it reads."""
    bench = Bench()
    bench.say("REPLCONF capa rdb-version-13", "REPLCONF version 9.0.0")
    assert bench.session.told.version == "" and bench.session.told.capabilities == Capability.READS_13


def test_requests_are_decoded() -> None:
    bench = Bench()
    bench.say(f"PSYNC {A} 58")
    assert bench.events() == [SyncRequested(Request(A, 57))]
    bench.say("PSYNC ? -1")
    assert bench.events() == [SyncRequested(ASK_FOR_ALL)]
    bench.say("SYNC")
    assert bench.session.uses_sync


def test_a_disk_snapshot() -> None:
    bench = Bench()
    session = bench.session
    session.wait_for_snapshot(0.0)
    assert session.state.wire_name == "wait_bgsave" and session.is_replica
    assert bench.tick_to(0.5) == ""
    assert bench.tick_to(1.0) == "\n"
    bench.backlog.append(b"before")
    session.snapshot_started(SnapshotTarget.DISK, A, bench.cursor(), 1.0)
    assert bench.sent() == f"+FULLRESYNC {A} 6\r\n"
    assert session.state.wire_name == "wait_bgsave"
    assert bench.tick_to(2.0) == "\n"
    session.snapshot_ready(222, 2.0)
    assert bench.sent() == "$222\r\n" and bench.events() == [SendFile(222)]
    assert session.state.wire_name == "send_bulk" and not session.may_stream
    assert bench.tick_to(9.0) == "", "nothing may be mixed into the file"
    session.file_sent(9.0)
    assert session.may_stream and bench.events() == [WentOnline(full=True)]


def test_a_diskless_snapshot_streams_from_the_first_ack_on() -> None:
    bench = Bench()
    bench.syncing(SnapshotTarget.SOCKETS)
    bench.sent()
    assert bench.tick_to(5.0) == "", "the socket is the child's"
    bench.session.child_done(5.0)
    assert bench.session.state.wire_name == "online" and not bench.session.may_stream
    bench.say("REPLCONF ACK 0")
    assert bench.session.may_stream


def test_a_replica_may_be_faster_than_the_news_of_the_child() -> None:
    bench = Bench()
    bench.syncing(SnapshotTarget.SOCKETS)
    bench.say("REPLCONF ACK 0")
    assert not bench.session.may_stream
    bench.session.child_done(5.0)
    assert bench.session.may_stream


def test_sync_has_no_line_and_needs_no_ack() -> None:
    bench = Bench()
    bench.say("SYNC")
    bench.syncing(SnapshotTarget.SOCKETS)
    assert bench.sent() == ""
    bench.session.child_done(1.0)
    assert bench.session.may_stream
    bench.tick_to(1000.0)
    assert bench.session.state is SessionState.ONLINE


def test_continue_names_the_id_for_those_who_read_it() -> None:
    bench = Bench()
    bench.session.continued(A, bench.cursor(), 5, 0.0)
    assert bench.sent() == "+CONTINUE\r\n"
    assert bench.events() == [WentOnline(full=False, missing_bytes=5)]
    bench = Bench()
    bench.say("REPLCONF capa psync2")
    bench.session.continued(A, bench.cursor(), 5, 0.0)
    assert bench.sent() == f"+CONTINUE {A}\r\n"


def test_acks_never_go_back() -> None:
    bench = Bench()
    bench.online()
    bench.hand_over(60)
    bench.now = 3.0
    bench.say("REPLCONF ACK 50")
    bench.say("REPLCONF ACK 40 FACK 40")
    assert bench.session.ack_cut == 50
    assert bench.session.lag_s(5.0) == 2.0


def test_an_ack_of_what_was_never_sent_is_only_a_sign_of_life() -> None:
    bench = Bench()
    bench.online()
    bench.hand_over(60)
    bench.now = 3.0
    bench.say("REPLCONF ACK 61")
    assert bench.session.ack_cut == 0 and bench.session.lag_s(5.0) == 2.0
    bench.say("REPLCONF ACK 60")
    assert bench.session.ack_cut == 60


def test_silence_cuts_an_online_replica() -> None:
    bench = Bench(timeout_s=10)
    bench.online()
    bench.tick_to(9.0)
    bench.say("")
    assert bench.session.next_deadline() == 19.0
    bench.say("REPLCONF ACK 5")
    bench.tick_to(18.9)
    assert bench.session.state is SessionState.ONLINE
    bench.tick_to(19.0)
    closed = bench.events()[-1]
    assert isinstance(closed, CloseSession) and str(closed.reason) == "timeout (online)"


def test_one_that_takes_nothing_of_its_snapshot() -> None:
    bench = Bench(timeout_s=10)
    bench.syncing(SnapshotTarget.SOCKETS)
    bench.session.stalled()
    closed = bench.events()[-1]
    assert isinstance(closed, CloseSession) and str(closed.reason) == "timeout (wait_bgsave)"
    assert closed.text == "it took nothing of the snapshot for 10 seconds"


def test_newlines_of_a_loading_replica_keep_it() -> None:
    bench = Bench(timeout_s=10)
    bench.syncing(SnapshotTarget.SOCKETS)
    bench.session.child_done(0.0)
    for second in range(1, 60):
        bench.tick_to(float(second))
        hear(bench.session, b"\n", bench.now)
    assert bench.session.state is SessionState.ONLINE
    bench.tick_to(70.0)
    assert str(bench.session.end_reason) == "timeout (first_ack)"


def test_a_shell_that_parses_itself_notes_signs() -> None:
    bench = Bench(timeout_s=10)
    bench.online()
    bench.session.note_sign(9.0)
    bench.tick_to(18.0)
    assert bench.session.state is SessionState.ONLINE and bench.session.lag_s(18.0) == 9.0


def test_the_hard_limit() -> None:
    bench = Bench(hard_limit_bytes=2000)
    bench.online()
    bench.backlog.append(b"x" * 1500)
    bench.session.check_output_buffer(bench.backlog.end, 1000, 0.0)
    assert bench.session.state is SessionState.ONLINE
    bench.session.note_unsent(500)
    bench.session.check_output_buffer(bench.backlog.end, 1000, 0.0)
    assert str(bench.session.end_reason) == "output_buffer (hard)"


def test_a_hard_limit_below_the_backlog_counts_as_its_size() -> None:
    bench = Bench(hard_limit_bytes=10)
    bench.online()
    bench.backlog.append(b"x" * 999)
    bench.session.check_output_buffer(bench.backlog.end, 1000, 0.0)
    assert bench.session.state is SessionState.ONLINE


def test_the_soft_limit_needs_time_without_a_break() -> None:
    bench = Bench(soft_limit_bytes=100, soft_limit_s=5)
    bench.online()
    session = bench.session
    session.note_unsent(100)
    session.check_output_buffer(0, 1000, 0.0)
    session.note_unsent(99)
    session.check_output_buffer(0, 1000, 4.0)
    session.note_unsent(100)
    session.check_output_buffer(0, 1000, 5.0)
    session.check_output_buffer(0, 1000, 10.0)
    assert session.state is SessionState.ONLINE
    session.check_output_buffer(0, 1000, 10.1)
    assert str(session.end_reason) == "output_buffer (soft)"


@pytest.mark.parametrize("data", [b"*1\r\n:5\r\n", b"*1\r\n$3\r\nGET\r\n", b"*x\r\n"])
def test_what_a_replica_does_not_say(data: bytes) -> None:
    bench = Bench()
    bench.online()
    hear(bench.session, data, 0.0)
    assert bench.session.end_reason is not None and bench.session.end_reason.cause is Cause.PROTOCOL
    assert bench.session.state is SessionState.CLOSED


def test_a_loss_after_the_snapshot_without_an_ack_is_a_failed_load() -> None:
    bench = Bench()
    bench.syncing(SnapshotTarget.DISK)
    bench.session.snapshot_ready(5, 0.0)
    bench.session.file_sent(0.0)
    bench.session.lost("reset")
    assert str(bench.session.end_reason) == "load_failed (no_ack)"


def test_a_loss_on_the_way_names_the_state() -> None:
    bench = Bench()
    bench.syncing(SnapshotTarget.DISK)
    bench.session.lost("reset")
    assert str(bench.session.end_reason) == "connection_lost (wait_bgsave)"
    assert bench.sent() == ""


def test_rdb_only_ends_with_the_snapshot() -> None:
    bench = Bench()
    bench.say("REPLCONF rdb-only 1")
    bench.syncing(SnapshotTarget.DISK)
    bench.session.snapshot_ready(5, 0.0)
    bench.sent()
    bench.session.file_sent(0.0)
    closed = bench.events()[-1]
    assert isinstance(closed, CloseSession) and closed.flush
    assert bench.session.state is SessionState.CLOSED


def test_a_refusal_leaves_the_connection_open() -> None:
    bench = Bench()
    bench.session.refuse("NOMASTERLINK Can't SYNC while not connected with my master")
    assert bench.sent() == "-NOMASTERLINK Can't SYNC while not connected with my master\r\n"
    bench.say("PSYNC ? -1")
    assert bench.events() == [SyncRequested(ASK_FOR_ALL)]


def test_after_the_end_nothing_comes() -> None:
    bench = Bench()
    bench.online()
    bench.session.lost("")
    assert bench.say("REPLCONF foo bar", "PSYNC ? -1") == ""
    assert bench.tick_to(1e6) == "" and bench.events() == []
    assert bench.session.next_deadline() is None


def test_what_is_on_disk_is_believed_up_to_what_is_applied() -> None:
    bench = Bench()
    bench.online()
    bench.hand_over(60)
    assert bench.session.fack_cut == -1
    for line, believed in (
        ("REPLCONF ACK 50 FACK 40", 40),
        ("REPLCONF ACK 50 FACK 30", 40),
        ("REPLCONF ACK 50 FACK 51", 40),
        ("REPLCONF ACK 60", 40),
        ("REPLCONF ACK 60 FACK x", 40),
        ("REPLCONF ACK 60 FACK 60", 60),
    ):
        bench.say(line)
        assert bench.session.fack_cut == believed, line
