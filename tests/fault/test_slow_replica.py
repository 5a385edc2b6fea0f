"""A replica that does not read is cut at client-output-buffer-limit replica; the master's memory stays bounded."""

from __future__ import annotations

import pytest

from tests.fault.processes import resident_bytes
from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import Wire

MB = 1 << 20
VALUE = b"v" * (MB // 8)


def asleep(master: Node) -> Wire:
    """A replica that finished its sync, went online, and reads no more."""
    wire = Wire(master.port)
    assert wire.call("REPLCONF", "listening-port", 1) == "OK"
    assert wire.call("REPLCONF", "capa", "eof", "capa", "psync2") == "OK"
    verdict = wire.call("PSYNC", "?", "-1")
    assert verdict.startswith("FULLRESYNC")
    line = b"\n"
    while line == b"\n":
        line = wire.file.readline()
    mark = line.strip()[5:]
    data = b""
    while not data.endswith(mark):
        data += wire.file.read1()  # type: ignore[attr-defined]
    wire.send(b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n")
    master.wait_online()
    return wire


@pytest.mark.parametrize(
    ("limit", "most_held"),
    [("replica 4mb 0 0", 40 * MB), ("replica 0 4mb 2", 100 * MB)],
    ids=["hard", "soft"],
)
def test_sleeping_replica_is_cut_and_named(lab: Lab, limit: str, most_held: int) -> None:
    directives = {"client-output-buffer-limit": limit, "repl-backlog-size": "1mb", "repl-diskless-sync": "yes"}
    master = lab.start("pyrepl", directives=directives)
    awake = lab.start("redis7", master)
    awake.wait_link_up()
    sleeper = asleep(master)
    before = resident_bytes(master)
    for number in range(64 * 8):
        master.call("SET", f"key:{number % 4}", VALUE)
        if number % 8 == 7:
            # The one that is awake keeps up, however little it is let work.
            assert master.call("WAIT", 1, 50_000) == 1
    assert resident_bytes(master) < before + most_held
    wait_until("the sleeping replica is cut", lambda: master.info("replication")["connected_slaves"] == "1")
    assert "overcoming of output buffer limits" in master.log()
    sleeper.close()
    awake.wait_link_up()
    compare.settle(master, awake)
    compare.assert_equal(master, awake)
    assert master.stat("sync_full") == 2


def test_normal_client_that_does_not_read(lab: Lab) -> None:
    """The limit of class normal: no replica, but the same danger to memory."""
    node = lab.start("pyrepl", directives={"client-output-buffer-limit": "normal 4mb 0 0"})
    node.call("SET", "big", b"x" * MB)
    before = resident_bytes(node)
    wire = Wire(node.port)
    wire.send(b"*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n" * 100)
    wait_until("it is cut", lambda: "overcoming of output buffer limits" in node.log())
    assert resident_bytes(node) < before + 64 * MB, "a hundred replies were not kept"
    wire.close()
