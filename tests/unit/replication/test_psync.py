"""The verdict on a request, and its words on the wire."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError, PeerError
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL
from pyrepl.replication.history import History
from pyrepl.replication.psync import (
    ASK_FOR_ALL,
    Cause,
    ContinueGranted,
    FullResyncGranted,
    Reason,
    Request,
    TryLater,
    TwoChannelsGranted,
    Verdict,
    decide,
    decode_answer,
    decode_request,
    encode_continue,
    encode_full_resync,
    encode_request,
    guess_refusal,
)
from pyrepl.units import Offset, ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)


def node(start: int = 100, size: int = 50) -> tuple[History, Backlog]:
    """A node that holds [start, start + size) of stream B, which was A up to 120."""
    history = History(A)
    history.shift(B, Offset(120))
    backlog = Backlog(1000)
    backlog.restart(Offset(start))
    backlog.create()
    backlog.append(b"x" * size)
    return history, backlog


@pytest.mark.parametrize(
    "request_, reason",
    [
        (Request(B, 100), None),
        (Request(B, 150), None),
        (Request(A, 120), None),
        (Request(B, 99), Reason(Cause.OUT_OF_BACKLOG, 1)),
        (Request(B, -1), Reason(Cause.OUT_OF_BACKLOG, 101)),
        (Request(B, 151), Reason(Cause.ABOVE_OFFSET, 1)),
        (Request(A, 121), Reason(Cause.PAST_FORK, 1)),
        (Request(A, 99), Reason(Cause.OUT_OF_BACKLOG, 1)),
        (Request(ReplId("c" * 40), 120), Reason(Cause.ID_MISMATCH)),
        (ASK_FOR_ALL, Reason(Cause.FIRST)),
        (Request(None, -1, can_continue=False), Reason(Cause.FORCED, detail="sync")),
    ],
)
def test_decisions(request_: Request, reason: Reason | None) -> None:
    decision = decide(request_, *node())
    assert decision.reason == reason
    assert decision.verdict is (Verdict.CONTINUE if reason is None else Verdict.FULL_RESYNC)
    if reason is None:
        assert decision.missing_bytes == 150 - request_.held


def test_without_a_backlog_nobody_is_continued() -> None:
    history, backlog = node()
    backlog.free()
    assert decide(Request(B, 150), history, backlog).reason == Reason(Cause.NO_BACKLOG)


def test_the_wire_counts_from_one() -> None:
    assert encode_request(Request(A, 57)) == [b"PSYNC", b"a" * 40, b"58"]
    assert decode_request([b"psync", b"a" * 40, b"58"]) == Request(A, 57)
    assert encode_request(ASK_FOR_ALL) == [b"PSYNC", b"?", b"-1"]
    assert decode_request([b"PSYNC", b"?", b"-1"]) == ASK_FOR_ALL
    assert not decode_request([b"SYNC"]).can_continue


def test_failover_is_recognised() -> None:
    assert decode_request([b"PSYNC", b"a" * 40, b"58", b"FAILOVER"]) == Request(A, 57, failover=True)


@pytest.mark.parametrize("number", [b"x", b"1_0", b" 1", b"1.0", b"9" * 30])
def test_a_number_that_is_none(number: bytes) -> None:
    with pytest.raises(CommandError, match="ERR value is not an integer or out of range"):
        decode_request([b"PSYNC", b"?", number])


def test_answers_round_trip() -> None:
    assert decode_answer(encode_full_resync(A, Offset(57)).rstrip()) == FullResyncGranted(A, Offset(57))
    assert decode_answer(encode_continue(A, with_id=True).rstrip()) == ContinueGranted(A)
    assert decode_answer(encode_continue(A, with_id=False).rstrip()) == ContinueGranted(None)


@pytest.mark.parametrize(
    "line, cause",
    [
        (b"-NOMASTERLINK Can't SYNC while not connected with my master", Cause.NOT_READY),
        (b"-LOADING Redis is loading the dataset in memory", Cause.NOT_READY),
        (b"-ERR BGSAVE failed, replication can't continue", Cause.SNAPSHOT_FAILED),
        (b"-ERR unknown command", Cause.REFUSED),
    ],
)
def test_errors_mean_try_later(line: bytes, cause: Cause) -> None:
    answer = decode_answer(line)
    assert isinstance(answer, TryLater)
    assert answer.reason.cause is cause
    assert answer.text == line[1:].decode()


@pytest.mark.parametrize(
    "line",
    [b"+FULLRESYNC", b"+FULLRESYNC abc 5", b"+FULLRESYNC " + b"a" * 40 + b" x", b"+CONTINUE abc", b"+OK", b"$5", b"*1"],
)
def test_nonsense_is_a_peer_error(line: bytes) -> None:
    with pytest.raises(PeerError):
        decode_answer(line)


def test_two_connections() -> None:
    assert decode_answer(b"+RDBCHANNELSYNC 7") == TwoChannelsGranted(REDIS_RDB_CHANNEL, 7)
    assert decode_answer(b"+DUALCHANNELSYNC") == TwoChannelsGranted(VALKEY_DUAL_CHANNEL, None)
    with pytest.raises(PeerError, match="client id"):
        decode_answer(b"+RDBCHANNELSYNC")


def test_the_replica_guesses_why() -> None:
    assert guess_refusal(ASK_FOR_ALL, A, Offset(5)) == Reason(Cause.FIRST)
    assert guess_refusal(Request(B, 3), A, Offset(5)) == Reason(Cause.ID_MISMATCH)
    assert guess_refusal(Request(A, 8), A, Offset(5)) == Reason(Cause.ABOVE_OFFSET, 3)
    assert guess_refusal(Request(A, 3), A, Offset(5)) == Reason(Cause.OUT_OF_BACKLOG)


def test_a_reason_reads_well() -> None:
    assert str(Reason(Cause.FIRST)) == "first"
    assert str(Reason(Cause.OUT_OF_BACKLOG, 7)) == "out_of_backlog by 7 bytes"
    assert str(Reason(Cause.TIMEOUT, detail="transfer")) == "timeout (transfer)"
