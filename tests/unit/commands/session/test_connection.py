"""PING, ECHO, QUIT, AUTH, HELLO, SELECT, RESET. Error texts are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from pyrepl.observability.version import REDIS_VERSION
from pyrepl.resp.reply import OK, PONG, Simple
from tests.unit.commands.rig import Rig

WRONGPASS = "WRONGPASS invalid username-password pair or user is disabled."


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_ping(rig: Rig) -> None:
    assert rig.say("PING") == PONG
    assert rig.say("PING hello") == b"hello"
    assert rig.error("PING a b") == "ERR wrong number of arguments for 'ping' command"


def test_echo(rig: Rig) -> None:
    assert rig.run("ECHO", b"\x00\xff") == b"\x00\xff"


def test_quit_closes_after_the_reply(rig: Rig) -> None:
    assert rig.say("QUIT now") == OK
    assert rig.client.closing and rig.client.guarded


class TestSelect:
    def test_the_commands_that_follow_go_there(self, rig: Rig) -> None:
        rig.say("SELECT 15")
        rig.say("SET a 1")
        assert b"a" in rig.node.keyspace.databases[15].store.values
        assert rig.client.db_index == 15

    @pytest.mark.parametrize(
        ("index", "text"),
        [
            ("16", "ERR DB index is out of range"),
            ("-1", "ERR DB index is out of range"),
            ("x", "ERR value is not an integer or out of range"),
        ],
    )
    def test_bad_numbers_change_nothing(self, rig: Rig, index: str, text: str) -> None:
        rig.say("SELECT 3")
        assert rig.error(f"SELECT {index}") == text
        assert rig.client.db_index == 3

    def test_only_so_many_databases(self) -> None:
        assert Rig(databases=2).error("SELECT 2") == "ERR DB index is out of range"


class TestAuth:
    def test_without_a_password(self, rig: Rig) -> None:
        assert rig.error("AUTH x") == (
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
            "configuration is correct?"
        )
        assert rig.say("AUTH default anything") == OK
        assert rig.error("AUTH nobody x") == WRONGPASS

    def test_with_one(self) -> None:
        rig = Rig(requirepass=b"s3")
        client = rig.connect(authenticated=False)
        for wrong in ("AUTH x", "AUTH default x", "AUTH other s3", "AUTH s"):
            assert rig.error(wrong, client) == WRONGPASS
        assert not client.authenticated
        assert rig.say("AUTH default s3", client) == OK
        assert client.authenticated

    def test_a_wrong_password_does_not_log_out(self) -> None:
        rig = Rig(requirepass=b"s3")
        rig.error("AUTH x")
        assert rig.say("PING") == PONG

    @pytest.mark.parametrize(
        ("line", "kept"),
        [
            ("AUTH s3", [b"AUTH", b"(redacted)"]),
            ("AUTH default s3", [b"AUTH", b"(redacted)", b"(redacted)"]),
            ("AUTH a s3 c", [b"AUTH", b"(redacted)", b"(redacted)", b"(redacted)"]),
            ("HELLO 2 AUTH default s3", [b"HELLO", b"2", b"AUTH", b"(redacted)", b"(redacted)"]),
            (
                "HELLO 3 SETNAME x AUTH default s3",
                [b"HELLO", b"3", b"SETNAME", b"x", b"AUTH", b"(redacted)", b"(redacted)"],
            ),
        ],
    )
    def test_passwords_do_not_reach_the_slow_log(self, line: str, kept: list[bytes]) -> None:
        rig = Rig(requirepass=b"s3", slowlog_log_slower_than=0)
        rig.say(line)
        assert rig.node.slowlog.entries[0].argv == kept
        assert rig.client.authenticated

    def test_too_many_words(self, rig: Rig) -> None:
        assert rig.error("AUTH a b c") == "ERR syntax error"


class TestHello:
    def test_facts(self, rig: Rig) -> None:
        assert rig.say("HELLO") == {
            b"server": b"redis",
            b"version": REDIS_VERSION.encode(),
            b"proto": 2,
            b"id": 1,
            b"mode": b"standalone",
            b"role": b"master",
            b"modules": [],
        }

    def test_a_replica_says_so(self, rig: Rig) -> None:
        rig.follow()
        assert b"$7\r\nreplica\r\n" in rig.wire("HELLO")

    def test_the_reply_is_in_the_new_protocol(self, rig: Rig) -> None:
        assert rig.wire("HELLO 3").startswith(b"%7\r\n")
        assert rig.wire("GET nosuch") == b"_\r\n"
        assert rig.wire("HELLO 2").startswith(b"*14\r\n")

    def test_name_and_password_at_once(self) -> None:
        rig = Rig(requirepass=b"s3")
        client = rig.connect(authenticated=False)
        assert rig.error("HELLO 3", client).startswith("NOAUTH HELLO must be called with the client already auth")
        assert rig.error("HELLO 3 AUTH default bad", client) == WRONGPASS
        assert client.proto == 2
        rig.say("HELLO 3 SETNAME app AUTH default s3", client)
        assert (client.authenticated, client.proto, client.name) == (True, 3, b"app")

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("HELLO 4", "NOPROTO unsupported protocol version"),
            ("HELLO 1", "NOPROTO unsupported protocol version"),
            ("HELLO x", "ERR Protocol version is not an integer or out of range"),
            ("HELLO 3 foo", "ERR Syntax error in HELLO option 'foo'"),
            ("HELLO 3 AUTH default", "ERR Syntax error in HELLO option 'AUTH'"),
            ("HELLO 3 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"),
        ],
    )
    def test_errors_change_nothing(self, rig: Rig, line: str, text: str) -> None:
        assert rig.error(line) == text
        assert rig.client.proto == 2

    def test_names_are_plain(self, rig: Rig) -> None:
        reply = rig.run("HELLO", "3", "SETNAME", "a b")
        assert str(reply) == "ERR Client names cannot contain spaces, newlines or special characters."
        assert rig.client.proto == 2

    def test_a_subscriber_that_turns_to_resp2_is_guarded(self, rig: Rig) -> None:
        rig.say("HELLO 3")
        rig.say("SUBSCRIBE a")
        assert not rig.client.guarded
        rig.say("HELLO 2")
        assert rig.client.guarded


class TestReset:
    def test_everything_is_as_it_was(self, rig: Rig) -> None:
        client = rig.client
        for line in (
            "HELLO 3 SETNAME app",
            "SELECT 4",
            "SUBSCRIBE a",
            "PSUBSCRIBE b*",
            "CLIENT NO-EVICT on",
            "CLIENT NO-TOUCH on",
            "WATCH k",
            "MULTI",
            "SET a 1",
        ):
            rig.say(line)
        assert rig.say("RESET") == Simple(b"RESET")
        assert (client.proto, client.db_index, client.name, client.queue) == (2, 0, b"", None)
        assert not (client.channels or client.patterns or client.watching)
        assert not (client.no_evict or client.no_touch or client.guarded)
        assert rig.call().db is rig.node.keyspace.databases[0]
        assert rig.node.pubsub.channels_count == 0

    def test_replies_come_again(self, rig: Rig) -> None:
        rig.say("CLIENT REPLY OFF")
        rig.say("RESET")
        assert rig.client.reply_mode == "on"

    def test_with_a_password_one_is_a_stranger_again(self) -> None:
        rig = Rig(requirepass=b"s3")
        rig.say("RESET")
        assert rig.error("PING").startswith("NOAUTH")

    def test_replicas_may_not(self, rig: Rig) -> None:
        rig.client.become_replica()
        assert rig.error("RESET") == "ERR can only reset normal client connections"
