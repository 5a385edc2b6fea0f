"""INFO keyspace: databases that have keys."""

from __future__ import annotations

import pytest

from pyrepl.observability.info.report import info_text
from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestKeyspace:
    def test_databases_with_keys(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 1000")
        rig.say("SET b 1")
        rig.say("SELECT 9")
        rig.say("HSET h f v")
        rig.say("HEXPIRE h 10 FIELDS 1 f")
        assert info(rig, "keyspace") == {
            "db0": "keys=2,expires=1,avg_ttl=1000,subexpiry=0",
            "db9": "keys=1,expires=0,avg_ttl=0,subexpiry=1",
        }

    def test_empty(self, rig: Rig) -> None:
        assert info_text(rig.node, ["keyspace"]) == b"# Keyspace\r\n"
