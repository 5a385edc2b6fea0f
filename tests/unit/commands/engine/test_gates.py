"""May a command run now? Each gate with its text, and who passes it."""

from __future__ import annotations

import pytest

from pyrepl.node.client import Client
from pyrepl.node.persistence import Loading
from pyrepl.resp.reply import OK, PONG, QUEUED
from tests.unit.commands.rig import START_MS, START_S, Rig

NOAUTH = "NOAUTH Authentication required."
READONLY = "READONLY You can't write against a read only replica."


class TestAuthentication:
    @pytest.fixture
    def rig(self) -> Rig:
        return Rig(requirepass=b"secret")

    @pytest.fixture
    def stranger(self, rig: Rig) -> Client:
        return rig.connect(authenticated=False)

    @pytest.mark.parametrize("line", ["GET a", "PING", "MULTI", "CLIENT ID", "COMMAND COUNT", "SELECT 1", "PSYNC ? -1"])
    def test_strangers_may_do_nothing(self, rig: Rig, stranger: Client, line: str) -> None:
        assert rig.error(line, stranger) == NOAUTH

    def test_unknown_commands_are_told_first(self, rig: Rig, stranger: Client) -> None:
        """Redis looks commands up before it asks who sends them."""
        assert rig.error("NOSUCH", stranger).startswith("ERR unknown command")

    def test_until_auth(self, rig: Rig, stranger: Client) -> None:
        assert rig.error("AUTH wrong", stranger).startswith("WRONGPASS")
        assert rig.error("PING", stranger) == NOAUTH
        assert rig.say("AUTH secret", stranger) == OK
        assert rig.say("PING", stranger) == PONG
        assert not stranger.guarded

    def test_quit_and_reset_are_free(self, rig: Rig, stranger: Client) -> None:
        assert rig.say("QUIT", stranger) == OK
        other = rig.connect(authenticated=False)
        rig.say("RESET", other)
        assert rig.error("PING", other) == NOAUTH


class TestReplica:
    def test_writes_are_refused(self) -> None:
        rig = Rig()
        rig.follow()
        assert rig.error("SET a 1") == READONLY
        assert rig.say("GET a") is None

    def test_unless_replica_read_only_is_no(self) -> None:
        rig = Rig(replica_read_only=False)
        rig.follow()
        assert rig.say("SET a 1") == OK

    def test_the_master_writes(self) -> None:
        rig = Rig()
        rig.follow()
        link_client = rig.node.replication.link_client
        assert rig.say("SET a 1", link_client) == OK
        assert rig.say("GET a") == b"1"

    def test_a_refused_write_spoils_the_transaction(self) -> None:
        rig = Rig()
        rig.follow()
        rig.say("MULTI")
        assert rig.error("SET a 1") == READONLY
        assert rig.error("EXEC") == "EXECABORT Transaction discarded because of previous errors."

    def test_stale_data(self) -> None:
        rig = Rig(replica_serve_stale_data=False)
        rig.follow()
        text = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
        assert rig.error("GET a") == text
        assert rig.error("PING") == text
        assert rig.say("CLIENT ID") == 1
        assert rig.wire("ROLE").startswith(b"*5\r\n$5\r\nslave")


class TestLoading:
    def load(self, rig: Rig, *, asynchronous: bool = False) -> None:
        rig.node.persistence.loading = Loading(START_S, START_MS // 1000, 0, asynchronous=asynchronous)

    def test_most_is_refused(self) -> None:
        rig = Rig()
        self.load(rig)
        text = "LOADING Redis is loading the dataset in memory"
        assert rig.error("GET a") == text
        assert rig.error("SET a 1") == text
        assert rig.error("PING") == text

    @pytest.mark.parametrize("line", ["ECHO x", "CLIENT ID", "INFO", "ROLE", "CONFIG GET port", "SELECT 1", "TIME"])
    def test_some_is_not(self, line: str) -> None:
        rig = Rig()
        self.load(rig)
        assert not rig.wire(line).startswith(b"-")

    def test_while_a_data_set_loads_beside_the_old_one_all_go_on(self) -> None:
        rig = Rig()
        self.load(rig, asynchronous=True)
        assert rig.say("SET a 1") == OK


class TestWrites:
    def test_too_few_replicas(self) -> None:
        rig = Rig(min_replicas_to_write=1)
        assert rig.error("SET a 1") == "NOREPLICAS Not enough good replicas to write."
        assert rig.say("GET a") is None

    def test_after_a_failed_snapshot(self) -> None:
        rig = Rig()
        rig.node.persistence.last_bgsave_ok = False
        assert rig.error("SET a 1").startswith("MISCONF Redis is configured to save RDB snapshots, but")
        assert rig.say("GET a") is None

    @pytest.mark.parametrize("settings", [{"save": ()}, {"stop_writes_on_bgsave_error": False}])
    def test_unless_nobody_minds(self, settings: dict[str, object]) -> None:
        rig = Rig(**settings)
        rig.node.persistence.last_bgsave_ok = False
        assert rig.say("SET a 1") == OK

    def test_exec_counts_as_a_write_when_one_is_queued(self) -> None:
        rig = Rig()
        rig.say("MULTI")
        assert rig.say("SET a 1") == QUEUED
        rig.node.persistence.last_bgsave_ok = False
        assert "MISCONF" in rig.error("EXEC")
        assert rig.say("GET a") != b"1"


class TestSubscribers:
    @pytest.mark.parametrize("line", ["GET a", "SELECT 1", "HELLO 3", "CLIENT ID"])
    def test_may_do_little_in_resp2(self, line: str) -> None:
        rig = Rig()
        rig.say("SUBSCRIBE news")
        text = rig.error(line)
        assert text.startswith("ERR Can't execute '") and text.endswith("are allowed in this context")

    def test_the_text_names_the_command(self) -> None:
        rig = Rig()
        rig.say("SUBSCRIBE news")
        assert rig.error("GET a") == (
            "ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
            "this context"
        )

    def test_may_do_all_in_resp3(self) -> None:
        rig = Rig()
        rig.client.speak(3)
        rig.say("SUBSCRIBE news")
        assert rig.say("SET a 1") == OK

    def test_ping_answers_in_the_form_of_a_message(self) -> None:
        rig = Rig()
        rig.say("PSUBSCRIBE n*")
        assert rig.say("PING") == [b"pong", b""]
        assert rig.say("PING hi") == [b"pong", b"hi"]
        rig.say("PUNSUBSCRIBE")
        assert rig.say("PING") == PONG
