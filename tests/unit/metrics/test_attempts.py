"""Both ends' attempts, joined: pairs have the names of nodes, clocks are compared, causes come from who knows."""

from __future__ import annotations

from tests.unit.metrics.conftest import Analysed


def test_pairs_are_nodes_not_addresses(corpora: dict[str, Analysed]) -> None:
    for row in corpora["text"].tables["syncs"]:
        assert row["node"].rpartition("/")[0] == row["replica"].rpartition("/")[0], row


def test_clocks_of_one_machine_agree(corpora: dict[str, Analysed]) -> None:
    rows = corpora["text"].tables["skew"]
    assert len(rows) == len(corpora["text"].tables["nodes"])
    assert all(abs(row["skew_ms"]) <= row["spread_ms"] + 2 for row in rows)


def test_a_connection_refused_is_no_sync(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["text"].rows("retries", "redis7-foreign")
    assert row["reason"] == "connect_failed"
    assert row["count"] >= 1
    assert corpora["text"].tables["totals"][0]["connect_failures"] >= row["count"]
