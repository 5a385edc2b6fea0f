"""A call inside a call: each command is executed as usual, and what all of them propagate is one unit."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.nested import Nested, run_queue
from pyrepl.errors import CommandError
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.reply import OK, Reply
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    return rig


def run(nested: Nested, line: str) -> Reply:
    argv = line.encode().split()
    return nested.run(argv, encode_command(argv))


def queued(*lines: str) -> list[tuple[list[bytes], bytes]]:
    words = [line.encode().split() for line in lines]
    return [(argv, encode_command(argv)) for argv in words]


class TestUnit:
    def test_it_goes_out_at_the_end(self, rig: Rig) -> None:
        with Nested(rig.call()) as nested:
            assert run(nested, "SET a 1") == OK
            assert run(nested, "GET a") == b"1"
            assert run(nested, "INCR a") == 2
            assert rig.stream() == [] and rig.client.write_cut == 0
        assert rig.stream() == ["MULTI", "SELECT 0", "SET a 1", "INCR a", "EXEC"]
        assert rig.client.write_cut == rig.node.stream_end

    def test_a_single_command_needs_no_frame(self, rig: Rig) -> None:
        with Nested(rig.call()) as nested:
            run(nested, "SET a 1")
        assert rig.stream() == ["SELECT 0", "SET a 1"]

    def test_nothing_changed(self, rig: Rig) -> None:
        with Nested(rig.call()) as nested:
            run(nested, "GET a")
        assert rig.stream() == [] and rig.client.write_cut == 0

    def test_one_inside_another_joins_it(self, rig: Rig) -> None:
        """A script within a transaction."""
        with Nested(rig.call()) as outer:
            run(outer, "SET a 1")
            with Nested(outer._call) as inner:
                run(inner, "SET b 1")
                run(inner, "SET c 1")
            assert rig.stream() == []
            run(outer, "SET d 1")
        assert rig.stream() == ["MULTI", "SELECT 0", "SET a 1", "SET b 1", "SET c 1", "SET d 1", "EXEC"]

    def test_expired_keys_go_before_the_command_that_met_them(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 1")
        rig.stream()
        rig.pass_s(1)
        with Nested(rig.call()) as nested:
            run(nested, "SET b 1")
            run(nested, "APPEND a x")
        assert rig.stream() == ["MULTI", "SET b 1", "DEL a", "APPEND a x", "EXEC"]

    def test_what_was_executed_before_a_defect_goes_out(self, rig: Rig) -> None:
        with pytest.raises(ZeroDivisionError), Nested(rig.call()) as nested:
            run(nested, "SET a 1")
            raise ZeroDivisionError
        assert rig.stream() == ["SELECT 0", "SET a 1"]
        assert rig.say("SET b 1") == OK and rig.stream() == ["SET b 1"]


class TestTheCallAround:
    def test_its_words_name_and_effects_are_its_own(self, rig: Rig) -> None:
        call = rig.call()
        call.argv, rig.client.last_command = [b"EVAL"], "eval"
        with Nested(call) as nested:
            run(nested, "EXPIRE a 1")
            run(nested, "SETEX a 1 x")
        assert (call.argv, call.propagated, rig.client.last_command) == ([b"EVAL"], None, "eval")
        assert not call.is_nested

    def test_it_is_in_the_database_that_was_selected(self, rig: Rig) -> None:
        with Nested(rig.call()) as nested:
            run(nested, "SELECT 2")
            run(nested, "SET a 1")
        assert rig.say("GET a") == b"1"
        assert rig.call().db is rig.node.keyspace.databases[2]
        assert rig.stream() == ["SELECT 2", "SET a 1"]

    def test_the_time_stands_still(self, rig: Rig) -> None:
        rig.call().now_ms = START_MS
        with Nested(rig.call()) as nested:
            assert run(nested, "SET a 1 PX 10") == OK
        assert rig.stream()[-1] == f"SET a 1 PXAT {START_MS + 10}"


class TestCommands:
    def test_one_that_fails_is_a_reply(self, rig: Rig) -> None:
        with Nested(rig.call()) as nested:
            run(nested, "SET a x")
            reply = run(nested, "INCR a")
        assert isinstance(reply, CommandError)
        assert rig.node.stats.of("incr").failed_calls == 1

    @pytest.mark.parametrize("line", ["NOSUCH", "GET", "CLIENT NOSUCH"])
    def test_one_that_does_not_exist(self, rig: Rig, line: str) -> None:
        with Nested(rig.call()) as nested, pytest.raises(CommandError):
            run(nested, line)

    def test_each_is_counted(self, rig: Rig) -> None:
        assert run_queue(rig.call(), queued("SET a 1", "set b 1", "GET a")) == [OK, OK, b"1"]
        assert (rig.node.stats.of("set").calls, rig.node.stats.of("get").calls) == (2, 1)

    def test_replies_for_which_there_is_no_room(self, rig: Rig) -> None:
        rig.client.reply_room = 6
        assert run_queue(rig.call(), queued("SET a 1", "SET b 1", "SET c 1")) == [OK, OK]
        assert rig.say("EXISTS a b c") == 3
