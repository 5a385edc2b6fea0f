"""EVAL and its like: effects on data and stream, and the gates."""

from __future__ import annotations

import pytest

from pyrepl.node.conditions import Condition
from pyrepl.resp.encoder import encode_reply
from tests.unit.commands.rig import Rig

INCR = "return redis.call('INCR', KEYS[1])"


@pytest.fixture
def rig() -> Rig:
    return Rig()


def said(rig: Rig, *words: str | int) -> bytes:
    return encode_reply(rig.run(*words), rig.client.proto)


def test_the_commands_of_a_script_are_one_unit(rig: Rig) -> None:
    rig.stream()
    assert rig.run("EVAL", INCR, 1, "a") == 1
    assert rig.stream() == ["SELECT 0", "INCR a"]
    rig.run("EVAL", "redis.call('SET', 'a', 1) redis.call('GET', 'a') redis.call('SET', 'b', 2)", 0)
    assert rig.stream() == ["MULTI", "SET a 1", "SET b 2", "EXEC"]
    rig.run("EVAL", "return redis.call('GET', 'a')", 0)
    assert rig.stream() == []


def test_what_was_done_before_an_error_stays_and_is_propagated(rig: Rig) -> None:
    rig.stream()
    reply = said(rig, "EVAL", "redis.call('SET', 'a', 'x') return redis.call('INCR', 'a')", 0)
    assert reply.startswith(b"-ERR value is not an integer or out of range script: ")
    assert rig.stream() == ["SELECT 0", "SET a x"] and rig.run("GET", "a") == b"x"
    assert rig.node.stats.of("eval").failed_calls == 1 and rig.node.stats.of("incr").failed_calls == 1


def test_set_repl_keeps_commands_out_of_the_stream(rig: Rig) -> None:
    rig.stream()
    rig.run("EVAL", "redis.set_repl(0) redis.call('SET', 'a', 1) redis.set_repl(3) redis.call('SET', 'b', 1)", 0)
    assert rig.stream() == ["SELECT 0", "SET b 1"]


def test_a_database_is_the_scripts_own(rig: Rig) -> None:
    rig.run("EVAL", "redis.call('SELECT', 3) return redis.call('SET', 'a', 1)", 0)
    assert rig.run("EXISTS", "a") == 0 and rig.client.db_index == 0
    rig.run("SELECT", 3)
    assert rig.run("EVAL", "return redis.call('EXISTS', 'a')", 0) == 1


def test_a_script_in_a_transaction(rig: Rig) -> None:
    rig.stream()
    for words in (("MULTI",), ("EVAL", INCR, 1, "n"), ("SET", "a", 1), ("EXEC",)):
        reply = rig.run(*words)
    assert encode_reply(reply, 2) == b"*2\r\n:1\r\n+OK\r\n"
    assert rig.stream() == ["SELECT 0", "MULTI", "INCR n", "SET a 1", "EXEC"] or rig.stream() == []


def test_one_instant(rig: Rig) -> None:
    code = "local a = redis.call('TIME') for i = 1, 1000 do end return a[1] == redis.call('TIME')[1] and 1 or 0"
    assert rig.run("EVAL", code, 0) == 1


def test_gates_of_a_replica(rig: Rig) -> None:
    rig.follow()
    assert b"READONLY You can't write" in said(rig, "EVAL", INCR, 1, "a")
    assert said(rig, "EVAL", "#!lua\nreturn 1", 0).startswith(b"-READONLY Can not run script with write flag")
    assert rig.run("EVAL", "#!lua flags=no-writes\nreturn 1", 0) == 1
    rig.node.settings.replica_serve_stale_data = False
    assert said(rig, "EVAL", "return 1", 0).startswith(b"-MASTERDOWN Link with MASTER is down and")
    assert said(rig, "EVAL", "#!lua flags=no-writes\nreturn 1", 0).startswith(b"-MASTERDOWN Link with MASTER is down, ")
    allowed = "#!lua flags=no-writes,allow-stale\n"
    assert rig.run("EVAL", allowed + "return 1", 0) == 1
    assert b"Can not execute the command on a stale replica" in said(
        rig, "EVAL", allowed + "return redis.call('GET', 'a')", 0
    )


def test_gates_of_a_disk_that_failed(rig: Rig) -> None:
    rig.node.persistence.aof.write_error = "No space left"
    rig.node.conditions.note(Condition.AOF_FAILED, True)
    assert b"-MISCONF Errors writing to the AOF file" in said(rig, "EVAL", INCR, 1, "a")
    assert said(rig, "EVAL", "#!lua\nreturn 1", 0).startswith(b"-MISCONF Redis is configured to persist data to AOF")


def test_gates_of_replicas_and_memory() -> None:
    rig = Rig(min_replicas_to_write=1, min_replicas_max_lag=10)
    assert said(rig, "EVAL", INCR, 1, "a").startswith(b"-NOREPLICAS")
    assert said(rig, "EVAL", "#!lua\nreturn 1", 0).startswith(b"-NOREPLICAS")
    rig = Rig()
    rig.node.conditions.note(Condition.TRACKED, True)
    rig.node.memory.full = True
    assert said(rig, "EVAL", "return redis.call('SET', 'a', 1)", 0).startswith(b"-OOM command not allowed")
    rig.node.memory.full = True
    assert said(rig, "EVAL", "#!lua\nreturn 1", 0).startswith(b"-OOM allow-oom flag is not set on the script")
    rig.node.memory.full = True
    assert rig.run("EVAL", "#!lua flags=allow-oom\nreturn redis.call('SET', 'a', 1)[1] and 1 or 2", 0) == 2


def test_monitors_see_the_script_first(rig: Rig) -> None:
    monitor = rig.connect()
    rig.node.begin_monitor(monitor)
    rig.run("EVAL", "return redis.call('GET', 'a')", 0)
    lines = [repr(message) for _, message in rig.node.deliveries]
    assert len(lines) == 2 and "EVAL" in lines[0] and '[0 lua] "GET"' in lines[1]


def test_a_full_interpreter_is_replaced() -> None:
    rig = Rig(lua_memory_limit=64 << 20)
    assert rig.run("EVAL", "return #ARGV[1]", 0, b"x" * (10 << 20)) == 10 << 20
    first = rig.node.scripts.interpreter
    assert (
        rig.run("EVAL", "return #ARGV[1]", 0, b"x" * (20 << 20)) == 20 << 20
        or rig.node.scripts.interpreter is not first
    )
    assert rig.run("EVAL", "return 1", 0) == 1


def test_other_scripts_outlive_a_full_interpreter() -> None:
    """They are in the cache, so they run: the new interpreter compiles them when they are called."""
    rig = Rig(lua_memory_limit=64 << 20)
    short, long = (rig.run("SCRIPT", "LOAD", text) for text in ("return 'here'", "return #ARGV[1]"))
    assert isinstance(short, bytes) and isinstance(long, bytes)
    first = rig.node.scripts.interpreter
    assert rig.run("EVALSHA", long, 0, b"x" * (20 << 20)) == 20 << 20
    assert rig.node.scripts.interpreter is not first
    assert rig.run("EVALSHA", short, 0) == b"here" and rig.run("SCRIPT", "EXISTS", short) == [1]


@pytest.mark.parametrize("words", [[b"x" * (70 << 20)], [b"%d" % number for number in range(1_000_000)]])
def test_words_that_do_not_fit_into_memory(words: list[bytes]) -> None:
    """Lua would end the process."""
    rig = Rig(lua_memory_limit=64 << 20)
    assert str(rig.run("EVAL", "return 1", 0, *words)) == "ERR not enough memory"
    assert rig.run("EVAL", "return 1", 0) == 1


@pytest.mark.parametrize("way", [("EVAL",), ("SCRIPT", "LOAD")])
def test_a_text_that_does_not_fit_into_memory(way: tuple[str, ...]) -> None:
    rig = Rig(lua_memory_limit=64 << 20)
    arguments = [0] if way == ("EVAL",) else []
    failed = rig.run(*way, b"return 1 --" + b"x" * (70 << 20), *arguments)
    assert str(failed).startswith("ERR Error compiling script") and str(failed).endswith("not enough memory")
    assert rig.run("EVAL", "return 1", 0) == 1
