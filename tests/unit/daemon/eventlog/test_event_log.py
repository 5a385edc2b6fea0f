"""The event log of a node: heads, names, numbers, what is dropped, and that it is off unless wanted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog import event_log
from pyrepl.daemon.eventlog import writer as event_writer
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.observability.eventlog.records import LinkConnecting, NodeStopped
from pyrepl.units import Offset, ReplId
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop, running, until

Line = dict[str, Any]


def lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def opened(node: Node, log: KeptLog | None = None) -> EventLog:
    made = EventLog(node, Clock(), (log or KeptLog()).log)
    made.open()
    return made


def node_with(path: Path, **settings: object) -> Node:
    return bare_node(event_log=str(path), event_log_node="n1", **settings)


def test_a_line_has_its_head(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        node = node_with(tmp_path / "e")
        log = opened(node)
        before_us = time.time_ns() // 1000
        log(LinkConnecting("m:1", 1))
        log(NodeStopped(1.0))
        log.close()
        first, second = lines(tmp_path / "e")
        assert list(first)[:9] == ["v", "at_us", "mono_us", "seq", "node", "run", "role", "replid", "offset"]
        assert before_us <= first["at_us"] <= second["at_us"] <= time.time_ns() // 1000
        assert 0 <= first["mono_us"] <= second["mono_us"] < 10_000_000
        assert [first["seq"], second["seq"]] == [1, 2]
        assert (first["v"], first["node"], first["run"]) == (1, "n1", "b" * 40)
        assert (first["role"], first["replid"], first["offset"]) == ("master", "a" * 40, 0)
        assert (first["event"], first["peer"], first["attempt"]) == ("link_connecting", "m:1", 1)

    run()


@in_loop
async def test_off_unless_wanted() -> None:
    node = bare_node(event_log="none")
    log = opened(node)
    log(NodeStopped(1.0))
    log.tick(0.0)
    assert not log.is_open and not node.event_log.enabled
    log.close()


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        log = EventLog(node_with(tmp_path / "no" / "e"), Clock(), KeptLog().log)
        with pytest.raises(ConfigError, match=r"Can't open the event log .*/no/e: No such file or directory"):
            log.open()

    run()


def test_the_name_of_the_node(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        node = bare_node(event_log=str(tmp_path / "e"), replica_announce_ip="10.0.0.7")
        node.process.tcp_port = 6380
        log = opened(node)
        log(NodeStopped(1.0))
        node.settings.assign("replica-announce-port", 7000)
        log.settings_changed(())
        log(NodeStopped(1.0))
        node.settings.assign("event-log-node", "left")
        log.settings_changed(())
        log(NodeStopped(1.0))
        log.close()
        assert [line["node"] for line in lines(tmp_path / "e")] == ["10.0.0.7:6380", "10.0.0.7:7000", "left"]

    run()


def test_a_new_replid_is_told_before_anything_else(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        node = node_with(tmp_path / "e")
        log = opened(node)
        node.replication.history.shift(ReplId("c" * 40), Offset(7))
        log(NodeStopped(1.0))
        node.replication.history.restart(ReplId("d" * 40))
        log(NodeStopped(1.0))
        log.close()
        shifted, _, restarted, last = lines(tmp_path / "e")
        assert shifted["event"] == restarted["event"] == "replid_changed"
        assert (shifted["replid"], shifted["replid_before"]) == ("c" * 40, "a" * 40)
        assert (shifted["replid2"], shifted["fork_offset"]) == ("a" * 40, 7)
        assert restarted["replid_before"] == "c" * 40 and "replid2" not in restarted
        assert [last["event"], last["seq"]] == ["node_stopped", 4]

    run()


def test_what_is_dropped_is_counted_told_and_leaves_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @in_loop
    async def run() -> None:
        kept = KeptLog()
        node = node_with(tmp_path / "e")
        log = opened(node, kept)
        log(NodeStopped(0.0))
        with monkeypatch.context() as patch:
            patch.setattr(event_writer, "MAX_WAITING_BYTES", 0)
            for _ in range(3):
                log(NodeStopped(1.0))
        log(NodeStopped(2.0))
        log.close()
        told = [(line["seq"], line["event"], line.get("dropped")) for line in lines(tmp_path / "e")]
        assert told == [(1, "node_stopped", None), (5, "events_dropped", 3), (6, "node_stopped", None)]
        assert node.event_log.dropped == 3
        assert sum("event log drops lines" in line for line in kept.lines) == 1
        assert kept.has("3 lines of this run are missing")

    run()


def test_info_and_log_tell_of_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "_CLOSE_PATIENCE_S", 5.0)
    monkeypatch.setattr(event_writer, "RETRY_S", 0.01)

    @in_loop
    async def run() -> None:
        kept = KeptLog()
        node = node_with(tmp_path / "folder" / "e")
        (tmp_path / "folder").mkdir()
        log = opened(node, kept)
        (tmp_path / "folder" / "e").unlink()
        (tmp_path / "folder").rmdir()
        log(NodeStopped(1.0))
        await until(lambda: node.event_log.write_error)
        assert kept.has("The event log cannot be written: No such file or directory")
        (tmp_path / "folder").mkdir()
        await until(lambda: not node.event_log.write_error)
        assert kept.has("The event log is written again")
        log.tick(0.0)
        assert node.event_log.written == 1
        assert node.event_log.file_bytes == (tmp_path / "folder" / "e").stat().st_size > 0
        log.close()

    run()


def test_a_run_from_start_to_stop(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        async with running(tmp_path, event_log="events.jsonl", requirepass=b"sesame", masterauth=b"open") as node:
            peer = await node.peer()
            await peer.say("AUTH sesame")
            await peer.say("CONFIG SET repl-backlog-size 2mb")
        told = lines(tmp_path / "events.jsonl")
        assert [line["event"] for line in told] == [
            "node_started",
            "settings_in_force",
            "node_ready",
            "backlog_resized",
            "settings_in_force",
            "node_stopped",
        ]
        assert [line["seq"] for line in told] == [1, 2, 3, 4, 5, 6]
        assert told[0]["port"] == node.port
        assert told[3]["backlog_size_before_bytes"] == 1 << 20
        assert told[4]["backlog_size_bytes"] == 2 << 20
        text = (tmp_path / "events.jsonl").read_text()
        assert "sesame" not in text and "open" not in text

    run()
