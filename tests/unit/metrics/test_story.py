"""Which lines belong to one sync, whatever order they come in."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.story import Stand, advance, by_node, finish, tell
from pyrepl.metrics.textlines import parse

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs" / "text"
FILES = sorted(LOGS.rglob("*.log"))
AT = "21 Nov 2026 11:09:4"


def rows(text: str) -> list[dict[str, Any]]:
    parsed = parse(pa.array(text.splitlines(), pa.string()))
    return [{**row, "node": "n"} for row in parsed.events.to_pylist()]


def log(*said: tuple[str, str]) -> list[dict[str, Any]]:
    """Lines of a master as (seconds.ms, message)."""
    return rows("\n".join(f"1:M {AT}{at} * {text}" for at, text in said))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_sync_of_the_real_logs_is_told(path: Path) -> None:
    told = tell(rows(path.read_text()))
    by_sync: dict[str, Counter[str]] = {}
    for row in told:
        if row["sync"]:
            by_sync.setdefault(row["sync"], Counter())[row["event"]] += 1
    for sync, kinds in by_sync.items():
        assert kinds["link_down"] + kinds["replica_down"] <= 1, sync
        assert kinds["psync_asked"] <= 1, sync
        assert kinds["online"] <= 1, sync


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_shuffled_and_doubled_lines_tell_the_same(path: Path, rng: random.Random) -> None:
    whole = rows(path.read_text())
    mixed = whole + rng.sample(whole, len(whole) // 3)
    rng.shuffle(mixed)
    assert tell(mixed) == tell(whole)


@given(st.sampled_from(FILES), st.lists(st.floats(0, 1), max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_story_that_was_broken_off_tells_the_same(path: Path, shares: list[float]) -> None:
    """Wherever that was: lines of one moment may come before and behind."""
    whole = sorted(rows(path.read_text()), key=lambda row: row["at_us"])
    cuts = sorted({round(share * len(whole)) for share in shares} | {0, len(whole)})
    stand: Stand | None = None
    told: list[dict[str, Any]] = []
    for begin, end in itertools.pairwise(cuts):
        for_good, stand = advance(stand, whole[begin:end])
        stand = Stand(*json.loads(json.dumps(stand)))
        assert canonical(told + for_good + finish(stand, whole[end:])) == canonical(tell(whole))
        told += for_good
    assert canonical(told + finish(stand, [])) == canonical(tell(whole))


def canonical(told: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(map(str, row.items()))) for row in told)


def test_where_a_story_stands_does_not_change_as_it_goes_on() -> None:
    lines = log(
        ("1.000", "Replica h:1 asks for synchronization"),
        ("1.000", "Full resync requested by replica h:1"),
        ("2.000", "Connection with replica h:1 lost."),
        ("3.000", "Replica h:2 asks for synchronization"),
        ("3.500", "Client id=5 addr=h:1 cmd=psync scheduled to be closed ASAP for overcoming of output buffer limits."),
        ("3.600", "Connection with replica h:1 lost."),
    )
    _, stand = advance(None, lines[:4])
    before = json.dumps(stand)
    finish(stand, lines[4:])
    advance(stand, lines[4:])
    assert json.dumps(stand) == before


def test_a_line_without_address_is_about_the_one_that_asked() -> None:
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.000", "Full resync requested by replica h:1"),
            ("2.000", "Replica h:2 asks for synchronization"),
            ("2.001", f"Partial resynchronization not accepted: Replication ID mismatch (Replica asked for "
             f"'{'a' * 40}', my replication IDs are '{'b' * 40}' and '{'c' * 40}')"),
        )
    )  # fmt: skip
    (refused,) = [row for row in told if row["cause"] == "id_mismatch"]
    assert refused["peer"] == "h:2"


def test_one_snapshot_serves_all_that_wait() -> None:
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.000", "Full resync requested by replica h:1"),
            ("1.100", "Replica h:2 asks for synchronization"),
            ("1.100", "Full resync requested by replica h:2"),
            ("2.000", "Starting BGSAVE for SYNC with target: disk"),
            ("2.000", "Background saving started by pid 9"),
            ("2.100", "Replica h:3 asks for synchronization"),
            ("2.100", "Full resync requested by replica h:3"),
            ("2.100", "Waiting for end of BGSAVE for SYNC"),
        )
    )
    served = [(row["peer"], row["snapshot"]) for row in told if row["event"].startswith("bgsave")]
    assert sorted(served) == [("h:1", 1), ("h:2", 1), ("h:3", 1)]
    (child,) = [row for row in told if row["event"] == "snapshot_started"]
    assert (child["purpose"], child["replicas"], child["snapshot"]) == ("replicas", 2, 1)


def test_a_cut_for_the_output_buffer_is_the_cause() -> None:
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.000", "Full resync requested by replica h:1"),
            ("1.500", "Synchronization with replica h:1 succeeded"),
            ("2.000", "Client id=4 addr=h:999 flags=S db=0 omem=777 tot-mem=9 events=r scheduled to be closed ASAP for "
             "overcoming of output buffer limits."),
            ("2.000", "Connection with replica h:1 lost."),
        )
    )  # fmt: skip
    (down,) = [row for row in told if row["event"] == "replica_down"]
    assert (down["cause"], down["output_bytes"], down["phase"]) == ("output_buffer", 777, "stream")


def test_a_new_process_ends_what_the_old_one_had() -> None:
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.000", "Full resync requested by replica h:1"),
            ("1.500", "Synchronization with replica h:1 succeeded"),
            ("5.000", "Redis version=7.0.15, bits=64, commit=0, modified=0, pid=5, just started"),
        )
    )
    (down,) = [row for row in told if row["event"] == "replica_down"]
    assert (down["cause"], down["peer"]) == ("unknown", "h:1")


def test_nodes_are_told_apart() -> None:
    mixed = [{**row, "node": node} for row in log(("1.000", "Replica h:1 asks for synchronization")) for node in "ba"]
    assert [told[0]["node"] for told in by_node(mixed)] == ["a", "b"]


def replica_log(*said: tuple[str, str]) -> list[dict[str, Any]]:
    """Lines of a replica as (seconds.ms, message)."""
    return rows("\n".join(f"1:S {AT}{at} * {text}" for at, text in said))


ONLINE = (
    ("1.000", "Connecting to MASTER h:1"),
    ("1.001", f"Full resync from master: {'a' * 40}:0"),
    ("1.500", "MASTER <-> REPLICA sync: Finished with success"),
)


@pytest.mark.parametrize("at", ["2.000", "2.001"])
def test_another_master_is_why_the_link_ended(at: str) -> None:
    """Redis logs the change before or behind the begin of the new link."""
    told = tell(
        replica_log(
            *ONLINE,
            ("2.000", "Connection with master lost."),
            ("2.000", "Connecting to MASTER h:2"),
            (at, "REPLICAOF h:2 enabled (user request from 'id=1')"),
            ("2.001", f"Trying a partial resynchronization (request {'a' * 40}:1)."),
            ("2.002", "Successful partial resynchronization with master."),
        )
    )
    assert [(row["peer"], row["cause"]) for row in told if row["event"] == "link_down"] == [("h:1", "role_change")]
    assert {row["peer"] for row in told if row["verdict"] == "continue"} == {"h:2"}


@pytest.mark.parametrize("other", ["h:0", "h:2"])
def test_a_link_that_began_anew_before_the_node_turned_to_another_master(other: str) -> None:
    """All in one millisecond, as a Valkey logged it: the connection to the one before comes to nothing."""
    told = tell(
        replica_log(
            *ONLINE,
            ("2.000", "Connection with master lost."),
            ("2.000", "Reconnecting to MASTER h:1"),
            ("2.000", f"Connecting to MASTER {other}"),
            ("2.000", f"REPLICAOF {other} enabled (user request from 'id=1')"),
            ("2.002", f"Trying a partial resynchronization (request {'a' * 40}:1)."),
            ("2.002", "Successful partial resynchronization with master."),
        )
    )
    assert {row["peer"] for row in told if row["verdict"] == "continue"} == {other}


@pytest.mark.parametrize("other", ["h:0", "h:2"])
def test_a_link_that_came_and_went_before_the_node_turned_to_another_master(other: str) -> None:
    """All in one millisecond, as a Valkey logged it: the partial resync was with the one before."""
    told = tell(
        replica_log(
            *ONLINE,
            ("2.000", "Connection with master lost."),
            ("2.000", "Reconnecting to MASTER h:1"),
            ("2.001", f"Trying a partial resynchronization (request {'a' * 40}:1)."),
            ("2.001", "Successful partial resynchronization with master."),
            ("2.001", "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization."),
            ("2.001", "Connection with master lost."),
            ("2.001", f"Connecting to MASTER {other}"),
            ("2.001", f"REPLICAOF {other} enabled (user request from 'id=1')"),
            ("2.002", f"Trying a partial resynchronization (request {'b' * 40}:1)."),
            ("2.002", "Successful partial resynchronization with master."),
        )
    )
    asked = [(row["asked_replid"][0], row["peer"]) for row in told if row["event"] == "psync_asked"]
    assert asked == [("a", "h:1"), ("b", other)]


def test_a_change_of_role_does_not_excuse_an_earlier_failure() -> None:
    told = tell(
        replica_log(
            ("1.000", "Connecting to MASTER h:1"),
            ("1.001", f"Full resync from master: {'a' * 40}:0"),
            ("1.002", "Can't handle RDB format version 12"),
            ("1.002", "Reconnecting to MASTER h:1 after failure"),
            ("1.003", f"Full resync from master: {'a' * 40}:0"),
            ("1.010", "MASTER MODE enabled (user request from 'id=1')"),
        )
    )
    ends = [row["cause"] for row in told if row["event"] == "link_down" or row["ok"] is False]
    assert ends == ["rdb_version", "role_change"]


def test_a_link_that_ends_begins_and_continues_in_one_millisecond_is_another_sync() -> None:
    accepted = "Partial resynchronization request from h:1 accepted. Sending 0 bytes of backlog starting from offset"
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.000", f"{accepted} 8."),
            ("2.000", "Connection with replica h:1 lost."),
            ("2.000", "Replica h:1 asks for synchronization"),
            ("2.000", f"{accepted} 12."),
        )
    )
    decided = {row["sync"]: row["asked_offset"] for row in told if row["event"] == "psync_decided"}
    assert list(decided.values()) == [7, 11]
    assert list(decided) == [row["sync"] for row in told if row["event"] == "psync_asked"]


@pytest.mark.parametrize("at", ["1.000", "1.001", "1.009"])
def test_the_second_connection_may_ask_at_the_time_of_the_verdict(at: str) -> None:
    """Redis 8, whose verdict came a millisecond after the first connection had asked."""
    told = tell(
        log(
            ("1.000", "Replica h:1 asks for synchronization"),
            ("1.001", "Unable to partial resync with replica h:1 for lack of backlog (Replica request was: 15)."),
            ("1.001", "Replica h:1 is capable of rdb channel synchronization, and partial sync isn't possible. Full "
             "sync will continue with dedicated rdb channel."),
            (at, "Replica h:1 asks for synchronization"),
            ("1.009", "Full resync requested by replica h:1 (rdb-channel)"),
        )
    )  # fmt: skip
    assert len({row["sync"] for row in told if row["sync"]}) == 1
