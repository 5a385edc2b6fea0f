"""The dispatcher: look-up, transactions, propagation, expiry, counters, the slow log, monitors."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.commands.engine.effects import Wait
from pyrepl.commands.engine.table import Command
from pyrepl.errors import CommandError
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import NULL_ARRAY, OK, QUEUED, Simple
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    return rig


class TestLookup:
    @pytest.mark.parametrize("name", ["GET", "get", "GeT"])
    def test_any_case(self, rig: Rig, name: str) -> None:
        rig.say("SET a 1")
        assert rig.run(name, "a") == b"1"

    @pytest.mark.parametrize("line", ["CLIENT ID", "client id", "Client iD"])
    def test_subcommands_in_any_case(self, rig: Rig, line: str) -> None:
        assert rig.say(line) == 1

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("NOSUCH", "ERR unknown command 'NOSUCH', with args beginning with: "),
            ("nosuch a b", "ERR unknown command 'nosuch', with args beginning with: 'a' 'b' "),
            ("GET", "ERR wrong number of arguments for 'get' command"),
            ("GET a b", "ERR wrong number of arguments for 'get' command"),
            ("CLIENT", "ERR wrong number of arguments for 'client' command"),
            ("CLIENT nosuch", "ERR unknown subcommand 'nosuch'. Try CLIENT HELP."),
            ("CLIENT id x", "ERR wrong number of arguments for 'client|id' command"),
            ("config set a", "ERR wrong number of arguments for 'config|set' command"),
        ],
    )
    def test_errors(self, rig: Rig, line: str, text: str) -> None:
        """As redis-server 7.0.15 answers."""
        assert rig.error(line) == text

    def test_line_breaks_in_an_unknown_name_do_not_reach_the_reply(self, rig: Rig) -> None:
        assert "\n" not in str(rig.run(b"NO\r\nSUCH", b"a\nb"))

    def test_a_long_unknown_command_is_cut(self, rig: Rig) -> None:
        text = str(rig.run(b"x" * 500, *[b"y" * 500] * 5))
        assert len(text) < 400

    def test_a_container_with_its_own_function_runs_without_words(self, rig: Rig) -> None:
        reply = rig.say("COMMAND")
        assert isinstance(reply, list) and len(reply) == rig.say("COMMAND COUNT")


class TestPropagation:
    def test_the_bytes_of_a_write_go_out(self, rig: Rig) -> None:
        rig.say("set a 1")
        rig.say("set b 2")
        assert rig.stream() == ["SELECT 0", "set a 1", "set b 2"]

    def test_the_database_goes_before(self, rig: Rig) -> None:
        rig.say("SET a 1")
        rig.say("SELECT 3")
        rig.say("SET a 2")
        rig.say("SET a 3")
        assert rig.stream() == ["SELECT 0", "SET a 1", "SELECT 3", "SET a 2", "SET a 3"]

    @pytest.mark.parametrize("line", ["GET a", "DEL nosuch", "SADD s x", "EXPIRE nosuch 10", "PING", "SETNX a 5"])
    def test_what_changed_nothing_does_not(self, rig: Rig, line: str) -> None:
        rig.say("SET a 1")
        rig.say("SADD s x")
        rig.stream()
        rig.say(line)
        assert rig.stream() == []

    def test_errors_do_not(self, rig: Rig) -> None:
        rig.say("SET a 1")
        rig.stream()
        rig.error("LPUSH a x")
        assert rig.stream() == []

    def test_a_rewritten_command_replaces_the_bytes(self, rig: Rig) -> None:
        rig.say("SET a 1")
        rig.stream()
        rig.say("EXPIRE a 10")
        assert rig.stream() == [f"PEXPIREAT a {START_MS + 10_000}"]

    def test_publish_goes_out_though_it_writes_no_key(self, rig: Rig) -> None:
        rig.say("PUBLISH news hi")
        assert rig.stream() == ["SELECT 0", "PUBLISH news hi"]

    def test_debug_replicate_sends_what_it_was_given(self) -> None:
        rig = Rig(enable_debug_command="yes")
        rig.stream()
        rig.say("DEBUG REPLICATE SET x 1")
        assert rig.stream()[-1] == "SET x 1"
        assert rig.say("GET x") is None

    def test_a_replica_makes_no_stream_of_its_own(self) -> None:
        rig = Rig(replica_read_only=False)
        rig.follow()
        rig.stream()
        assert rig.say("SET a 1") == OK
        rig.say("EXPIRE a 10")
        assert rig.stream() == []

    def test_without_a_backlog_nothing_is_kept(self) -> None:
        rig = Rig()
        rig.say("SET a 1")
        assert rig.node.stream_end == 0

    def test_write_cut_is_the_end_of_the_last_write(self, rig: Rig) -> None:
        assert rig.client.write_cut == 0
        rig.say("SET a 1")
        end = rig.node.stream_end
        assert rig.client.write_cut == end > 0
        other = rig.connect()
        rig.say("SET b 1", other)
        assert rig.client.write_cut == end < other.write_cut == rig.node.stream_end
        rig.say("GET a")
        assert rig.client.write_cut == end


class TestExpiry:
    def test_the_deletion_goes_before_the_command_that_met_it(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("SET b 1")
        rig.say("APPEND a x")
        assert rig.stream() == ["SET b 1", "MULTI", "DEL a", "APPEND a x", "EXEC"]
        assert rig.node.keyspace.expired_keys_count == 1

    def test_a_reader_makes_it_go_out_alone(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        assert rig.say("GET a") is None
        assert rig.stream() == ["DEL a"]
        assert rig.say("GET a") is None
        assert rig.stream() == []

    def test_several_at_once_are_one_unit(self, rig: Rig) -> None:
        for key in "abc":
            rig.say(f"SET {key} 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("EXISTS a b c")
        assert rig.stream() == ["MULTI", "DEL a", "DEL b", "DEL c", "EXEC"]

    @pytest.mark.parametrize("line", ["SCAN 0", "RANDOMKEY"])
    def test_what_a_command_met_by_chance_goes_out_one_by_one(self, rig: Rig, line: str) -> None:
        for key in "abc":
            rig.say(f"SET {key} 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say(line)
        assert sorted(rig.stream()) == ["DEL a", "DEL b", "DEL c"]

    def test_within_a_transaction_it_does_not(self, rig: Rig) -> None:
        for key in "abc":
            rig.say(f"SET {key} 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        for line in ("MULTI", "SCAN 0", "SET d 1", "EXEC"):
            rig.say(line)
        assert sorted(rig.stream()[1:-2]) == ["DEL a", "DEL b", "DEL c"]

    def test_lazy_expiry_unlinks(self) -> None:
        rig = Rig(lazyfree_lazy_expire=True)
        rig.stream()
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("GET a")
        assert rig.stream() == ["UNLINK a"]

    def test_in_the_database_where_the_key_was(self, rig: Rig) -> None:
        rig.say("SELECT 5")
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("TYPE a")
        assert rig.stream() == ["DEL a"]
        other = rig.connect()
        rig.say("SET b 1", other)
        assert rig.stream() == ["SELECT 0", "SET b 1"]

    def test_the_active_cycle(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("SELECT 1")
        rig.say("SET b 1 PX 100")
        rig.stream()
        rig.node.keyspace.databases[0].expire(b"a")
        rig.node.keyspace.databases[1].expire(b"b")
        rig.dispatcher.propagate_expired()
        assert rig.stream() == ["SELECT 0", "DEL a", "SELECT 1", "DEL b"]
        rig.dispatcher.propagate_expired()
        assert rig.stream() == []

    def test_hash_fields(self, rig: Rig) -> None:
        rig.say("HSET h f 1 g 2")
        rig.say("HPEXPIRE h 100 FIELDS 1 f")
        rig.pass_s(0.2)
        rig.stream()
        rig.say("HGET h f")
        rig.dispatcher.propagate_expired()
        assert rig.stream() == ["HDEL h f"]


class TestTransactions:
    def test_commands_are_queued_and_run(self, rig: Rig) -> None:
        assert rig.say("MULTI") == OK
        assert rig.say("SET a 1") == QUEUED
        assert rig.say("INCR a") == QUEUED
        assert rig.say("GET a", rig.connect()) is None
        assert rig.say("EXEC") == [OK, 2]
        assert rig.say("GET a") == b"2"

    def test_what_it_wrote_goes_out_between_multi_and_exec(self, rig: Rig) -> None:
        for line in ("MULTI", "set a 1", "get a", "incr a", "EXEC"):
            rig.say(line)
        assert rig.stream() == ["MULTI", "SELECT 0", "set a 1", "incr a", "EXEC"]

    def test_one_write_alone_needs_no_frame(self, rig: Rig) -> None:
        for line in ("MULTI", "SET a 1", "GET a", "EXEC"):
            rig.say(line)
        assert rig.stream() == ["SELECT 0", "SET a 1"]

    def test_without_writes_nothing_goes_out(self, rig: Rig) -> None:
        for line in ("MULTI", "GET a", "EXEC"):
            rig.say(line)
        assert rig.stream() == []

    def test_select_inside(self, rig: Rig) -> None:
        for line in ("MULTI", "SET a 1", "SELECT 2", "SET b 2", "EXEC"):
            rig.say(line)
        stream = rig.stream()
        assert [line for line in stream if line.startswith("SET")] == ["SET a 1", "SET b 2"]
        assert stream.index("SELECT 2") < stream.index("SET b 2")
        assert rig.client.db_index == 2

    def test_expired_keys_stand_before_the_command_that_met_them(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 100")
        rig.pass_s(0.2)
        rig.stream()
        for line in ("MULTI", "SET b 1", "APPEND a x", "EXEC"):
            rig.say(line)
        assert rig.stream() == ["MULTI", "SET b 1", "DEL a", "APPEND a x", "EXEC"]

    def test_an_error_while_running_stops_nothing(self, rig: Rig) -> None:
        rig.say("SET s x")
        for line in ("MULTI", "SET a 1", "LPUSH s y", "SET b 1"):
            rig.say(line)
        reply = rig.say("EXEC")
        assert isinstance(reply, list)
        assert reply[0] == OK and reply[2] == OK
        assert str(reply[1]).startswith("WRONGTYPE")
        assert rig.stream()[-3:] == ["SET a 1", "SET b 1", "EXEC"]

    @pytest.mark.parametrize("bad", ["NOSUCH", "GET", "CLIENT nosuch", "SAVE"])
    def test_an_error_while_queueing_aborts(self, rig: Rig, bad: str) -> None:
        rig.say("MULTI")
        rig.say("SET a 1")
        rig.error(bad)
        assert rig.error("EXEC") == "EXECABORT Transaction discarded because of previous errors."
        assert rig.say("GET a") is None
        assert rig.client.queue is None
        assert rig.stream() == []

    def test_exec_is_counted_however_it_ends(self, rig: Rig) -> None:
        """As Redis 8.2 does: only one that is refused before it runs is a rejected call."""
        counted = rig.node.stats.of("exec")
        errors = []
        rig.step_s = 0.25
        for lines in (
            ["MULTI", "SET a 1", "EXEC"],
            ["MULTI", "NOSUCH", "EXEC"],
            ["WATCH a", "SET a 2", "MULTI", "EXEC"],
            ["EXEC"],
            ["MULTI", "EXEC now"],
        ):
            before = (counted.calls, counted.failed_calls, counted.rejected_calls)
            for line in lines:
                reply = rig.say(line)
            after = (counted.calls, counted.failed_calls, counted.rejected_calls)
            errors.append((str(reply).split()[0] if isinstance(reply, CommandError) else "", after, before))
        assert [(word, *(new - old for new, old in zip(after, before))) for word, after, before in errors] == [
            ("", 1, 0, 0),
            ("EXECABORT", 1, 1, 0),
            ("", 1, 0, 0),
            ("ERR", 1, 1, 0),
            ("EXECABORT", 0, 0, 1),
        ]
        assert counted.seconds > 0
        assert rig.client.last_command == "exec"

    def test_no_multi_commands(self, rig: Rig) -> None:
        rig.say("MULTI")
        assert rig.error("SAVE") == "ERR Command not allowed inside a transaction"

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("EXEC", "ERR EXEC without MULTI"),
            ("DISCARD", "ERR DISCARD without MULTI"),
        ],
    )
    def test_out_of_place(self, rig: Rig, line: str, text: str) -> None:
        assert rig.error(line) == text

    def test_multi_and_watch_are_refused_inside_and_do_no_harm(self, rig: Rig) -> None:
        rig.say("MULTI")
        assert rig.error("MULTI") == "ERR MULTI calls can not be nested"
        assert rig.error("WATCH a") == "ERR WATCH inside MULTI is not allowed"
        rig.say("SET a 1")
        assert rig.say("EXEC") == [OK]

    def test_discard(self, rig: Rig) -> None:
        for line in ("MULTI", "SET a 1", "DISCARD"):
            rig.say(line)
        assert rig.say("GET a") is None
        assert not rig.client.guarded

    def test_a_change_of_a_watched_key_by_another_makes_it_null(self, rig: Rig) -> None:
        other = rig.connect()
        rig.say("WATCH a")
        rig.say("SET a 1", other)
        rig.say("MULTI")
        rig.say("SET b 1")
        assert rig.say("EXEC") is NULL_ARRAY
        assert rig.say("GET b") is None
        rig.say("MULTI")
        rig.say("SET b 1")
        assert rig.say("EXEC") == [OK]

    def test_effects_are_performed_inside_and_know_it(self, rig: Rig) -> None:
        for line in ("MULTI", "SET a 1", "WAIT 1 0"):
            rig.say(line)
        assert rig.say("EXEC") == [OK, 0]
        assert not rig.effects
        rig.say("WAIT 1 0")
        assert rig.effects == [Wait(1, 0)]

    def test_quit_and_reset_are_not_queued(self, rig: Rig) -> None:
        rig.say("MULTI")
        assert rig.say("RESET") == Simple(b"RESET")
        assert rig.client.queue is None


class TestCounters:
    def test_calls_and_time(self, rig: Rig) -> None:
        rig.step_s = 0.25
        rig.say("PING")
        rig.say("ping")
        row = rig.node.stats.commands["ping"]
        assert (row.calls, row.seconds) == (2, 0.5)

    def test_failed_and_rejected(self, rig: Rig) -> None:
        rig.say("SET s x")
        rig.error("LPUSH s x")
        rig.error("LPUSH s")
        row = rig.node.stats.commands["lpush"]
        assert (row.calls, row.failed_calls, row.rejected_calls) == (1, 1, 1)

    def test_errors_by_their_first_word(self, rig: Rig) -> None:
        rig.say("SET s x")
        rig.error("LPUSH s x")
        rig.error("NOSUCH")
        rig.error("GET")
        rig.error("EXEC")
        stats = rig.node.stats
        assert stats.errors == {"WRONGTYPE": 1, "ERR": 3}
        assert stats.total_error_replies == 4

    def test_subcommands_have_rows_of_their_own(self, rig: Rig) -> None:
        rig.say("CLIENT ID")
        assert rig.node.stats.commands["client|id"].calls == 1
        assert rig.node.stats.commands["client"].calls == 0

    def test_those_of_a_transaction_count_one_by_one(self, rig: Rig) -> None:
        for line in ("MULTI", "SET a 1", "SET b 1", "EXEC"):
            rig.say(line)
        commands = rig.node.stats.commands
        assert commands["set"].calls == 2
        assert commands["exec"].calls == 1


class TestSlowlog:
    def test_what_took_too_long_is_kept(self) -> None:
        rig = Rig(slowlog_log_slower_than=1000)
        rig.say("SET a 1")
        assert not rig.node.slowlog.entries
        rig.step_s = 0.5
        rig.say("GET a")
        entry = rig.node.slowlog.entries[0]
        assert entry.argv == [b"GET", b"a"]
        assert entry.amount == 500_000
        assert entry.at_s == START_MS // 1000

    def test_never(self) -> None:
        rig = Rig(slowlog_log_slower_than=-1)
        rig.step_s = 100.0
        rig.say("PING")
        assert not rig.node.slowlog.entries


class TestMonitors:
    def test_they_see_what_others_do(self, rig: Rig) -> None:
        watcher = rig.connect("127.0.0.1:7777")
        rig.say("MONITOR", watcher)
        rig.run("SET", b'a"b\n', b"\xff")
        rig.say("NOSUCH")
        rig.say("CONFIG GET port")
        assert rig.node.deliveries == [
            (watcher.id, Simple(rb'1700000000.123000 [0 127.0.0.1:5001] "SET" "a\"b\n" "\xff"')),
        ]

    def test_passwords_are_not_shown(self) -> None:
        rig = Rig(requirepass=b"hunter2")
        watcher = rig.connect("127.0.0.1:7777")
        rig.say("MONITOR", watcher)
        rig.say("AUTH hunter2")
        rig.say("HELLO 3 AUTH default hunter2")
        assert rig.node.deliveries
        assert not any(b"hunter2" in line.text for _, line in rig.node.deliveries if isinstance(line, Simple))

    def test_until_reset(self, rig: Rig) -> None:
        watcher = rig.connect("127.0.0.1:7777")
        rig.say("MONITOR", watcher)
        assert rig.node.conditions.guarded
        rig.say("RESET", watcher)
        rig.say("SET a 1")
        assert not rig.node.deliveries
        assert not rig.node.conditions.guarded

    def test_each_command_of_a_transaction(self, rig: Rig) -> None:
        watcher = rig.connect("127.0.0.1:7777")
        rig.say("MONITOR", watcher)
        for line in ("MULTI", "SET a 1", "EXEC"):
            rig.say(line)
        shown = [line.text.rpartition(b"] ")[2] for _, line in rig.node.deliveries if isinstance(line, Simple)]
        assert sorted(shown) == [b'"EXEC"', b'"MULTI"', b'"SET" "a" "1"']


def test_a_command_error_is_a_reply_not_an_exception(rig: Rig) -> None:
    assert isinstance(rig.say("NOSUCH"), CommandError)


_WORDS = """
    a b c k s h z 0 1 2 -1 10 1.5 -inf +inf nan (1 [a [ - + $ * > 0-0 1-1 5-* 1e308 u8 i64 #1 ~ =
    9223372036854775807 -9223372036854775808 99999999999999999999
    COUNT MATCH LIMIT WITHSCORES STREAMS GROUP NX XX GET EX PX KEEPTTL FIELDS LEFT RIGHT BYSCORE BYLEX REV
    WEIGHTS AGGREGATE SUM MAXLEN MINID STORE BY ALPHA SET INCRBY OVERFLOW AND REPLACE DB IDX LEN TYPE ID
    MKSTREAM FULL IDLE FORCE JUSTID SAMPLES normal hz maxmemory 1mb
"""
WORDS = [*_WORDS.split(), "", "\udcff\0\r\n", "x" * 200]
"""What a careless client might say: keys, numbers good and bad, options of all kinds."""


class TestAnyWords:
    """Whatever is said, there is a reply, and nothing of it is left over for the next command."""

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_there_is_a_reply(self, seed: int) -> None:
        dice = Random(seed)
        rig = Rig(enable_debug_command="yes")
        rig.node.replication.backlog.create()
        rows = [child for row in rig.dispatcher.table for child in (row, *row.subcommands.values())]
        for _ in range(8_000):
            argv = self.sentence(dice, dice.choice(rows))
            reply = rig.run(*argv)
            assert encode_reply(reply, 2) is not None and encode_reply(reply, 3) is not None
            assert rig.call().propagated is None, argv
            assert not rig.node.keyspace.expired, argv
            if dice.random() < 0.02:
                rig.pass_s(dice.choice([0.001, 1, 100]))
            self.calm(rig, dice)

    def sentence(self, dice: Random, row: Command) -> list[bytes]:
        name = row.name.split("|")
        wanted = max(0, abs(row.arity) - len(name)) + (dice.choice([0, 0, 1, 1, 2, 3, 5]) if row.arity < 0 else 0)
        argv = [*name, *(dice.choice(WORDS) for _ in range(wanted))]
        return [word.encode("utf-8", "surrogateescape") for word in argv]

    def calm(self, rig: Rig, dice: Random) -> None:
        """Bring the client back from states in which it is told little else than no."""
        client = rig.client
        if client.queue is not None and dice.random() < 0.3:
            rig.say(dice.choice(["EXEC", "DISCARD"]))
        if client.guarded and client.queue is None:
            rig.say("RESET")
            if client.closing:
                rig.client = rig.connect()
        rig.node.deliveries.clear()
        rig.effects.clear()
