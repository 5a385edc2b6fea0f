"""MIGRATE against a target that is made up: what it sends, deletes, propagates, hides. Real ones: tests/interop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyrepl.errors import CommandError
from pyrepl.node.migrating import CONNECTING, READING, Exchanged
from pyrepl.resp.parser import Parser
from pyrepl.resp.reply import OK, Reply, Simple
from tests.unit.commands.rig import START_MS, Rig

BUSY = CommandError("BUSYKEY Target key name already exists.")


class Target:
    """Gives the replies it was made with, and keeps the commands it got. The opening is refused if `welcome` is an
    error."""

    def __init__(self, *replies: Reply, welcome: Reply = OK, failure: str = "") -> None:
        self.replies = list(replies)
        self.welcome = welcome
        self.failure = failure
        self.calls: list[tuple[str, int, int]] = []
        self.commands: list[list[bytes]] = []

    def exchange(
        self, host: str, port: int, opening: Sequence[bytes], requests: Sequence[bytes], timeout_ms: int
    ) -> Exchanged:
        self.calls.append((host, port, timeout_ms))
        self.commands += Parser().feed(b"".join([*opening, *requests])).commands
        return Exchanged([self.welcome], self.replies, self.failure)


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    for key in ("a", "b", "c"):
        rig.run("SET", key, "value of " + key)
    rig.stream()
    return rig


def aim(rig: Rig, *replies: Reply, welcome: Reply = OK, failure: str = "") -> Target:
    target = rig.node.target = Target(*replies, welcome=welcome, failure=failure)
    return target


def propagated(rig: Rig) -> list[str]:
    return [line for line in rig.stream() if not line.startswith("SELECT")]


def test_a_key_moves(rig: Rig) -> None:
    rig.run("PEXPIREAT", "a", START_MS + 5000)
    payload = rig.run("DUMP", "a")
    rig.stream()
    target = aim(rig, OK)
    assert rig.run("MIGRATE", "there", 7000, "a", 3, 250) == OK
    assert target.calls == [("there", 7000, 250)]
    assert target.commands == [[b"SELECT", b"3"], [b"RESTORE", b"a", b"5000", payload]]
    assert rig.run("EXISTS", "a") == 0
    assert propagated(rig) == ["DEL a"]


def test_copies_stay_and_replace_what_is_there(rig: Rig) -> None:
    target = aim(rig, OK, OK)
    assert rig.run("MIGRATE", "there", 7000, "", 0, 0, "COPY", "REPLACE", "KEYS", "b", "none", "a") == OK
    assert target.calls == [("there", 7000, 1000)]
    assert [(words[1], words[-1]) for words in target.commands[1:]] == [(b"b", b"REPLACE"), (b"a", b"REPLACE")]
    assert rig.run("EXISTS", "a", "b") == 2 and propagated(rig) == []


def test_what_the_other_server_took_is_deleted_although_it_refused_a_part(rig: Rig) -> None:
    aim(rig, OK, BUSY, OK)
    reply = rig.run("MIGRATE", "there", 7000, "", 0, 100, "KEYS", "a", "b", "c")
    assert str(reply) == "ERR Target instance replied with error: BUSYKEY Target key name already exists."
    assert rig.run("EXISTS", "a", "b", "c") == 1
    assert propagated(rig) == ["DEL a c"]


def test_what_the_other_server_took_is_deleted_although_the_connection_broke(rig: Rig) -> None:
    aim(rig, OK, failure=READING)
    reply = rig.run("MIGRATE", "there", 7000, "", 0, 100, "KEYS", "a", "b")
    assert str(reply) == "IOERR error or timeout reading to target instance"
    assert rig.run("EXISTS", "a", "b") == 1
    assert propagated(rig) == ["DEL a"]
    assert rig.node.stats.errors["IOERR"] == 1


def test_a_refused_password_or_database_moves_nothing(rig: Rig) -> None:
    aim(rig, welcome=CommandError("WRONGPASS no"))
    reply = rig.run("MIGRATE", "there", 7000, "a", 0, 100, "AUTH", "x")
    assert str(reply) == "ERR Target instance replied with error: WRONGPASS no"
    aim(rig, welcome=CommandError("ERR DB index is out of range"))
    reply = rig.run("MIGRATE", "there", 7000, "a", 99, 100)
    assert str(reply) == "ERR Target instance replied with error: ERR DB index is out of range"
    assert rig.run("EXISTS", "a") == 1 and propagated(rig) == []


def test_a_server_that_is_not_there_takes_nothing(rig: Rig) -> None:
    assert str(rig.run("MIGRATE", "127.0.0.1", 1, "a", 0, 100)) == f"IOERR error or timeout {CONNECTING}"
    assert rig.run("EXISTS", "a") == 1


def test_passwords_are_sent_and_not_shown(rig: Rig) -> None:
    rig.run("CONFIG", "SET", "slowlog-log-slower-than", 0)
    rig.run("SLOWLOG", "RESET")
    watcher = rig.connect()
    rig.run("MONITOR", client=watcher)
    target = aim(rig, OK, OK)
    assert rig.run("MIGRATE", "there", 7000, "a", 0, 100, "COPY", "AUTH2", "someone", "secret") == OK
    assert target.commands[0] == [b"AUTH", b"someone", b"secret"]
    assert rig.run("MIGRATE", "there", 7000, "a", 0, 100, "COPY", "auth", "secret") == OK
    assert target.commands[3] == [b"AUTH", b"secret"]
    shown = repr([rig.node.deliveries, rig.run("SLOWLOG", "GET", 10)])
    assert "secret" not in shown and "someone" not in shown and shown.count("AUTH2") == 2


def test_nothing_to_move(rig: Rig) -> None:
    target = aim(rig)
    assert rig.run("MIGRATE", "there", 7000, "none", 0, 100) == Simple(b"NOKEY")
    rig.run("SET", "", "has an empty name")
    assert rig.run("MIGRATE", "there", 7000, "", 0, 100, "KEYS") == Simple(b"NOKEY")
    assert target.calls == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("there 1 a 0 100 NEVER", "ERR syntax error"),
        ("there 1 a 0 100 AUTH", "ERR syntax error"),
        ("there 1 a 0 100 AUTH2 one", "ERR syntax error"),
        (
            "there 1 a 0 100 KEYS b",
            "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
        ),
        ("there 1 a x 100", "ERR value is not an integer or out of range"),
        ("there 1 a 0 x", "ERR value is not an integer or out of range"),
    ],
)
def test_wrong_words(rig: Rig, words: str, error: str) -> None:
    assert str(rig.say(f"MIGRATE {words}")) == error
