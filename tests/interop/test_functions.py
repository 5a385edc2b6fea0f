"""Scripts, functions and blocking commands on a master with replicas of three makes; an endless function is ended."""

from __future__ import annotations

import threading

import pytest

from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply
from tests.peers.writer import Writer

COMMANDS = 6000
REPLICAS = ("redis8", "valkey8", "pyrepl")
ENDLESS = "#!lua name=endless\nredis.register_function('endless', function() while true do end end)"


def start(lab: Lab, **directives: str) -> tuple[Node, list[Node]]:
    """A pyrepl master and its replicas."""
    master = lab.start("pyrepl", directives={name.replace("_", "-"): value for name, value in directives.items()})
    replicas = [lab.start(kind, master) for kind in REPLICAS]
    for replica in replicas:
        replica.wait_link_up()
    return master, replicas


def written(writer: Writer) -> int:
    """How many commands it has written. Raises what ended it, if something did."""
    writer.check()
    return writer.written


def test_replicas_of_three_makes_have_the_same(lab: Lab) -> None:
    master, replicas = start(lab)
    for name in dataset.LIBRARIES:
        master.call("FUNCTION", "LOAD", dataset.library(name, 1))
    with Writer(master, scripts=True) as writer:
        wait_until("the writer has written", lambda: written(writer) > COMMANDS)
    for replica in replicas:
        compare.settle(master, replica)
        compare.assert_equal(master, replica)


def test_an_endless_function_is_ended_and_the_replicas_stay(lab: Lab) -> None:
    master, replicas = start(lab, busy_reply_threshold="100")
    master.call("FUNCTION", "LOAD", ENDLESS)
    told: list[BaseException] = []

    def call() -> None:
        with master.connect() as wire, pytest.raises(ErrorReply) as caught:
            wire.call("FCALL", "endless", 0)
        told.append(caught.value)

    caller = threading.Thread(target=call)
    caller.start()

    def is_busy() -> bool:
        try:
            master.call("GET", "a")
        except ErrorReply as error:
            return str(error).startswith("BUSY")
        return False

    wait_until("others are told that the node is busy", is_busy)
    assert master.call("FUNCTION", "KILL") == "OK"
    caller.join(60)
    assert "Script killed by user with FUNCTION KILL" in str(told[0])
    master.call("SET", "a", "1")
    for replica in replicas:
        compare.settle(master, replica)
        compare.assert_equal(master, replica)
    assert master.stat("sync_full") == len(REPLICAS)
