"""LATENCY: samples of slow commands, their resets, and the histogram."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import Simple, Verbatim
from tests.unit.commands.rig import START_MS, Rig

NOW_S = START_MS // 1000


@pytest.fixture
def rig() -> Rig:
    return Rig(latency_monitor_threshold=10)


def test_slow_commands_become_samples(rig: Rig) -> None:
    rig.step_s = 0.020
    rig.say("KEYS *")
    rig.say("GET k")
    rig.step_s = 0.001
    assert rig.say("LATENCY LATEST") == [[b"command", NOW_S, 20, 20], [b"fast-command", NOW_S, 20, 20]]
    assert rig.say("LATENCY HISTORY command") == [[NOW_S, 20]]
    assert rig.say("LATENCY HISTORY nope") == []
    assert rig.say("LATENCY RESET nope") == 0
    assert rig.say("LATENCY RESET command") == 1
    assert rig.say("LATENCY RESET") == 1
    assert rig.say("LATENCY LATEST") == []


def test_exec_is_a_sample_though_the_slow_log_has_only_what_it_ran(rig: Rig) -> None:
    rig.say("CONFIG SET slowlog-log-slower-than 15000")
    for line in ("MULTI", "GET k"):
        rig.say(line)
    rig.step_s = 0.020
    rig.say("EXEC")
    assert [entry.argv[0] for entry in rig.node.slowlog.entries] == [b"GET"]
    assert set(rig.node.latency_monitor.series) == {"command", "fast-command"}


def test_the_slow_log_and_the_monitor_have_limits_of_their_own(rig: Rig) -> None:
    rig.say("CONFIG SET slowlog-log-slower-than 5000")
    rig.step_s = 0.0075
    rig.say("KEYS a")
    assert [entry.argv for entry in rig.node.slowlog.entries] == [[b"KEYS", b"a"]]
    assert not rig.node.latency_monitor.series
    rig.say("CONFIG SET slowlog-log-slower-than -1 latency-monitor-threshold 7")
    rig.say("KEYS b")
    assert len(rig.node.slowlog.entries) == 1
    assert "command" in rig.node.latency_monitor.series


def test_a_graph_and_the_doctor(rig: Rig) -> None:
    assert rig.error("LATENCY GRAPH command") == "ERR No samples available for event 'command'"
    rig.step_s = 0.020
    rig.say("KEYS *")
    drawn, told = rig.say("LATENCY GRAPH command"), rig.say("LATENCY DOCTOR")
    assert isinstance(drawn, Verbatim) and drawn.text.startswith(b"command - high 20 ms")
    assert isinstance(told, Verbatim) and b"1. command: " in told.text


def test_help(rig: Rig) -> None:
    lines = rig.say("LATENCY HELP")
    assert isinstance(lines, list) and Simple(b"GRAPH <event>") in lines


def test_latency_histogram(rig: Rig) -> None:
    rig.step_s = 0.001
    rig.say("SET s x")
    rig.say("CONFIG GET port")
    assert rig.say("LATENCY HISTOGRAM set nonesuch") == {b"set": {b"calls": 1, b"histogram_usec": {1056: 1}}}
    of_config, of_all = rig.say("LATENCY HISTOGRAM config"), rig.say("LATENCY HISTOGRAM")
    assert isinstance(of_config, dict) and list(of_config) == [b"config|get"]
    assert isinstance(of_all, dict) and set(of_all) == {b"set", b"config|get", b"latency|histogram"}
