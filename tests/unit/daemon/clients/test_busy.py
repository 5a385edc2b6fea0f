"""What others are told while a script runs for too long; the node is a process, as its loop stands still meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Wire

ENDLESS = "while true do end"
WRITES = "redis.call('SET', 'a', 1) while true do end"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        yield lab


def said(wire: Wire, *words: str) -> str:
    try:
        return str(wire.call(*words))
    except ErrorReply as error:
        return str(error)


def busy(node: Node, script: str) -> tuple[Wire, Wire]:
    """(the connection whose script runs, another one that is told so)."""
    other = node.connect()
    other.call("PING")
    wire = node.connect()
    wire.pipeline([("SET", "before", "1"), ("SCRIPT", "FLUSH")])
    wire.send(b"*3\r\n$4\r\nEVAL\r\n$%d\r\n%b\r\n$1\r\n0\r\n" % (len(script), script.encode()))
    wait_until("it is busy", lambda: said(other, "PING").startswith("BUSY"))
    return wire, other


def test_a_script_is_killed_and_the_node_goes_on(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"busy-reply-threshold": "50"})
    wire, other = busy(node, ENDLESS)
    newcomer = node.connect()
    assert said(newcomer, "GET", "before").startswith(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL"
    )
    assert said(newcomer, "SHUTDOWN", "SAVE").startswith("BUSY")
    wire.send(b"PING\r\n")
    assert said(other, "SCRIPT", "KILL") == "OK"
    with_error = wire.read()
    assert "Script killed by user with SCRIPT KILL" in str(with_error)
    assert wire.read() == "PONG" and said(newcomer, "GET", "before") == "b'1'"
    assert "Slow script detected" in node.log()


def test_a_script_that_wrote_is_ended_by_shutdown_alone(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"lua-time-limit": "50", "appendonly": "yes", "appendfsync": "always"})
    _, other = busy(node, WRITES)
    assert said(other, "SCRIPT", "KILL").startswith("UNKILLABLE")
    other.send(b"SHUTDOWN NOSAVE\r\n")
    wait_until("the process has ended", lambda: not node.alive())
    again = lab.start("pyrepl", directives={"appendonly": "yes"}, folder=node.folder)
    assert again.call("EXISTS", "a") == 0 and again.call("GET", "before") == b"1"


def test_the_instant_of_a_script_stays(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"busy-reply-threshold": "20"})
    script = """
    redis.call('SET', 'soon', 1, 'PX', 100)
    local before = redis.call('TIME')
    for i = 1, 3e7 do end
    local after = redis.call('TIME')
    return {before[1] == after[1] and before[2] == after[2] and 1 or 0, redis.call('EXISTS', 'soon')}
    """
    wire, other = busy(node, script)
    assert wire.read() == [1, 1]
    time.sleep(0.1)
    assert said(other, "EXISTS", "soon") == "0"
