"""What is told of a node's life: the lines in Redis's order, and their records."""

from __future__ import annotations

import pytest

from pyrepl.observability import events
from pyrepl.observability.telling.node_life import LifeTeller
from tests.unit.observability.telling.heard import Heard


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_the_first_lines_come_before_there_is_an_event_log(heard: Heard) -> None:
    LifeTeller(heard.voice, "9.9", 12).starting([events.NoConfigurationFile()], supervisor_missing=True)
    assert heard.texts()[0] == "pyrepl version=9.9, bits=64, pid=12, just started"
    assert heard.said[1:] == [events.NoConfigurationFile(), events.SupervisorMissing()]
    assert heard.told == []


def test_a_node_that_needs_no_supervisor_misses_none(heard: Heard) -> None:
    LifeTeller(heard.voice, "9.9", 12).starting([], supervisor_missing=False)
    assert len(heard.said) == 1


def test_from_its_ports_to_its_clients(heard: Heard) -> None:
    teller = LifeTeller(heard.voice, "9.9", 12)
    teller.listening(7001)
    assert heard.last("node_started") == {"version": "9.9", "pid": 12, "port": 7001}
    teller.initialized()
    teller.ready(5, 0.25, ["tcp", "unix"])
    assert heard.last("node_ready") == {"keys": 5, "startup_ms": 250}
    assert heard.said == [
        events.ModeRunning(7001),
        events.ServerInitialized(),
        events.ReadyToAcceptConnections("tcp"),
        events.ReadyToAcceptConnections("unix"),
    ]


def test_what_the_event_log_says_at_its_end_comes_before_the_last_line(heard: Heard) -> None:
    def close() -> None:
        assert heard.last("node_stopped") == {"uptime_s": 1.235}
        heard.voice(events.EventLogIncomplete(3))

    LifeTeller(heard.voice, "9.9", 12).ended(1.23456, close, orderly=True)
    assert heard.said == [events.EventLogIncomplete(3), events.ByeBye()]


def test_a_node_that_could_not_start_says_no_goodbye(heard: Heard) -> None:
    LifeTeller(heard.voice, "9.9", 12).ended(1.0, lambda: None, orderly=False)
    assert heard.said == [] and heard.names() == ["node_stopped"]
