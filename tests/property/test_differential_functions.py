"""FUNCTION and FCALL on pyrepl and on Redis 8.2; libraries that go from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.peers.lab import Lab, wait_until
from tests.property.differential import Duel, Words

LIBRARY = """#!lua name=mylib
local function incr(keys, argv)
  return redis.call('INCRBY', keys[1], argv[1] or 1)
end
local calls = 0
redis.register_function('incr', incr)
redis.register_function{function_name='peek', callback=function(keys) return redis.call('GET', keys[1]) end,
  flags={'no-writes'}, description='reads'}
redis.register_function('fails', function(keys, argv)
  return redis.call('NOSUCH')
end)
redis.register_function('count', function() calls = calls + 1 return calls end)
"""


COMMANDS: tuple[Words, ...] = (
    ("FUNCTION", "FLUSH"),
    ("FUNCTION", "LOAD", LIBRARY),
    ("FUNCTION", "LOAD", LIBRARY),
    ("FUNCTION", "LOAD", "REPLACE", LIBRARY),
    ("FCALL", "incr", 1, "a", 5),
    ("FCALL", "incr", 1, "a"),
    ("FCALL_RO", "incr", 1, "a"),
    ("FCALL_RO", "peek", 1, "a"),
    ("FCALL", "peek", 1, "a"),
    ("FCALL", "fails", 0),
    ("FCALL", "count", 0),
    ("FCALL", "count", 0),
    ("FCALL", "nosuch", 0),
    ("FCALL", "incr", "x"),
    ("FCALL", "incr", 5, "a"),
    ("FCALL", "incr", -1),
    ("FUNCTION", "LIST", "LIBRARYNAME", "x*"),
    ("FUNCTION", "LIST", "X"),
    ("FUNCTION", "LIST", "LIBRARYNAME"),
    ("FUNCTION", "STATS"),
    ("FUNCTION", "KILL"),
    ("FUNCTION", "LOAD", "return 1"),
    ("FUNCTION", "LOAD", "#!lua"),
    ("FUNCTION", "LOAD", "#!lua\nx"),
    ("FUNCTION", "LOAD", "#!lua name=\nx"),
    ("FUNCTION", "LOAD", "#!lua name=a-b\nx"),
    ("FUNCTION", "LOAD", "#!js name=a\nx"),
    ("FUNCTION", "LOAD", "#!lua name=a name=b\nx"),
    ("FUNCTION", "LOAD", "#!lua nam=a\nx"),
    ("FUNCTION", "LOAD", "#!lua name=e\nreturn 1"),
    ("FUNCTION", "LOAD", "#!lua name=e\nx x"),
    ("FUNCTION", "LOAD", "#!lua name=e\nerror('boo')"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.call('PING')"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function('incr', function() end)"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function('a b', function() end)"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function('a', 5)"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function(5)"),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function{function_name='q'}"),
    (
        "FUNCTION",
        "LOAD",
        "#!lua name=e\nredis.register_function{function_name='q',callback=function() end, flags={'bad'}}",
    ),
    ("FUNCTION", "LOAD", "#!lua name=e\nredis.register_function{function_name='q',callback=function() end, oops=1}"),
    (
        "FUNCTION",
        "LOAD",
        "#!lua name=e\nredis.register_function('q',function() end) redis.register_function('q',function() end)",
    ),
    ("FUNCTION", "LOAD", "#!lua name=e\nx = 1"),
    ("FUNCTION", "LOAD", "WRONG", "x"),
    (
        "FUNCTION",
        "LOAD",
        "#!lua name=e\nredis.register_function('late', function() redis.register_function('w', function() end) end)",
    ),
    ("FCALL", "late", 0),
    ("FUNCTION", "LOAD", "#!lua name=g\nredis.register_function('glob', function() return KEYS end)"),
    ("FCALL", "glob", 0),
    ("FUNCTION", "DELETE", "e"),
    ("FUNCTION", "DELETE", "e"),
    ("FCALL", "late", 0),
    ("MULTI",),
    ("FCALL", "incr", 1, "z"),
    ("FUNCTION", "DELETE", "g"),
    ("EXEC",),
    ("SCRIPT", "FLUSH"),
    ("FCALL", "incr", 1, "z"),
    ("FUNCTION", "RESTORE", "x"),
    ("FUNCTION", "RESTORE", "x", "BAD"),
    ("FUNCTION", "FLUSH", "X"),
    ("FLUSHALL",),
    ("FCALL", "incr", 1, "z"),
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        yield lab


def commands(rng: Random) -> Iterator[Words]:
    yield from COMMANDS


def test_functions(lab: Lab) -> None:
    with Duel(lab.start("redis8")) as duel:
        for proto in (2, 3):
            duel.fight(commands, proto, len(COMMANDS), streams=True)


@pytest.mark.parametrize(("master", "replica"), [("pyrepl", "redis8"), ("redis8", "pyrepl"), ("pyrepl", "pyrepl")])
def test_functions_travel(lab: Lab, master: str, replica: str) -> None:
    """In a full sync, in the stream, and by DUMP and RESTORE."""
    first = lab.start(master)
    first.call("FUNCTION", "LOAD", LIBRARY)
    second = lab.start(replica, master=first)
    wait_until("in sync", lambda: second.info("replication").get("master_link_status") == "up")
    first.call("SET", "a", 7)
    wait_until("the write came", lambda: second.call("GET", "a") == b"7")
    assert second.call("FCALL_RO", "peek", 1, "a") == b"7"
    first.call(
        "FUNCTION",
        "LOAD",
        "#!lua name=more\nredis.register_function{function_name='m', callback=function() "
        "return 8 end, flags={'no-writes'}}",
    )
    first.call("FCALL", "incr", 1, "a", 5)
    wait_until("the function's write came", lambda: second.call("GET", "a") == b"12")
    assert second.call("FCALL", "m", 0) == 8
    payload = first.call("FUNCTION", "DUMP")
    third = lab.start(replica)
    assert third.call("FUNCTION", "RESTORE", payload) == "OK" and third.call("FCALL", "m", 0) == 8


def test_functions_outlive_a_restart(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"appendonly": "yes"})
    node.call("FUNCTION", "LOAD", LIBRARY)
    node.call("BGREWRITEAOF")
    wait_until("rewritten", lambda: node.info("persistence")["aof_rewrite_in_progress"] == "0")
    node.call("FCALL", "incr", 1, "a", 3)
    node.terminate()
    again = lab.start("pyrepl", directives={"appendonly": "yes"}, folder=node.folder)
    assert again.call("FCALL", "incr", 1, "a", 1) == 4
