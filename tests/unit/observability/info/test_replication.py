"""INFO replication: a master and a replica, field by field."""

from __future__ import annotations

import pytest

from pyrepl.replication.events import SessionState
from pyrepl.units import Offset, ReplId
from tests.unit.commands.rig import START_S, Rig, commands_in
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


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
            ("replicas_waiting_psync", "0"),
            ("repl_backlog_active", "0"),
            ("repl_backlog_size", "1048576"),
            ("repl_backlog_first_byte_offset", "0"),
            ("repl_backlog_histlen", "0"),
        ]

    def test_with_replicas(self, rig: Rig) -> None:
        roster = rig.node.replication.roster
        for session_id, state in ((1, SessionState.ONLINE), (2, SessionState.WAIT_SNAPSHOT_END)):
            session = roster.open_session(session_id, "10.0.0.9", START_S)
            session.told.listening_port, session.state, session.ack_cut = 7000 + session_id, state, Offset(57)
            roster.sessions[session_id] = session
        rig.pass_s(1.9)
        shown = info(rig, "replication")
        assert shown["connected_slaves"] == "2"
        assert shown["slave0"] == "ip=10.0.0.9,port=7001,state=online,offset=57,lag=1,type=replica"
        assert shown["slave1"] == "ip=10.0.0.9,port=7002,state=wait_bgsave,offset=57,lag=0,type=replica"
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
        """As redis-server 8.2.3 while its link is down, with Valkey's names of the buffer and three fields more."""
        rig.follow()
        assert list(info(rig, "replication"))[:24] == [
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
            "replica_full_sync_buffer_limit",
            "replicas_repl_buffer_size",
            "replicas_repl_buffer_peak",
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

    @pytest.mark.parametrize(("announced", "shown"), [(True, "1"), (False, "0")])
    def test_sentinel_learns_whether_to_show_it(self, announced: bool, shown: str) -> None:
        rig = Rig(replica_announced=announced)
        assert "replica_announced" not in info(rig, "replication"), "a master says nothing of it"
        rig.follow()
        assert info(rig, "replication")["replica_announced"] == shown

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
