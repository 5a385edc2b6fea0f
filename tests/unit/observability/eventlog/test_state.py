"""Settings and samples of a node as records."""

from __future__ import annotations

from pyrepl.config.settings import Settings
from pyrepl.observability.eventlog.records import ReplicaSample, Sample, StreamSample
from pyrepl.observability.eventlog.state import Sampler, settings_in_force
from pyrepl.replication.psync import ASK_FOR_ALL
from tests.unit.daemon.rig import bare_node


def test_settings_are_those_in_force() -> None:
    settings = Settings()
    settings.assign("repl-backlog-size", 1 << 24)
    told = settings_in_force(settings, 0)
    assert told.backlog_size_bytes == 1 << 24
    assert told.output_hard_bytes == told.sync_buffer_limit_bytes == 256 << 20, "0 means the hard limit"
    settings.assign("replica-full-sync-buffer-limit", 77)
    assert settings_in_force(settings, 0).sync_buffer_limit_bytes == 77


def test_no_setting_that_is_secret_is_among_them() -> None:
    values = Settings(requirepass=b"sesame", masterauth=b"sesame", masteruser=b"sesame")
    assert "sesame" not in repr(settings_in_force(values, 0))


def test_rates_are_those_since_the_sample_before() -> None:
    node = bare_node()
    node.replication.backlog.create()
    sampler = Sampler(node, lambda session_id: None, 10.0)
    node.keyspace.dirty += 30
    node.replication.backlog.append(b"x" * 500)
    (first,) = sampler.take(15.0)
    assert isinstance(first, Sample)
    assert (first.writes_per_s, first.stream_bytes_per_s) == (6.0, 100.0)
    assert (first.backlog_start_offset, first.backlog_bytes, first.backlog_size_bytes) == (0, 500, 1 << 20)
    assert first.link_up is None and first.link_idle_s is None and first.replicas == 0
    (second,) = sampler.take(16.0)
    assert isinstance(second, Sample)
    assert second.writes_per_s == second.stream_bytes_per_s == 0.0


def test_one_record_a_replica() -> None:
    node = bare_node()
    roster, backlog = node.replication.roster, node.replication.backlog
    session = roster.open_session(5, "10.0.0.9", 1.0)
    session.receive_command([b"REPLCONF", b"listening-port", b"7001"], 1.0)
    roster.request_sync(session, ASK_FOR_ALL, 1.0)
    backlog.append(b"x" * 9)
    _, told = Sampler(node, {5: "c/?"}.get, 1.0).take(2.0)
    assert told == ReplicaSample("10.0.0.9:7001", "wait_bgsave", 9, 0.0, 0, "c/?")


def test_a_replica_that_has_not_acknowledged_its_snapshot_loads_it() -> None:
    node = bare_node()
    roster = node.replication.roster
    session = roster.open_session(5, "10.0.0.9", 1.0)
    session.receive_command([b"REPLCONF", b"listening-port", b"7001"], 1.0)
    roster.request_sync(session, ASK_FOR_ALL, 1.0)
    roster.snapshot_started(1.0)
    roster.snapshot_ended(True, 2.0)
    session.file_sent(3.0)
    phases = []
    for at in (3.0, 4.0):
        _, told = Sampler(node, {5: "c/?"}.get, 1.0).take(at)
        assert isinstance(told, ReplicaSample)
        phases.append(told.phase)
        session.receive_command([b"REPLCONF", b"ACK", b"%d" % node.replication.backlog.end], at)
    assert phases == ["load", "online"]


def test_change_streams_are_told_where_there_is_a_port() -> None:
    node = bare_node()
    sampler = Sampler(node, lambda session_id: None, 1.0)
    streams = node.streams
    streams.port, streams.rows_of_ended, streams.total_connections = 9001, 50, 4
    streams.rejected_connections, streams.cut_for_output = 2, 1
    assert list(sampler.take(6.0))[1] == StreamSample(0, 4, 2, 1, 10.0, 0)
    assert list(sampler.take(7.0))[1] == StreamSample(0, 4, 2, 1, 0.0, 0)
