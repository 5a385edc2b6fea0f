"""FUNCTION, FCALL and FCALL_RO."""

from __future__ import annotations

import pytest

from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import OK
from tests.unit.commands.rig import Rig

LIBRARY = b"""#!lua name=lib
redis.register_function('incr', function(keys, argv)
  return redis.call('INCRBY', keys[1], argv[1])
end)
redis.register_function{function_name='peek', callback=function(keys) return redis.call('GET', keys[1]) end,
  flags={'no-writes'}}
"""
OTHER = b"#!lua name=other\nredis.register_function('seven', function() return 7 end)"


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    assert rig.run("FUNCTION", "LOAD", LIBRARY) == b"lib"
    return rig


def test_what_goes_to_replicas(rig: Rig) -> None:
    assert rig.stream() == ["SELECT 0", f"FUNCTION LOAD {LIBRARY.decode()}"]
    assert rig.run("FCALL", "incr", 1, "a", 5) == 5 and rig.run("FCALL_RO", "peek", 1, "a") == b"5"
    assert rig.stream() == ["INCRBY a 5"]
    rig.run("FUNCTION", "DELETE", "lib")
    rig.run("FUNCTION", "FLUSH")
    assert rig.stream() == ["FUNCTION DELETE lib", "FUNCTION FLUSH"]


def test_errors_name_the_function(rig: Rig) -> None:
    rig.run("SET", "a", "x")
    reply = encode_reply(rig.run("FCALL", "incr", 1, "a", 5), 2)
    assert reply.endswith(b" script: incr, on @user_function:3.\r\n")
    assert "read-only" in str(rig.run("FCALL_RO", "incr", 1, "a", 5)) or "*_ro" in str(
        rig.run("FCALL_RO", "incr", 1, "a", 5)
    )
    assert "Function not found" in rig.error("FCALL nosuch 0")


def test_dump_and_restore(rig: Rig) -> None:
    payload = rig.run("FUNCTION", "DUMP")
    assert isinstance(payload, bytes)
    assert "Library lib already exists" in str(rig.run("FUNCTION", "RESTORE", payload))
    assert rig.run("FCALL", "incr", 1, "a", 1) == 1
    assert rig.run("FUNCTION", "RESTORE", payload, "REPLACE") == OK
    rig.run("FUNCTION", "LOAD", OTHER)
    assert rig.run("FUNCTION", "RESTORE", payload, "FLUSH") == OK
    assert rig.run("FCALL", "incr", 1, "a", 1) == 2 and "not found" in rig.error("FCALL seven 0")
    rig.run("FUNCTION", "FLUSH")
    rig.run("FUNCTION", "LOAD", OTHER)
    assert rig.run("FUNCTION", "RESTORE", payload) == OK
    assert rig.run("FCALL", "incr", 1, "a", 1) == 3 and rig.run("FCALL", "seven", 0) == 7


def test_list_and_stats(rig: Rig) -> None:
    listed = rig.run("FUNCTION", "LIST", "LIBRARYNAME", "L*", "WITHCODE")
    assert isinstance(listed, list) and isinstance(listed[0], dict) and listed[0][b"library_code"] == LIBRARY
    assert rig.run("FUNCTION", "LIST", "LIBRARYNAME", "x*") == []
    stats = rig.run("FUNCTION", "STATS")
    assert isinstance(stats, dict)
    assert stats[b"running_script"] is None
    assert stats[b"engines"] == {b"LUA": {b"libraries_count": 1, b"functions_count": 2}}
    assert isinstance(rig.say("FUNCTION HELP"), list) and "NOTBUSY" in rig.error("FUNCTION KILL")


HOARD = b"""#!lua name=hoard
local kept = {}
redis.register_function('keep', function(keys, argv)
  kept[#kept + 1] = string.rep(argv[1], 3000000)
  return #kept
end)
"""


def test_a_full_interpreter_is_replaced_and_has_all_libraries() -> None:
    """What a function has kept is gone then, as after a restart; every library still answers."""
    rig = Rig(lua_memory_limit=16 << 20)
    rig.run("FUNCTION", "LOAD", LIBRARY)
    rig.run("FUNCTION", "LOAD", HOARD)
    first = rig.node.scripts.functions_interpreter
    counts = [rig.run("FCALL", "keep", 0, f"{number}") for number in range(6)]
    assert counts[:2] == [1, 2] and counts.count(1) > 1
    assert rig.node.scripts.functions_interpreter is not first
    assert rig.run("FCALL", "incr", 1, "a", 5) == 5


def test_what_does_not_fit_into_memory() -> None:
    """Lua would end the process."""
    rig = Rig(lua_memory_limit=64 << 20)
    failed = rig.run("FUNCTION", "LOAD", LIBRARY + b" --" + b"x" * (70 << 20))
    assert str(failed) == "ERR Error compiling function: not enough memory"
    rig.run("FUNCTION", "LOAD", LIBRARY)
    assert str(rig.run("FCALL", "incr", 1, "a", *[b"%d" % number for number in range(1_000_000)])) == (
        "ERR not enough memory"
    )
    assert rig.run("FCALL", "incr", 1, "a", 5) == 5
