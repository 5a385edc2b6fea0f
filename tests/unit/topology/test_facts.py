"""INFO texts to facts: those of real servers, and texts that make no sense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.address import Address
from pyrepl.topology.facts import ReplicaRow, Sync, facts_of, parse_info
from tests.unit.topology.infos import info, listed, replica_info


def test_lines() -> None:
    assert parse_info("# Server\r\na:1\r\nb:x:y\r\nno colon\r\n\r\nc:\r\n") == {"a": "1", "b": "x:y", "c": ""}


def test_a_master() -> None:
    facts = facts_of(info("m", **listed(2, 3, lag=1), sync_full=3, sync_partial_ok=4))
    assert not facts.is_replica and facts.master is None and not facts.is_sentinel
    assert (facts.run_id, facts.software, facts.offset) == ("m", "redis 7.0.15", 100)
    assert (facts.backlog_bytes, facts.backlog_held_bytes) == (1000, 100)
    assert (facts.full_syncs, facts.partial_syncs) == (3, 4)
    assert facts.replicas == tuple(ReplicaRow(Address("10.0.0.1", port), "online", 100, 1) for port in (2, 3))


def test_a_replica_is_where_it_has_applied() -> None:
    facts = facts_of(replica_info("r", 1, slave_repl_offset=70, master_last_io_seconds_ago=2))
    assert facts.is_replica and facts.link_up and facts.master == Address("10.0.0.1", 1)
    assert (facts.offset, facts.silence_s, facts.down_s, facts.next_try_s) == (70, 2, None, None)


def test_a_link_that_is_down() -> None:
    fields = {"master_link_status": "down", "master_link_down_since_seconds": 5, "master_last_sync_error": "refused: x"}
    facts = facts_of(replica_info("r", 1, **fields, master_next_try_in_seconds=3, master_last_io_seconds_ago=-1))
    assert (facts.link_up, facts.down_s, facts.last_error, facts.next_try_s) == (False, 5, "refused: x", 3)
    assert facts.silence_s is None


@pytest.mark.parametrize(("total", "known"), [(0, 0), (-1, None), (300, 300)])
def test_a_sync(total: int, known: int | None) -> None:
    fields = {"master_sync_in_progress": 1, "master_sync_read_bytes": 30, "master_sync_total_bytes": total}
    assert facts_of(replica_info("r", 1, **fields)).sync == Sync(30, known, None, None)


def test_software() -> None:
    assert facts_of(info("x", valkey_version="8.0.1", redis_version="7.2.4")).software == "valkey 8.0.1"
    assert facts_of(info("x", pyrepl_version="0.1.0")).software == "pyrepl 0.1.0"
    assert facts_of("").software == ""


def test_one_replica_on_two_connections_is_one() -> None:
    rows = {
        "slave0": "ip=10.0.0.1,port=2,state=send_bulk_and_stream,offset=0,lag=0,type=rdb-channel",
        "slave1": "ip=10.0.0.1,port=2,state=online,offset=5,lag=0,type=main-channel",
    }
    assert [row.state for row in facts_of(info("m", **rows)).replicas] == ["online"]
    rows = {"slave0": rows["slave1"], "slave1": rows["slave0"]}
    assert [row.state for row in facts_of(info("m", **rows)).replicas] == ["online"]


def test_replicas_without_a_port_are_each_their_own() -> None:
    assert len(facts_of(info("m", **listed(0, 0))).replicas) == 2


def test_a_sentinel_and_whom_it_watches() -> None:
    text = "redis_mode:sentinel\r\nmaster0:name=m,status=ok,address=10.0.0.1:1,slaves=2\r\nmaster1:name=n,address=::1:2"
    facts = facts_of(text)
    assert facts.is_sentinel and facts.watched == (Address("10.0.0.1", 1), Address("::1", 2))


@pytest.mark.parametrize(("text", "percent"), [("loading:0", None), ("loading:1\nloading_loaded_perc:12.5", 12.5)])
def test_loading(text: str, percent: float | None) -> None:
    assert facts_of(text).loading_percent == percent
    assert facts_of("loading:1\nloading_loaded_perc:nan?").loading_percent == 0.0


def test_no_failover_is_none() -> None:
    assert facts_of(info("m", master_failover_state="no-failover")).failover == ""
    assert facts_of(info("m", master_failover_state="waiting-for-sync")).failover == "waiting-for-sync"


def test_addresses_for_people() -> None:
    assert str(Address("10.0.0.1", 1)) == "10.0.0.1:1"
    assert str(Address("::1", 1)) == "[::1]:1"


FIELDS = st.sampled_from(["role", "master_host", "master_port", "slave0", "master0", "run_id", "master_repl_offset"])


@given(st.text(max_size=100), st.dictionaries(FIELDS, st.text(max_size=30)))
def test_nonsense_is_no_error(text: str, fields: dict[str, str]) -> None:
    facts = facts_of(text + "\n" + "\n".join(f"{name}:{value}" for name, value in fields.items()))
    assert all(0 <= row.address.port < 65536 for row in facts.replicas)
