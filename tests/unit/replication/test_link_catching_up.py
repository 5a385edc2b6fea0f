"""The stream that a link holds while its snapshot comes on a second connection: its limit, its slices, its ACKs."""

from __future__ import annotations

from pyrepl.replication.events import (
    Apply,
    Disconnect,
    Lost,
    SyncBufferFull,
)
from pyrepl.replication.psync import Cause, Request
from pyrepl.resp.encoder import encode_command
from tests.unit.replication.two_channels_bench import (
    MARK,
    SET,
    A,
    Bench,
    both,
)


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
