"""ROLE, REPLICAOF, FAILOVER, WAIT, REPLCONF, PSYNC, SYNC: arguments, refusals. What follows is not theirs."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import AbortFailover, Failover, HurryLink, Promote, Replconf, ReplicaOf, Sync, Wait
from pyrepl.replication.events import SessionState
from pyrepl.replication.session import Session
from pyrepl.resp.reply import OK, Simple
from pyrepl.units import Offset
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def attach(rig: Rig, session_id: int, ack: int) -> Session:
    """An online replica that has acknowledged so many bytes."""
    roster = rig.node.replication.roster
    session = roster.open_session(session_id, "10.0.0.9", rig.node.process.now)
    session.told.listening_port = 7000 + session_id
    session.state = SessionState.ONLINE
    session.ack_cut = Offset(ack)
    roster.sessions[session_id] = session
    return session


class TestRole:
    def test_of_a_master(self, rig: Rig) -> None:
        rig.stream()
        rig.say("SET a 1")
        attach(rig, 1, 20)
        assert rig.say("ROLE") == [b"master", rig.node.stream_end, [[b"10.0.0.9", b"7001", b"20"]]]

    def test_lists_no_replica_that_has_not_synced(self, rig: Rig) -> None:
        rig.stream()
        attach(rig, 1, 20).state = SessionState.WAIT_SNAPSHOT_END
        assert rig.say("ROLE") == [b"master", rig.node.stream_end, []]

    def test_of_a_replica(self, rig: Rig) -> None:
        rig.follow()
        assert rig.say("ROLE") == [b"slave", b"10.0.0.1", 7000, b"connecting", 0]


class TestFailover:
    @pytest.mark.parametrize(
        ("options", "effect"),
        [
            ("", Failover(None, False, None)),
            ("to h 7001", Failover(("h", 7001), False, None)),
            ("TIMEOUT 500", Failover(None, False, 500)),
            ("TIMEOUT 500 FORCE TO h 7001", Failover(("h", 7001), True, 500)),
            ("abort", AbortFailover()),
        ],
    )
    def test_in_any_order(self, rig: Rig, options: str, effect: object) -> None:
        rig.say(f"FAILOVER {options}")
        assert rig.effects == [effect]

    @pytest.mark.parametrize(
        "options",
        ["ABORT TIMEOUT 1", "TO h", "TO", "TIMEOUT", "TIMEOUT 1 TIMEOUT 2", "TO h 1 TO h 2", "FORCE FORCE", "NOW"],
    )
    def test_syntax_errors(self, rig: Rig, options: str) -> None:
        assert rig.error(f"FAILOVER {options}") == "ERR syntax error"

    def test_numbers(self, rig: Rig) -> None:
        assert rig.error("FAILOVER TIMEOUT 0") == "ERR FAILOVER timeout must be greater than 0"
        assert rig.error("FAILOVER TIMEOUT x") == "ERR value is not an integer or out of range"
        assert rig.error("FAILOVER TO h x") == "ERR value is not an integer or out of range"

    def test_of_a_replica(self, rig: Rig) -> None:
        rig.follow()
        assert rig.error("FAILOVER") == "ERR FAILOVER is not valid when server is a replica."


class TestReplicaof:
    @pytest.mark.parametrize("verb", ["REPLICAOF", "SLAVEOF"])
    def test_another_master(self, rig: Rig, verb: str) -> None:
        rig.say(f"{verb} db.example 6380")
        assert rig.effects == [ReplicaOf("db.example", 6380)]

    def test_nobody(self, rig: Rig) -> None:
        assert rig.say("REPLICAOF NO ONE") == OK
        assert not rig.effects
        rig.follow()
        rig.say("REPLICAOF no one")
        assert rig.effects == [Promote()]

    def test_the_same_again(self, rig: Rig) -> None:
        rig.follow()
        assert rig.say("REPLICAOF 10.0.0.1 7000") == Simple(b"OK Already connected to specified master")
        assert rig.effects == [HurryLink(Simple(b"OK Already connected to specified master"))]
        rig.say("REPLICAOF 10.0.0.1 7001")
        assert rig.effects[1:] == [ReplicaOf("10.0.0.1", 7001)]

    @pytest.mark.parametrize("port", ["x", "-1", "65536", "99999999999999999999"])
    def test_bad_ports(self, rig: Rig, port: str) -> None:
        assert rig.error(f"REPLICAOF h {port}") == "ERR Invalid master port"

    def test_not_from_a_replica(self, rig: Rig) -> None:
        rig.client.become_replica()
        assert rig.error("REPLICAOF h 1") == "ERR Command is not valid when client is a replica."


class TestWait:
    def test_enough_have_it(self, rig: Rig) -> None:
        rig.stream()
        rig.say("SET a 1")
        attach(rig, 1, rig.client.write_cut)
        attach(rig, 2, rig.client.write_cut - 1)
        assert rig.say("WAIT 1 0") == 1
        assert not rig.effects

    def test_too_few_have_it(self, rig: Rig) -> None:
        rig.stream()
        rig.say("SET a 1")
        attach(rig, 1, 0)
        rig.say("WAIT 1 100")
        assert rig.effects == [Wait(1, 100)]

    def test_who_wrote_nothing_asks_for_nothing(self, rig: Rig) -> None:
        attach(rig, 1, 0)
        assert rig.say("WAIT 1 0") == 1

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("x 0", "ERR value is not an integer or out of range"),
            ("0 x", "ERR timeout is not an integer or out of range"),
            ("0 -1", "ERR timeout is negative"),
        ],
    )
    def test_errors(self, rig: Rig, words: str, text: str) -> None:
        assert rig.error(f"WAIT {words}") == text

    def test_not_on_a_replica(self, rig: Rig) -> None:
        rig.follow()
        assert rig.error("WAIT 0 0").startswith("ERR WAIT cannot be used with replica instances.")


class TestOfReplicas:
    def test_the_whole_command_is_handed_on(self, rig: Rig) -> None:
        rig.say("REPLCONF listening-port 7001 capa eof")
        rig.say("psync ? -1")
        rig.say("SYNC")
        assert rig.effects == [
            Replconf((b"REPLCONF", b"listening-port", b"7001", b"capa", b"eof")),
            Sync((b"psync", b"?", b"-1")),
            Sync((b"SYNC",)),
        ]

    def test_replconf_comes_in_pairs(self, rig: Rig) -> None:
        assert rig.error("REPLCONF capa") == "ERR syntax error"
        assert rig.say("REPLCONF") == OK

    @pytest.mark.parametrize("line", ["PSYNC ? -1", "SYNC"])
    def test_not_in_a_transaction(self, rig: Rig, line: str) -> None:
        rig.say("MULTI")
        assert rig.error(line) == "ERR Command not allowed inside a transaction"
