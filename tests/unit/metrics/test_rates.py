"""How well replicas kept up, how fast was written, what forks cost."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pyrepl.metrics.rates import availability
from pyrepl.metrics.samples import values
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.tables import SAMPLES
from tests.unit.metrics import tried
from tests.unit.metrics.conftest import Analysed

S = 1_000_000


def test_availability_is_a_share_of_what_was_observed(corpora: dict[str, Analysed]) -> None:
    for row in corpora["text"].tables["availability"]:
        assert (row["availability"] is None) == (row["observed_s"] == 0)
        assert 0 <= (row["availability"] or 0) <= 1
        assert row["online_s"] <= row["observed_s"]
    (row,) = corpora["text"].rows("availability", "redis8-to-redis7-loop")
    assert row["online_s"] == 0


def pair(*told: dict[str, Any], over: int = 100, parted: bool = False) -> dict[str, Any]:
    """The row of a pair that was observed until `over`; times in s."""
    rows = [{name: value * S if name.endswith("_us") else value for name, value in one.items()} for one in told]
    shape = {"node": "m", "replica": "r", "over_us": over * S, "parted": parted, "verdict": "full"}
    attempts = tried.frame(shape | {"sync": str(number)} | row for number, row in enumerate(rows))
    (row,) = availability(attempts, values(pl.DataFrame(schema=schema(SAMPLES)))).to_dicts()
    return row


WELL: dict[str, Any] = {"at_us": 0, "ok": True, "online_us": 2}
CUT = WELL | {"lost_us": 40, "lost_cause": "timeout"}
AGAIN: dict[str, Any] = {"at_us": 70, "ok": True, "online_us": 72}
TRY: dict[str, Any] = {
    "at_us": 80, "verdict": None, "lost_us": 80, "lost_cause": "refused", "failure": "refused",
    "lost_detail": "WRONGPASS",
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "longest", "still", "cause"),
    [
        ([WELL], 0.0, None, None),
        ([CUT, AGAIN], 32.0, None, None),
        ([CUT], 60.0, 60.0, "timeout"),
        ([CUT, TRY], 60.0, 60.0, "refused"),
        ([CUT, AGAIN | {"lost_us": 95, "lost_cause": "timeout"}], 32.0, 5.0, "timeout"),
        ([TRY], 20.0, 20.0, "refused"),
    ],
)
def test_an_outage_lasts_until_the_logs_end(
    told: list[dict[str, Any]], longest: float, still: float | None, cause: str | None
) -> None:
    row = pair(*told)
    assert (row["longest_outage_s"], row["open_outage_s"], row["open_cause"]) == (longest, still, cause)
    assert row["open_detail"] == ("WRONGPASS" if cause == "refused" else None)


def test_a_replica_that_went_elsewhere_is_not_missed() -> None:
    row = pair(CUT | {"lost_cause": "role_change"}, over=40, parted=True)
    assert (row["observed_s"], row["longest_outage_s"], row["open_outage_s"]) == (40.0, 0.0, None)


def test_the_output_buffer_of_a_cut_counts_though_no_sample_saw_it() -> None:
    rows = [CUT | {"m.lost_output_bytes": 8_600_000}, AGAIN | {"m.output_peak": 70}]
    assert pair(*rows)["output_buffer_max"] == 8_600_000


def test_real_outages(corpora: dict[str, Analysed]) -> None:
    rows = {row["node"]: row for row in corpora["text"].rows("availability", "redis7-foreign")}
    gone = rows["redis7-foreign/other"]
    assert gone["open_cause"] == "connect_failed" and gone["longest_outage_s"] == gone["open_outage_s"] > 1
    assert rows["redis7-foreign/one"]["open_outage_s"] is None, "the replica left it for the other"
    loops = corpora["text"].rows("availability", "redis8-to-redis7-loop")
    assert [row["longest_outage_s"] == row["observed_s"] > 3 for row in loops] == [True]
    (cut,) = corpora["events"].rows("availability", "pyrepl-output-buffer")
    assert cut["output_buffer_max"] == 4_797_130


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
