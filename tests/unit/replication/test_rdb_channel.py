"""The replica's second connection: each move of its table by the bytes that cause it, refusals, nonsense."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, SnapshotStart
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.psync import Cause
from pyrepl.replication.rdb_channel import RDB_CHANNEL, RdbChannel, RdbChannelState, RdbChannelTrigger
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
FULL = b"+FULLRESYNC " + A.encode() + b" 57\r\n"
END = b"$ENDOFF:57 " + A.encode() + b" 0 9\r\n"


FULLY = Introduction(6380, version="9.0.0", rdb_version=13)


def channel(*, valkey: bool = False, password: str = "", user: str = "", ip: str = "") -> RdbChannel:
    dialect = VALKEY_DUAL_CHANNEL if valkey else REDIS_RDB_CHANNEL
    return RdbChannel(dialect, Introduction(6380, ip, user, password), None if valkey else 7, 0.0)


def said(rdb: RdbChannel) -> str:
    commands = Parser().feed(b"".join(rdb.data_to_send())).commands
    return " / ".join(b" ".join(argv).decode() for argv in commands)


def test_redis() -> None:
    rdb = channel()
    assert rdb.state.value == "connecting" and said(rdb) == ""
    rdb.connected(1.0)
    assert rdb.state.value == "replconf"
    assert said(rdb) == "REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id 7 listening-port 6380"
    rdb.receive(b"+OK\r\n", 2.0)
    assert str(rdb.state) == "waiting_for_snapshot" and said(rdb) == "PSYNC ? -1"
    rdb.receive(b"\n\n", 3.0)
    rdb.receive(b"\n" + FULL + b"$EOF:", 4.0)
    assert str(rdb.state) == "transfer" and rdb.last_io_at == 4.0
    assert rdb.start == SnapshotStart(A, Offset(57)) and rdb.rest == b"$EOF:"


def test_valkey() -> None:
    rdb = channel(valkey=True)
    rdb.connected(1.0)
    assert said(rdb) == "REPLCONF capa eof rdb-only 1 rdb-channel 1 listening-port 6380"
    rdb.receive(b"+OK\r\n", 2.0)
    assert rdb.data_to_send() == [b"SYNC\r\n"]
    rdb.receive(b"\n" + END + b"$E", 3.0)
    assert rdb.start == SnapshotStart(A, Offset(57), 0, 9) and rdb.rest == b"$E"


def test_a_valkey_is_told_the_version_here_too() -> None:
    """It chooses the version of the snapshot by what this connection says; a Redis would refuse the word."""
    rdb = RdbChannel(VALKEY_DUAL_CHANNEL, FULLY, None, 0.0)
    rdb.connected(1.0)
    assert (
        said(rdb) == "REPLCONF capa eof rdb-only 1 rdb-channel 1 listening-port 6380 capa rdb-version-13 version 9.0.0"
    )
    redis = RdbChannel(REDIS_RDB_CHANNEL, FULLY, 7, 0.0)
    redis.connected(1.0)
    assert "version" not in said(redis)


def test_a_password_comes_first() -> None:
    rdb = channel(user="u", password="p", ip="192.0.2.7")
    rdb.connected(1.0)
    assert rdb.state.value == "auth" and said(rdb) == "AUTH u p"
    rdb.receive(b"+OK\r\n", 2.0)
    assert rdb.state.value == "replconf"
    assert said(rdb).endswith("listening-port 6380 ip-address 192.0.2.7")


@pytest.mark.parametrize("valkey", [False, True])
def test_any_cut_of_the_answers(valkey: bool) -> None:
    rdb = channel(valkey=valkey)
    rdb.connected(0.0)
    answers = b"+OK\r\n\n" + (END if valkey else FULL)
    for at in range(len(answers)):
        assert rdb.start is None
        rdb.receive(answers[at : at + 1], 1.0)
    assert rdb.start is not None and rdb.rest == b""


@pytest.mark.parametrize(
    "answers, detail",
    [
        ([b"-WRONGPASS no\r\n"], "rdb_channel:auth"),
        ([b"+OK\r\n", b"-ERR Unrecognized RDB client id: 7\r\n"], "rdb_channel:replconf"),
        ([b"+OK\r\n", b"+OK\r\n", b"-ERR no\r\n"], "psync"),
    ],
)
def test_an_error_is_a_refusal(answers: list[bytes], detail: str) -> None:
    rdb = channel(password="p")
    rdb.connected(0.0)
    for answer in answers:
        assert rdb.refusal is None
        rdb.receive(answer, 0.0)
    assert rdb.refusal is not None and rdb.refusal.reason.cause is Cause.REFUSED
    assert rdb.refusal.reason.detail == detail and rdb.refusal.text == answers[-1][1:-2].decode()


def test_not_now_is_a_refusal_too() -> None:
    rdb = channel(valkey=True)
    rdb.connected(0.0)
    rdb.receive(b"+OK\r\n-NOMASTERLINK later\r\n", 0.0)
    assert rdb.refusal is not None and rdb.refusal.reason.cause is Cause.NOT_READY


@pytest.mark.parametrize("valkey, line", [(False, b"+CONTINUE\r\n"), (False, END), (True, FULL), (True, b"$57\r\n")])
def test_what_states_no_cut_is_nonsense(valkey: bool, line: bytes) -> None:
    rdb = channel(valkey=valkey)
    rdb.connected(0.0)
    rdb.receive(b"+OK\r\n", 0.0)
    with pytest.raises(PeerError):
        rdb.receive(line, 0.0)


def test_what_is_no_answer_is_nonsense() -> None:
    rdb = channel()
    with pytest.raises(PeerError, match="before the RDB connection"):
        rdb.receive(b"+OK\r\n", 0.0)
    rdb.connected(0.0)
    with pytest.raises(PeerError, match="not expected"):
        rdb.connected(0.0)
    with pytest.raises(PeerError, match="expected \\+OK"):
        rdb.receive(encode_command([b"PING"]), 0.0)


def test_the_table_reaches_every_state() -> None:
    assert {*RDB_CHANNEL.moves.values(), RdbChannelState.SEND_HANDSHAKE} == set(RdbChannelState)
    assert {trigger for _, trigger in RDB_CHANNEL.moves} == set(RdbChannelTrigger)
