"""How well replicas kept up, how fast was written, what forks cost."""

from __future__ import annotations

from tests.unit.metrics.conftest import Analysed


def test_availability_is_a_share_of_what_was_observed(corpora: dict[str, Analysed]) -> None:
    for row in corpora["text"].tables["availability"]:
        assert (row["availability"] is None) == (row["observed_s"] == 0)
        assert 0 <= (row["availability"] or 0) <= 1
        assert row["online_s"] <= row["observed_s"]
    (row,) = corpora["text"].rows("availability", "redis8-to-redis7-loop")
    assert row["online_s"] == 0


def test_lags_come_from_samples(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["events"].rows("availability", "pyrepl-pair")
    assert row["samples"] > 0
    assert row["lag_bytes_p50"] <= row["lag_bytes_p99"] <= row["lag_bytes_max"]
    (row,) = corpora["text"].rows("availability", "pyrepl-pair")
    assert row["samples"] is None


def test_a_replica_that_waits_for_its_snapshot_does_not_lag(corpora: dict[str, Analysed]) -> None:
    """One sample was taken then: 55,323 bytes that came with the snapshot."""
    (row,) = corpora["events"].rows("availability", "pyrepl-to-redis7")
    assert (row["samples"], row["lag_bytes_max"]) == (3, 0)


def test_the_write_rate_is_bytes_over_seconds(corpora: dict[str, Analysed]) -> None:
    for name, source in (("text", "syncs"), ("events", "samples")):
        rows = [row for row in corpora[name].rows("write_rate", "pyrepl-pair") if row["stream_bytes"]]
        master = max(rows, key=lambda row: float(row["stream_bytes"]))
        assert master["source"] == source
        assert abs(master["bytes_per_s_mean"] - master["stream_bytes"] / master["observed_s"]) < 1e-6
    assert master["backlog_size"] == 16384
    assert abs(master["cover_mean_s"] - 16384 / master["bytes_per_s_mean"]) < 1e-6


def test_forks_have_their_cost(corpora: dict[str, Analysed]) -> None:
    rows = corpora["text"].rows("forks", "redis7-two-at-once")
    assert sorted(row["replicas"] for row in rows) == [1, 2]
    assert all(row["ok"] and row["why"] == "sync" and row["seconds"] > 0.5 for row in rows)
    rows = corpora["events"].rows("forks", "pyrepl-pair")
    assert all(row["fork_us"] > 0 and row["bytes"] > 0 and row["keys"] for row in rows)


def test_nodes_are_known_by_what_they_started_as(corpora: dict[str, Analysed]) -> None:
    kinds = {row["node"]: (row["kind"], row["version"]) for row in corpora["text"].tables["nodes"]}
    assert kinds["redis7-disk/master"] == ("redis", "7.0.15")
    assert kinds["valkey8-disk/replica"] == ("valkey", "8.0.1")
    assert kinds["pyrepl-pair/master"][0] == "pyrepl"


def test_the_series_has_a_row_per_span(corpora: dict[str, Analysed]) -> None:
    rows = corpora["events"].tables["series"]
    assert {row["replica"] is None for row in rows} == {True, False}
    assert len({row["at_us"] for row in rows}) <= 240
