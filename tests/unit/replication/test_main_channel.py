"""The replica's first connection while the snapshot comes on the second: each move by the bytes that cause it."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, SnapshotStart
from pyrepl.replication.main_channel import MAIN_CHANNEL, MainChannel, MainChannelState, MainChannelTrigger
from pyrepl.replication.psync import Cause
from pyrepl.replication.syncbuffer import BufferUse, SyncBuffer
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
START = SnapshotStart(A, Offset(57), 0, 9)


def channel(*, valkey: bool) -> MainChannel:
    return MainChannel(VALKEY_DUAL_CHANNEL if valkey else REDIS_RDB_CHANNEL, SyncBuffer(1 << 30, BufferUse()))


def said(main: MainChannel) -> str:
    commands = Parser().feed(b"".join(main.data_to_send())).commands
    return " / ".join(b" ".join(argv).decode() for argv in commands)


def test_redis_streams_at_once() -> None:
    main = channel(valkey=False)
    main.receive(b"abc")
    main.snapshot_starts(SnapshotStart(A, Offset(57)))
    main.receive(b"def")
    assert main.streams and said(main) == "" and main.buffer.take(10) == b"abcdef"


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_valkey_asks_for_the_stream(step: int) -> None:
    main = channel(valkey=True)
    main.receive(b"\n")
    assert main.state.value == "waiting_for_snapshot"
    main.snapshot_starts(START)
    assert main.state.value == "pairing" and said(main) == "REPLCONF set-rdb-client-id 9"
    main.receive(b"+OK\r\n")
    assert str(main.state) == "psync" and said(main) == f"PSYNC {A} 58"
    answer = b"\n+CONTINUE " + A.encode() + b"\r\n*1\r\n$4\r\nPING\r\n"
    for at in range(0, len(answer), step):
        main.receive(answer[at : at + step])
    assert main.streams and main.buffer.take(100) == b"*1\r\n$4\r\nPING\r\n"


def test_an_error_to_the_pairing_is_a_refusal() -> None:
    main = channel(valkey=True)
    main.snapshot_starts(START)
    main.receive(b"-ERR Unrecognized RDB client id 9\r\n")
    assert main.refusal is not None and main.refusal.reason.detail == "main_channel:pairing"


def test_an_error_to_psync_is_a_refusal() -> None:
    main = channel(valkey=True)
    main.snapshot_starts(START)
    main.receive(b"+OK\r\n-NOMASTERLINK later\r\n")
    assert main.refusal is not None and main.refusal.reason.cause is Cause.NOT_READY


@pytest.mark.parametrize(
    "before, line",
    [
        (b"", b":1\r\n"),
        (b"+OK\r\n", b"+CONTINUE " + b"b" * 40 + b"\r\n"),
        (b"+OK\r\n", b"+FULLRESYNC " + b"a" * 40 + b" 57\r\n"),
        (b"+OK\r\n", b"+DUALCHANNELSYNC\r\n"),
    ],
)
def test_anything_but_a_continuation_is_nonsense(before: bytes, line: bytes) -> None:
    main = channel(valkey=True)
    main.snapshot_starts(START)
    main.receive(before)
    with pytest.raises(PeerError):
        main.receive(line)


def test_nothing_may_come_before_the_snapshot_begins() -> None:
    with pytest.raises(PeerError, match="before the snapshot begins"):
        channel(valkey=True).receive(b"+OK\r\n")


def test_the_start_is_told_once() -> None:
    main = channel(valkey=True)
    main.snapshot_starts(START)
    with pytest.raises(PeerError, match="not expected"):
        main.snapshot_starts(START)


def test_the_table_reaches_every_state() -> None:
    assert {*MAIN_CHANNEL.moves.values(), MainChannelState.RECEIVE_START} == set(MainChannelState)
    assert {trigger for _, trigger in MAIN_CHANNEL.moves} == set(MainChannelTrigger)
