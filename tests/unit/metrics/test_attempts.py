"""Both ends' attempts, joined: pairs have the names of nodes, clocks are compared, causes come from who knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import fleet
from pyrepl.metrics.answers import empty
from pyrepl.metrics.attempts import attempts
from pyrepl.metrics.rollup import Mark
from tests.unit.metrics import tried
from tests.unit.metrics.conftest import LOGS, Analysed
from tests.unit.metrics.inline import read, told


def test_pairs_are_nodes_not_addresses(corpora: dict[str, Analysed]) -> None:
    for row in corpora["text"].tables["syncs"]:
        assert row["node"].rpartition("/")[0] == row["replica"].rpartition("/")[0], row


def test_clocks_of_one_machine_agree(corpora: dict[str, Analysed]) -> None:
    rows = corpora["text"].tables["skew"]
    assert len(rows) == len(corpora["text"].tables["nodes"])
    assert all(abs(row["skew_ms"]) <= row["spread_ms"] + 2 for row in rows)


def test_a_master_that_waits_before_it_forks_has_no_other_clock(corpora: dict[str, Analysed]) -> None:
    """Redis answers a diskless sync when it forks; here it waited for a second, and for another child."""
    for scenario in ("redis7-two-at-once", "redis8-to-redis7-loop", "valkey8-to-redis7-loop"):
        rows = [row for row in corpora["text"].rows("syncs", scenario) if row["wait_bgsave_ms"] is not None]
        assert rows and all(row["handshake_ms"] < 5 and row["wait_bgsave_ms"] > 90 for row in rows)


def test_a_pair_is_observed_until_its_logs_end_or_it_parts() -> None:
    def over(**told: Any) -> tuple[int, bool]:
        half = {"sync": "s", "node": "m", "end": "master", "peer": "r", "verdict": "full", "begin_us": 5,
                "lost_at_us": 20, "lost_cause": "connection_lost"}  # fmt: skip
        other = {"sync": "s", "node": "r", "end": "replica", "peer": "m", "verdict": "full", "begin_us": 5}
        halves = tried.shaped(empty("halves"), [half, other | told])
        nodes: dict[str, Mark] = {
            name: {"last_us": last, "port": None, "replids": set()} for name, last in (("m", 90), ("r", 70))
        }
        return attempts(halves, nodes)[0].select("over_us", "parted").row(0)

    assert over() == (90, False)
    assert over(lost_at_us=20, lost_cause="role_change") == (20, True)
    assert over(lost_at_us=22, lost_cause="shutdown") == (20, True)


@pytest.mark.parametrize(
    ("later", "parted"),
    [
        ({"peer": "n:1", "verdict": "full"}, True),
        ({"peer": "n:1", "verdict": None, "cause": "refused"}, False),
        ({"peer": "m:1", "verdict": "continue"}, False),
    ],
)
def test_a_replica_that_follows_another_master_after_it_was_cut_has_parted(later: dict[str, Any], parted: bool) -> None:
    """A master that becomes a replica cuts its own before these are told."""
    ends = [
        {"sync": "s", "node": "m", "end": "master", "peer": "r:1", "verdict": "full", "begin_us": 5, "lost_at_us": 20,
         "lost_cause": "connection_lost"},
        {"sync": "s", "node": "r", "end": "replica", "peer": "m:1", "verdict": "full", "begin_us": 5},
        {"sync": "t", "node": "r", "end": "replica", "begin_us": 30, **later},
    ]  # fmt: skip
    nodes: dict[str, Mark] = {name: {"last_us": 90, "port": None, "replids": set()} for name in "mnr"}
    rows = attempts(tried.shaped(empty("halves"), ends), nodes)[0].to_dicts()
    assert [row["node"] for row in rows] == ["m", "m" if later["peer"] == "m:1" else "n:1"]
    assert (rows[0]["parted"], rows[0]["over_us"]) == (parted, 20 if parted else 90)
    assert not rows[1]["parted"]


def test_a_replica_that_asked_its_master_once_more_before_it_was_told_has_parted() -> None:
    """It tells of both within one ms, and of the one no more."""
    ends = [
        {"sync": "s", "node": "r", "end": "replica", "peer": "m:1", "verdict": "full", "begin_us": 5, "lost_at_us": 20,
         "lost_cause": "connection_lost"},
        {"sync": "t", "node": "r", "end": "replica", "peer": "n:1", "verdict": "full", "begin_us": 30},
        {"sync": "u", "node": "r", "end": "replica", "peer": "m:1", "begin_us": 30},
    ]  # fmt: skip
    nodes: dict[str, Mark] = {"r": {"last_us": 90, "port": None, "replids": set()}}
    rows = attempts(tried.shaped(empty("halves"), ends), nodes)[0].to_dicts()
    assert {(row["node"], row["parted"], row["over_us"]) for row in rows} == {("m:1", True, 30), ("n:1", False, 90)}


def test_a_connection_refused_is_no_sync(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["text"].rows("retries", "redis7-foreign")
    assert row["reason"] == "connect_failed"
    assert row["count"] >= 1
    assert corpora["text"].tables["totals"][0]["connect_failures"] >= row["count"]


@pytest.mark.parametrize(("master", "lines"), [("valkey8", (22, 20)), ("redis8", (21, 20))])
def test_the_first_sync_is_joined_though_the_replica_had_a_stream_of_its_own(
    tmp_path: Path, master: str, lines: tuple[int, int]
) -> None:
    """Its records have its own replication id until it has the master's data."""
    (tmp_path / "logs").mkdir()
    for name, count in zip(("master.log", "replica.jsonl"), lines, strict=True):
        whole = (LOGS / "events" / f"{master}-to-pyrepl" / name).read_bytes().splitlines(keepends=True)
        (tmp_path / "logs" / name).write_bytes(b"".join(whole[:count]))
    read(tmp_path / "logs", tmp_path / "tables")
    found = told(tmp_path / "tables")
    assert [(row["ends"], row["cause"]) for row in found["syncs"]] == [("both", "first")]
    assert [row["open_outage_s"] for row in found["availability"]] == [None]


def test_a_fleet_of_event_logs_and_text_logs_is_joined_whole(tmp_path: Path) -> None:
    """All of its nodes listen on one port; half of its pairs name no sync."""
    fleet.make(tmp_path / "logs", nodes=20, lines=40)
    read(tmp_path / "logs", tmp_path / "tables")
    found = told(tmp_path / "tables")
    assert {row["ends"] for row in found["syncs"]} == {"both"}
    pairs = {(_pair(row["node"], "master-"), _pair(row["replica"], "replica-")) for row in found["syncs"]}
    assert len(pairs) == 10 and all(master == replica for master, replica in pairs)
    (totals,) = found["totals"]
    assert totals["full_ok"] + totals["partial_ok"] == totals["syncs"] == 5 * 3 + 5 * 8
    assert totals["unparsed_lines"] == totals["unknown_lines"] == 0


def _pair(node: str, role: str) -> str:
    """Of a text log its folder; of an event log's node what stands behind its role."""
    folder = node.rpartition("/")[0] or node.removeprefix(role)
    return folder.lstrip("p0") or "0"
