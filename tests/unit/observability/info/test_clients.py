"""INFO clients: what connections hold."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestClients:
    def test_counts(self, rig: Rig) -> None:
        rig.say("SUBSCRIBE a", rig.connect())
        rig.say("WATCH k j", rig.connect())
        rig.connect().become_replica()
        blocked = rig.connect()
        blocked.is_blocked = True
        blocked.query_buffer_bytes, blocked.output_bytes = 100, 200
        shown = info(rig, "clients")
        assert shown["connected_clients"] == "4"
        assert (shown["blocked_clients"], shown["pubsub_clients"], shown["watching_clients"]) == ("1", "1", "1")
        assert shown["total_watched_keys"] == "2"
        assert shown["client_recent_max_input_buffer"] == "100"
        assert shown["client_recent_max_output_buffer"] == "200"
