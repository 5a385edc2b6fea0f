"""What the sections say about a node in different states."""

from __future__ import annotations

import pytest

from pyrepl.node.persistence import Loading
from pyrepl.observability.info.report import info_text
from pyrepl.replication.events import SessionState
from pyrepl.replication.psync import Cause
from pyrepl.units import Offset, ReplId
from tests.unit.commands.rig import START_MS, START_S, Rig, commands_in


def info(rig: Rig, section: str) -> dict[str, str]:
    """The lines of one section, in order."""
    lines = info_text(rig.node, [section]).decode().split("\r\n")[1:-1]
    return dict(line.split(":", 1) for line in lines)


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestServer:
    def test_versions(self, rig: Rig) -> None:
        rig.node.process.version = "0.1.0"
        shown = info(rig, "server")
        assert shown["redis_version"] == "7.2.4"
        assert (shown["server_name"], shown["pyrepl_version"]) == ("pyrepl", "0.1.0")

    def test_uptime(self, rig: Rig) -> None:
        rig.pass_s(90_000.5)
        shown = info(rig, "server")
        assert (shown["uptime_in_seconds"], shown["uptime_in_days"]) == ("90000", "1")
        assert shown["server_time_usec"] == str((START_MS + 90_000_500) * 1000)


class TestClients:
    def test_counts(self, rig: Rig) -> None:
        rig.say("SUBSCRIBE a", rig.connect())
        rig.say("WATCH k j", rig.connect())
        rig.connect().is_replica = True
        blocked = rig.connect()
        blocked.is_blocked = True
        blocked.query_buffer_bytes, blocked.output_bytes = 100, 200
        shown = info(rig, "clients")
        assert shown["connected_clients"] == "4"
        assert (shown["blocked_clients"], shown["pubsub_clients"], shown["watching_clients"]) == ("1", "1", "1")
        assert shown["total_watched_keys"] == "2"
        assert shown["client_recent_max_input_buffer"] == "100"
        assert shown["client_recent_max_output_buffer"] == "200"


class TestMemory:
    def test_sizes(self, rig: Rig) -> None:
        process = rig.node.process
        process.rss_bytes, process.peak_rss_bytes = 3 << 20, 4 << 20
        shown = info(rig, "memory")
        assert (shown["used_memory"], shown["used_memory_human"]) == (str(3 << 20), "3.00M")
        assert (shown["used_memory_peak_human"], shown["used_memory_peak_perc"]) == ("4.00M", "75.00%")

    def test_backlog(self, rig: Rig) -> None:
        assert info(rig, "memory")["mem_total_replication_buffers"] == "0"
        rig.stream()
        rig.run("SET", "a", b"x" * 1000)
        shown = info(rig, "memory")
        assert int(shown["mem_total_replication_buffers"]) >= int(shown["mem_replication_backlog"]) > 1000

    def test_the_peak_is_never_below_the_present(self, rig: Rig) -> None:
        rig.node.process.rss_bytes = 5 << 20
        assert info(rig, "memory")["used_memory_peak_human"] == "5.00M"


class TestPersistence:
    def test_at_rest(self, rig: Rig) -> None:
        rig.say("SET a 1")
        shown = info(rig, "persistence")
        assert (shown["loading"], shown["async_loading"]) == ("0", "0")
        assert shown["rdb_changes_since_last_save"] == "1"
        assert shown["rdb_last_bgsave_status"] == "ok"
        assert shown["rdb_current_bgsave_time_sec"] == "-1"
        assert "loading_total_bytes" not in shown

    def test_while_a_child_runs(self, rig: Rig) -> None:
        persistence = rig.node.persistence
        persistence.bgsave_started_at = START_S
        persistence.child_keys_done, persistence.child_keys_total = 30, 120
        rig.pass_s(4)
        shown = info(rig, "persistence")
        assert (shown["rdb_bgsave_in_progress"], shown["rdb_current_bgsave_time_sec"]) == ("1", "4")
        assert (shown["current_fork_perc"], shown["current_save_keys_total"]) == ("25.00", "120")

    def test_after_a_failure(self, rig: Rig) -> None:
        rig.node.persistence.last_bgsave_ok = False
        assert info(rig, "persistence")["rdb_last_bgsave_status"] == "err"

    @pytest.mark.parametrize("asynchronous", [True, False])
    def test_a_load(self, rig: Rig, asynchronous: bool) -> None:
        loading = rig.node.persistence.loading = Loading(START_S, 99, 1000, asynchronous=asynchronous)
        loading.loaded_bytes = 250
        rig.pass_s(10)
        shown = info(rig, "persistence")
        assert (shown["loading"], shown["async_loading"]) == (("0", "1") if asynchronous else ("1", "0"))
        assert shown["loading_start_time"] == "99"
        assert (shown["loading_total_bytes"], shown["loading_loaded_bytes"]) == ("1000", "250")
        assert (shown["loading_loaded_perc"], shown["loading_eta_seconds"]) == ("25.00", "30")


class TestStats:
    def test_counters(self, rig: Rig) -> None:
        stats = rig.node.stats
        stats.total_connections_received, stats.total_forks, stats.rejected_connections = 5, 2, 1
        rig.say("SET a 1 PX 10")
        rig.say("GET a")
        rig.pass_s(1)
        rig.say("GET a")
        rig.say("NOSUCH")
        shown = info(rig, "stats")
        assert (shown["total_connections_received"], shown["total_forks"]) == ("5", "2")
        assert (shown["keyspace_hits"], shown["keyspace_misses"], shown["expired_keys"]) == ("1", "1", "1")
        assert shown["total_error_replies"] == "1"

    def test_full_resyncs_by_cause(self, rig: Rig) -> None:
        counters = rig.node.replication.roster.counters
        counters.full, counters.partial_ok, counters.partial_err = 3, 2, 1
        counters.full_by_cause[Cause.OUT_OF_BACKLOG] = 1
        counters.full_by_cause[Cause.FIRST] = 2
        shown = info(rig, "stats")
        assert (shown["sync_full"], shown["sync_partial_ok"], shown["sync_partial_err"]) == ("3", "2", "1")
        assert (shown["sync_full_first"], shown["sync_full_out_of_backlog"]) == ("2", "1")
        assert sum(int(count) for name, count in shown.items() if name.startswith("sync_full_")) == 3

    def test_rates(self, rig: Rig) -> None:
        for tick in range(20):
            rig.node.stats.ops.sample(tick * 50, 10.0 + tick * 0.1)
            rig.node.stats.input.sample(tick * 1024, 10.0 + tick * 0.1)
        shown = info(rig, "stats")
        assert 499 <= int(shown["instantaneous_ops_per_sec"]) <= 500
        assert shown["instantaneous_input_kbps"] == "10.00"


class TestReplicationOfAMaster:
    def test_alone(self, rig: Rig) -> None:
        """Field by field as redis-server 8.2.3."""
        assert list(info(rig, "replication").items()) == [
            ("role", "master"),
            ("connected_slaves", "0"),
            ("master_failover_state", "no-failover"),
            ("master_replid", "a" * 40),
            ("master_replid2", "0" * 40),
            ("master_repl_offset", "0"),
            ("second_repl_offset", "-1"),
            ("repl_backlog_active", "0"),
            ("repl_backlog_size", "1048576"),
            ("repl_backlog_first_byte_offset", "0"),
            ("repl_backlog_histlen", "0"),
        ]

    def test_with_replicas(self, rig: Rig) -> None:
        roster = rig.node.replication.roster
        for session_id, state in ((1, SessionState.ONLINE), (2, SessionState.WAIT_SNAPSHOT_END)):
            session = roster.open_session(session_id, "10.0.0.9", START_S)
            session.listening_port, session.state, session.ack_cut = 7000 + session_id, state, Offset(57)
            roster.sessions[session_id] = session
        rig.pass_s(1.9)
        shown = info(rig, "replication")
        assert shown["connected_slaves"] == "2"
        assert shown["slave0"] == "ip=10.0.0.9,port=7001,state=online,offset=57,lag=1"
        assert shown["slave1"] == "ip=10.0.0.9,port=7002,state=wait_bgsave,offset=57,lag=0"
        assert "min_slaves_good_slaves" not in shown

    def test_good_ones_are_counted_when_they_are_wanted(self) -> None:
        rig = Rig(min_replicas_to_write=1)
        assert info(rig, "replication")["min_slaves_good_slaves"] == "0"

    def test_a_backlog_that_has_moved_on(self, rig: Rig) -> None:
        backlog = rig.node.replication.backlog
        backlog.create()
        backlog.resize(100)
        backlog.append(b"x" * 150)
        shown = info(rig, "replication")
        assert (shown["repl_backlog_active"], shown["repl_backlog_size"]) == ("1", "100")
        assert (shown["repl_backlog_first_byte_offset"], shown["repl_backlog_histlen"]) == ("51", "100")
        assert shown["master_repl_offset"] == "150"

    def test_after_a_fork(self, rig: Rig) -> None:
        rig.node.replication.history.shift(ReplId("c" * 40), Offset(57))
        shown = info(rig, "replication")
        assert (shown["master_replid"], shown["master_replid2"]) == ("c" * 40, "a" * 40)
        assert shown["second_repl_offset"] == "58"


class TestReplicationOfAReplica:
    def test_fields_and_order(self, rig: Rig) -> None:
        """As redis-server 8.2.3 while its link is down, with our own two behind replica_announced."""
        rig.follow()
        assert list(info(rig, "replication"))[:21] == [
            "role",
            "master_host",
            "master_port",
            "master_link_status",
            "master_last_io_seconds_ago",
            "master_sync_in_progress",
            "slave_read_repl_offset",
            "slave_repl_offset",
            "replica_full_sync_buffer_size",
            "replica_full_sync_buffer_peak",
            "master_current_sync_attempts",
            "master_total_sync_attempts",
            "master_link_down_since_seconds",
            "total_disconnect_time_sec",
            "master_last_sync_error",
            "master_next_try_in_seconds",
            "slave_priority",
            "slave_read_only",
            "replica_announced",
            "connected_slaves",
            "master_failover_state",
        ]

    def test_down(self, rig: Rig) -> None:
        link = rig.follow()
        link.lost(rig.node.process.now, "Connection refused")
        rig.pass_s(3)
        shown = info(rig, "replication")
        assert (shown["role"], shown["master_host"], shown["master_port"]) == ("slave", "10.0.0.1", "7000")
        assert (shown["master_link_status"], shown["master_last_io_seconds_ago"]) == ("down", "-1")
        assert shown["master_link_down_since_seconds"] == "3"
        assert "Connection refused" in shown["master_last_sync_error"]
        assert int(shown["master_next_try_in_seconds"]) >= 0
        assert shown["master_total_sync_attempts"] == "1"
        assert "master_sync_total_bytes" not in shown

    def test_a_transfer(self, rig: Rig) -> None:
        link = rig.follow()
        link.connected(rig.node.process.now)
        answers = {b"PING": b"+PONG\r\n", b"PSYNC": b"+FULLRESYNC " + b"d" * 40 + b" 1000\r\n$400\r\n" + b"R" * 100}
        while not link.is_syncing:
            for argv in commands_in(b"".join(link.data_to_send())):
                link.receive(answers.get(argv[0], b"+OK\r\n"), rig.node.process.now)
        rig.pass_s(2)
        shown = info(rig, "replication")
        assert shown["master_sync_in_progress"] == "1"
        assert (shown["master_sync_total_bytes"], shown["master_sync_read_bytes"]) == ("400", "100")
        assert (shown["master_sync_left_bytes"], shown["master_sync_perc"]) == ("300", "25.00")
        assert shown["master_sync_last_io_seconds_ago"] == "2"

    def test_a_transfer_of_unknown_size(self, rig: Rig) -> None:
        """While a diskless master sends."""
        link = rig.follow()
        link.connected(rig.node.process.now)
        answers = {
            b"PING": b"+PONG\r\n",
            b"PSYNC": b"+FULLRESYNC " + b"d" * 40 + b" 1000\r\n$EOF:" + b"e" * 40 + b"\r\nRR",
        }
        while not link.is_syncing:
            for argv in commands_in(b"".join(link.data_to_send())):
                link.receive(answers.get(argv[0], b"+OK\r\n"), rig.node.process.now)
        shown = info(rig, "replication")
        assert (shown["master_sync_total_bytes"], shown["master_sync_left_bytes"]) == ("0", "0")
        assert (shown["master_sync_perc"], shown["master_sync_eta_seconds"]) == ("0.00", "-1")


class TestCommandstats:
    def test_only_what_was_called(self, rig: Rig) -> None:
        rig.step_s = 0.001
        rig.say("SET s x")
        rig.error("LPUSH s x")
        rig.error("LPUSH s")
        shown = info(rig, "commandstats")
        assert shown == {
            "cmdstat_set": "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=0,failed_calls=0",
            "cmdstat_lpush": "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=1,failed_calls=1",
        }

    def test_errors(self, rig: Rig) -> None:
        rig.node.stats.count_error("ERR x")
        rig.node.stats.count_error("A:B#C x")
        assert info(rig, "errorstats") == {"errorstat_A_B_C": "count=1", "errorstat_ERR": "count=1"}


class TestKeyspace:
    def test_databases_with_keys(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 1000")
        rig.say("SET b 1")
        rig.say("SELECT 9")
        rig.say("HSET h f v")
        rig.say("HEXPIRE h 10 FIELDS 1 f")
        assert info(rig, "keyspace") == {
            "db0": "keys=2,expires=1,avg_ttl=1000,subexpiry=0",
            "db9": "keys=1,expires=0,avg_ttl=0,subexpiry=1",
        }

    def test_empty(self, rig: Rig) -> None:
        assert info_text(rig.node, ["keyspace"]) == b"# Keyspace\r\n"
