"""A tool that fetches a snapshot, and goes before it has all of it, is no replica that fails."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pyrepl.metrics.dumps import is_portless, without_dumps
from tests.unit.metrics.inline import Row, read, told

AT_US = 1_795_349_036_000_000
PORTLESS = ("127.0.0.1:<unknown-replica-port>", "127.0.0.1:<unknown-slave-port>", "127.0.0.1:0")
START = """\
76:M 22 Nov 2026 12:03:56.892 * pyrepl version=0.1.0, bits=64, pid=76, just started
76:M 22 Nov 2026 12:03:56.899 * Replica 127.0.0.1:7002 asks for synchronization
76:M 22 Nov 2026 12:03:56.899 * Full resync requested by replica 127.0.0.1:7002 (cause: first)
76:M 22 Nov 2026 12:03:56.899 * Starting BGSAVE for SYNC with target: replicas sockets
76:M 22 Nov 2026 12:03:56.910 * Background RDB transfer started by pid 88
76:M 22 Nov 2026 12:03:56.914 * Background RDB transfer terminated with success
76:M 22 Nov 2026 12:03:56.921 * Synchronization with replica 127.0.0.1:7002 succeeded
"""
OURS = """\
76:M 22 Nov 2026 12:0{0}:56.969 * Replica {1} asks for synchronization
76:M 22 Nov 2026 12:0{0}:56.970 * Full resync requested by replica {1} (cause: forced (sync))
76:M 22 Nov 2026 12:0{0}:56.970 * Starting BGSAVE for SYNC with target: replicas sockets
76:M 22 Nov 2026 12:0{0}:56.975 * Background RDB transfer started by pid 9{0}
76:M 22 Nov 2026 12:0{0}:57.181 * Connection with replica {1} lost. (cause: connection_lost (wait_bgsave))
76:M 22 Nov 2026 12:0{0}:57.182 * Diskless rdb transfer, last replica dropped, killing fork child.
76:M 22 Nov 2026 12:0{0}:57.186 # Background transfer terminated by signal 9
"""
REDIS = """\
76:M 22 Nov 2026 12:0{0}:56.204 * Replica {1} asks for synchronization
76:M 22 Nov 2026 12:0{0}:56.287 * Starting BGSAVE for SYNC with target: replicas sockets (rdb-channel)
76:M 22 Nov 2026 12:0{0}:56.288 * Background RDB transfer started by pid 9{0} to replica socket
76:M 22 Nov 2026 12:0{0}:56.818 * Connection with replica {1} lost.
"""


def event_log(peer: str, number: int) -> list[Row]:
    """What pyrepl's event log says of one dump that was aborted."""
    sync = {"end": "master", "sync": f"127.0.0.1:4{number}/?", "peer": peer}
    lost = {"phase": "send_bulk", "cause": "connection_lost", "by_us": False, "lag_bytes": 0, "output_bytes": 0}
    sample = {"offset": 0, "lag_bytes": 508, "lag_s": 0.2, "output_bytes": 10}
    said: list[Row] = [
        {"event": "psync_asked", **sync, "replica": peer, "conn": sync["sync"][:-2]},
        {"event": "psync_decided", **sync, "verdict": "full", "cause": "forced", "detail": "sync", "wait": "now"},
        {"event": "delivery_started", **sync, "mode": "full_diskless", "snapshot_offset": 508, "wait_ms": 5},
        {"event": "replica_sample", "peer": peer, **sample},
        {"event": "delivery_ended", **sync, "ok": False, "delivery_ms": 207, "error": "connection_lost"},
        {"event": "replica_down", "peer": peer, "sync": sync["sync"], **lost},
    ]
    head = {"v": 1, "node": "master", "run": "a" * 40, "role": "master", "replid": "b" * 40, "offset": 508}
    at_us = AT_US + number * 1_000_000
    return [{**head, "at_us": at_us + place, "seq": number * 10 + place, **row} for place, row in enumerate(said)]


def results(tmp_path: Path, name: str, text: str) -> dict[str, list[Row]]:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / name).write_text(text)
    read(logs, tmp_path / "tables")
    return told(tmp_path / "tables")


@pytest.mark.parametrize("peer", PORTLESS)
@pytest.mark.parametrize("dump", [OURS, REDIS])
def test_aborted_dumps_of_a_text_log(tmp_path: Path, dump: str, peer: str) -> None:
    found = results(tmp_path, "master.log", START + "".join(dump.format(minute, peer) for minute in (4, 5, 6)))
    (totals,) = found["totals"]
    assert (totals["syncs"], totals["full_ok"], totals["full_failed"], totals["full_open"]) == (1, 1, 0, 0)
    assert (totals["connect_failures"], totals["dumps"], totals["unparsed_lines"]) == (0, 3, 0)
    assert [row["replica"] for row in found["availability"]] == ["127.0.0.1:7002"]
    assert found["advice"] == found["loops"] == found["retries"] == found["cuts"] == []
    assert len(found["forks"]) == 4, "what they cost the master is told"


@pytest.mark.parametrize("peer", PORTLESS)
def test_aborted_dumps_of_an_event_log(tmp_path: Path, peer: str) -> None:
    lines = [json.dumps(row) for number in range(3) for row in event_log(peer, number)]
    found = results(tmp_path, "master.jsonl", "\n".join(lines) + "\n")
    (totals,) = found["totals"]
    assert (totals["syncs"], totals["full_failed"], totals["connect_failures"], totals["dumps"]) == (0, 0, 0, 3)
    for table in ("advice", "loops", "retries", "cuts", "availability", "series", "full_causes"):
        assert found[table] == [], table


def test_a_replica_that_fails_is_told_as_before(tmp_path: Path) -> None:
    found = results(tmp_path, "m.log", START + "".join(OURS.format(minute, "127.0.0.1:7003") for minute in (4, 5, 6)))
    assert (found["totals"][0]["full_failed"], found["totals"][0]["dumps"]) == (3, 0)
    assert [row["severity"] for row in found["advice"]] == ["act"]


def test_only_a_peer_that_ends_so_has_no_port() -> None:
    peers = pl.DataFrame({"peer": [*PORTLESS, "::1:0", "127.0.0.1:7000", "h:10", "h:00", "", None]})
    assert peers.select(is_portless("peer"))["peer"].to_list() == [True] * 4 + [False] * 5


def test_a_sync_that_a_replicas_log_tells_of_is_a_replicas() -> None:
    rows = [("a", "master", PORTLESS[0], 1), ("a", "replica", "h:1", 1), ("b", "master", PORTLESS[0], None)]
    halves = pl.DataFrame(rows, schema=["sync", "end", "peer", "asked_us"], orient="row")
    left, count = without_dumps(halves.with_columns(decided_us=pl.lit(None, pl.Int64)))
    assert left["sync"].to_list() == ["a", "a"] and count == 0
