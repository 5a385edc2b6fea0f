"""TIME, INFO, LASTSAVE, SAVE, BGSAVE, SHUTDOWN, MONITOR and the questions about what does not exist here."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import AbortShutdown, BgSave, Save, SaveMode, ScheduleBgSave, Shutdown
from pyrepl.resp.reply import OK, Verbatim
from tests.unit.commands.rig import START_MS, START_S, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_time(rig: Rig) -> None:
    assert rig.say("TIME") == [b"1700000000", b"123000"]


class TestInfo:
    def text(self, rig: Rig, line: str) -> str:
        reply = rig.say(line)
        assert isinstance(reply, Verbatim)
        return reply.text.decode()

    def test_some_sections_in_any_case(self, rig: Rig) -> None:
        text = self.text(rig, "INFO Keyspace SERVER nosuch")
        assert [line for line in text.splitlines() if line.startswith("#")] == ["# Server", "# Keyspace"]

    def test_nothing_known(self, rig: Rig) -> None:
        assert self.text(rig, "INFO nosuch") == ""

    def test_the_usual_ones(self, rig: Rig) -> None:
        assert "# Replication" in self.text(rig, "INFO")
        assert "# Commandstats" not in self.text(rig, "INFO")
        assert "# Commandstats" in self.text(rig, "INFO all")

    def test_as_text_in_resp3(self, rig: Rig) -> None:
        rig.say("HELLO 3")
        assert rig.wire("INFO cluster") == b"=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"


class TestSaves:
    def test_lastsave(self, rig: Rig) -> None:
        assert rig.say("LASTSAVE") == START_MS // 1000

    def test_effects(self, rig: Rig) -> None:
        rig.say("SAVE")
        rig.say("BGSAVE")
        rig.say("BGSAVE SCHEDULE")
        assert rig.effects == [Save(), BgSave(), BgSave()]

    def test_in_a_transaction_it_waits_for_the_end(self, rig: Rig) -> None:
        for line in ("MULTI", "BGSAVE", "EXEC"):
            rig.say(line)
        assert rig.effects == [ScheduleBgSave()]

    @pytest.mark.parametrize("line", ["SAVE", "BGSAVE", "BGSAVE SCHEDULE"])
    def test_one_at_a_time(self, rig: Rig, line: str) -> None:
        rig.node.persistence.bgsave_started_at = START_S
        assert rig.error(line) == "ERR Background save already in progress"
        assert not rig.effects

    def test_errors(self, rig: Rig) -> None:
        assert rig.error("BGSAVE foo") == "ERR syntax error"
        assert rig.error("BGSAVE SCHEDULE x") == "ERR syntax error"


class TestShutdown:
    @pytest.mark.parametrize(
        ("options", "effect"),
        [
            ("", Shutdown()),
            ("save", Shutdown(SaveMode.SAVE)),
            ("NOSAVE NOW", Shutdown(SaveMode.NOSAVE, now=True)),
            ("FORCE", Shutdown(force=True)),
            ("now force save now", Shutdown(SaveMode.SAVE, now=True, force=True)),
            ("ABORT", AbortShutdown()),
        ],
    )
    def test_options(self, rig: Rig, options: str, effect: object) -> None:
        rig.say(f"SHUTDOWN {options}")
        assert rig.effects == [effect]

    @pytest.mark.parametrize("options", ["foo", "save nosave", "abort now"])
    def test_errors(self, rig: Rig, options: str) -> None:
        assert rig.error(f"SHUTDOWN {options}") == "ERR syntax error"
        assert not rig.effects


class TestMonitor:
    def test_the_client_is_one_from_now_on(self, rig: Rig) -> None:
        assert rig.say("MONITOR") == OK
        assert rig.node.monitors == {1}
        assert rig.node.conditions.guarded
        assert " flags=O " in rig.wire("CLIENT INFO").decode()
        assert rig.client.kind == "normal"

    def test_not_in_a_transaction(self, rig: Rig) -> None:
        for line in ("MULTI", "MONITOR"):
            rig.say(line)
        assert b"-ERR MONITOR isn't allowed" in rig.wire("EXEC")
        assert not rig.node.monitors
