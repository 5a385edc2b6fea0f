"""The replica's introduction, step by step, against answers a master may give."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL
from pyrepl.replication.handshake import MAX_LINE_BYTES, Handshake, Introduction, introduction_steps
from pyrepl.replication.psync import (
    ASK_FOR_ALL,
    Cause,
    ContinueGranted,
    FullResyncGranted,
    Request,
    TryLater,
)
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
ALL = Introduction(listening_port=6380, announce_ip="10.0.0.1", user="repl", password="secret", version="8.0.0")


def said(handshake: Handshake) -> list[str]:
    """What goes out now, as words."""
    batch = Parser().feed(b"".join(handshake.data_to_send()))
    return [b" ".join(argv).decode() for argv in batch.commands]


def test_the_steps_in_order() -> None:
    handshake = Handshake(ALL, Request(A, 57))
    assert said(handshake) == ["PING"]
    handshake.receive(b"+PONG\r\n")
    assert said(handshake) == [
        "AUTH repl secret",
        "REPLCONF listening-port 6380",
        "REPLCONF ip-address 10.0.0.1",
        "REPLCONF capa eof capa psync2",
        "REPLCONF version 8.0.0",
    ]
    handshake.receive(b"+OK\r\n" * 4)
    assert said(handshake) == [] and not handshake.asked
    handshake.receive(b"+OK\r\n")
    assert said(handshake) == [f"PSYNC {A} 58"] and handshake.asked
    handshake.receive(b"\n\n+CONTINUE\r\nstream")
    assert handshake.answer == ContinueGranted(None)
    assert handshake.rest == b"stream"


def test_a_pyrepl_says_which_snapshots_it_reads() -> None:
    """As a capability: Redis and Valkey take no notice of one that they do not know."""
    handshake = Handshake(Introduction(listening_port=1, rdb_version=13), ASK_FOR_ALL, (REDIS_RDB_CHANNEL,))
    handshake.receive(b"+PONG\r\n")
    assert said(handshake)[-1] == "REPLCONF capa eof capa psync2 capa rdb-channel-repl capa rdb-version-13"


def test_a_short_introduction() -> None:
    assert [step.name for step in introduction_steps(Introduction(listening_port=1))] == ["listening-port", "capa"]
    assert introduction_steps(Introduction(password="x"))[0].argv == [b"AUTH", b"x"]


def test_the_password_is_not_in_the_repr() -> None:
    assert "secret" not in repr(ALL)


@pytest.mark.parametrize("error", ["NOAUTH Authentication required.", "NOPERM x", "ERR operation not permitted"])
def test_ping_errors_that_ask_for_auth_are_tolerated(error: str) -> None:
    handshake = Handshake(ALL, ASK_FOR_ALL)
    said(handshake)
    handshake.receive(f"-{error}\r\n".encode())
    assert handshake.answer is None
    assert handshake.tolerated == [("ping", error)]
    assert said(handshake)[0].startswith("AUTH")


@pytest.mark.parametrize(
    "answers, cause, detail",
    [
        ("-ERR max number of clients reached", Cause.REFUSED, "ping"),
        ("-LOADING Redis is loading the dataset in memory", Cause.NOT_READY, ""),
        ("-MASTERDOWN Link with MASTER is down", Cause.NOT_READY, ""),
        ("+PONG|-WRONGPASS invalid username-password pair", Cause.REFUSED, "auth"),
        ("+PONG|+OK|+OK|+OK|+OK|+OK|-NOMASTERLINK Can't SYNC", Cause.NOT_READY, ""),
        ("+PONG|+OK|+OK|+OK|+OK|+OK|-ERR unknown command", Cause.REFUSED, "psync"),
    ],
)
def test_errors_that_end_it(answers: str, cause: Cause, detail: str) -> None:
    handshake = Handshake(ALL, ASK_FOR_ALL)
    for answer in answers.split("|"):
        handshake.receive(answer.encode() + b"\r\n")
    assert isinstance(handshake.answer, TryLater)
    assert (handshake.answer.reason.cause, handshake.answer.reason.detail) == (cause, detail)
    assert handshake.answer.text.startswith(answers.split("|")[-1][1:])


@pytest.mark.parametrize(
    ("password", "error", "advice"),
    [
        ("", "NOAUTH Authentication required.", "the master wants a password: set masterauth"),
        ("x", "WRONGPASS invalid username-password pair", "masterauth, or masteruser with it, is not what"),
        (
            "x",
            "ERR AUTH <password> called without any password configured",
            "the master has no password: clear masterauth",
        ),
        ("x", "NOPERM this user has no permissions", "masteruser names needs the rights"),
        ("x", "ERR something else", ""),
    ],
)
def test_what_to_do_about_a_password_is_said(password: str, error: str, advice: str) -> None:
    handshake = Handshake(Introduction(1, password=password), ASK_FOR_ALL)
    handshake.receive(b"+PONG\r\n")
    handshake.receive((b"+OK\r\n" * 2 if not password else b"") + b"-%s\r\n" % error.encode())
    assert isinstance(handshake.answer, TryLater)
    assert handshake.answer.text.startswith(error) and advice in handshake.answer.text


def test_replconf_errors_are_tolerated() -> None:
    handshake = Handshake(Introduction(listening_port=1, version="8.0"), ASK_FOR_ALL)
    handshake.receive(b"+PONG\r\n" + b"-ERR Unrecognized REPLCONF option: x\r\n" * 3)
    assert [step for step, _ in handshake.tolerated] == ["listening-port", "capa", "version"]
    handshake.receive(b"+FULLRESYNC " + A.encode() + b" 57\r\n$5\r\n")
    assert handshake.answer == FullResyncGranted(A, Offset(57))
    assert handshake.rest == b"$5\r\n"


@pytest.mark.parametrize("line", [b"$5\r\n", b"garbage\r\n", b"\x00\x01\r\n"])
def test_what_is_no_answer(line: bytes) -> None:
    with pytest.raises(PeerError, match="ping"):
        Handshake(ALL, ASK_FOR_ALL).receive(line)


def test_a_line_without_end_is_bounded() -> None:
    handshake = Handshake(ALL, ASK_FOR_ALL)
    with pytest.raises(PeerError, match="without a line end"):
        handshake.receive(b"+" + b"x" * (MAX_LINE_BYTES + 1))
