"""The dispatcher on a master's stream: what is executed of it, what is refused, and that nothing is propagated."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.call import Call
from pyrepl.errors import CommandError
from tests.unit.commands.rig import Rig


def link_call(rig: Rig) -> Call:
    """What our master's commands run with."""
    rig.follow()
    return rig.call(rig.node.replication.link_client)


def test_the_stream_is_applied_up_to_the_first_error_and_goes_on_behind_it() -> None:
    rig = Rig()
    call = link_call(rig)
    commands = [[b"SET", b"a", b"1"], [b"LPUSH", b"a", b"x"], [b"INCR", b"a"], [b"NONE"], [b"incr", b"a"]]
    index, error = rig.dispatcher.apply(call, commands, 0)
    assert index == 1 and isinstance(error, CommandError) and str(error).startswith("WRONGTYPE")
    index, error = rig.dispatcher.apply(call, commands, 2)
    assert index == 3 and str(error).startswith("ERR unknown command")
    assert rig.dispatcher.apply(call, commands, 4) == (5, None)
    assert rig.node.keyspace.databases[0].store.values == {b"a": b"3"}
    assert rig.node.stats.of("incr").calls == 2 and rig.node.stats.of("lpush").failed_calls == 1


@pytest.mark.parametrize(
    "line",
    [
        "REPLICAOF NO ONE",
        "replicaof no one",
        "SLAVEOF NO ONE",
        "SHUTDOWN NOSAVE",
        "HELLO 3",
        "MONITOR",
        "SUBSCRIBE a",
        "QUIT",
        "AUTH x",
        "AUTH",
        "CLIENT KILL TYPE master",
        "CLIENT KILL",
        "CLIENT",
        "CONFIG SET maxmemory 1",
        "DEBUG SLEEP 0",
        "WATCH a",
        "DISCARD",
        "GET a",
        "WAIT 0 0",
        "PSYNC ? -1",
        "FAILOVER",
        "BGSAVE",
        "EVAL_RO x 0",
        "NOSUCH x 0",
    ],
)
def test_what_no_master_sends_is_not_executed(line: str) -> None:
    """By the flags of its row alone, whatever the spelling and the number of words; unknown names stay unknown."""
    rig = Rig()
    call = link_call(rig)
    argv = line.encode().split()
    index, error = rig.dispatcher.apply(call, [[b"SET", b"a", b"1"], argv, [b"SET", b"a", b"2"]], 0)
    assert index == 1 and isinstance(error, CommandError)
    reason = "unknown_command" if "NOSUCH" in line else "foreign_command"
    assert rig.dispatcher.table.why_not_in_stream(argv) == reason
    assert rig.effects == [] and rig.node.keyspace.databases[0].store.values == {b"a": b"1"}
    assert rig.node.replication.role.is_replica


@pytest.mark.parametrize(
    "line",
    [
        "SELECT 1",
        "PING",
        "MULTI",
        "exec",
        "PUBLISH a b",
        "REPLCONF GETACK *",
        "FLUSHALL",
        "XGROUP CREATE s g 0 MKSTREAM",
    ],
)
def test_what_masters_send_is_executed(line: str) -> None:
    rig = Rig()
    call = link_call(rig)
    argv = line.encode().split()
    assert rig.dispatcher.apply(call, [argv], 0) == (1, None)
    assert rig.dispatcher.table.why_not_in_stream(argv) == ""


def test_nothing_of_the_stream_is_propagated() -> None:
    rig = Rig()
    call = link_call(rig)
    rig.stream()
    commands = [[b"SET", b"a", b"1", b"EX", b"100"], [b"MULTI"], [b"SPOP", b"none"], [b"GETDEL", b"a"], [b"EXEC"]]
    assert rig.dispatcher.apply(call, commands, 0) == (5, None)
    assert rig.stream() == [] and call.propagated is None


def test_slow_commands_of_the_stream_are_noted() -> None:
    rig = Rig(slowlog_log_slower_than=1_000_000)
    call = link_call(rig)
    rig.step_s = 2.0
    assert rig.dispatcher.apply(call, [[b"SET", b"a", b"1"], [b"DEL", b"a"]], 0) == (2, None)
    assert rig.node.stats.of("set").seconds == rig.node.stats.of("del").seconds == 2.0
    assert [entry.argv[0] for entry in rig.node.slowlog.entries] == [b"DEL", b"SET"]
