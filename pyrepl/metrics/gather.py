"""Facts for advice (facts.py), summed up from the result tables: expressions over tables, and no words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from pyrepl.metrics.facts import SHARES, Facts, Row
from pyrepl.metrics.what_if import AVOIDABLE

MIN_SYNCS_FOR_CHANNEL: Final = 3
"""Fewer full resyncs of a kind than this are no measurement. Inclusive."""
OUTAGE_S: Final = 1.0
"""An outage that had lasted less when the logs end may be a sync under way. Inclusive."""
STALLED_S: Final = 10.0
"""A replica acknowledges once a second, and one that reads learns of a cut at once: one that has not come back for so
long did not read. As long as Redis's repl-ping-replica-period. Inclusive."""
_OF_FREED: Final = ("id_mismatch", "no_backlog")
_PAIR: Final = ("node", "replica")
_CHANNELS: Final = {"rdb_channel": "two", "dual_channel": "two", "full_disk": "one", "full_diskless": "one"}


def gather(found: Mapping[str, pl.DataFrame], sizes: Mapping[str, int], freed: Mapping[str, Sequence[int]]) -> Facts:
    """Facts from the result tables by name. By node, `sizes` are the backlogs', bytes, and `freed` is when they were
    freed by repl-backlog-ttl, Unix us by the node's own clock."""
    killed = found["cuts"].filter(pl.col("cause") == "output_buffer")
    in_sync = pl.col("phase") != "stream"
    gone = ~in_sync & (pl.col("back_s").is_null() | (pl.col("back_s") >= STALLED_S))
    stalled = _killed(killed.filter(gone))
    in_syncs = _killed(killed.filter(in_sync))
    killers = (pl.col("reason") == "output_buffer").fill_null(False)
    told = pl.concat([found["loops"].filter(pl.col("open_s").is_not_null()).select(_PAIR),
                      stalled.filter(pl.col("open_s").is_not_null()).select(_PAIR)])  # fmt: skip
    return Facts(
        _backlogs(found["backlog_what_if"], sizes),
        _misses(found, sizes),
        _freed(found, freed).to_dicts(),
        _killed(killed.filter(~in_sync & ~gone)).to_dicts(),
        _with_versions(_with_rates(in_syncs, found), found["nodes"]).to_dicts(),
        stalled.to_dicts(),
        _channels(found["syncs"]).to_dicts(),
        _storms(found["storms"]).to_dicts(),
        _with_versions(found["loops"].filter(~killers), found["nodes"]).to_dicts(),
        _outages(found["availability"], told).to_dicts(),
    )


def _backlogs(what_if: pl.DataFrame, sizes: Mapping[str, int]) -> list[Row]:
    """The smallest sizes that would have done for SHARES of the avoidable full resyncs."""
    rows = []
    for share in SHARES:
        enough = what_if.filter(pl.col("share") >= share).sort("node", "backlog_size")
        rows.append(enough.unique("node", keep="first", maintain_order=True).with_columns(wanted=pl.lit(share)))
    best = pl.concat(rows).sort("node", "backlog_size", "wanted")
    best = best.unique(["node", "backlog_size"], keep="last", maintain_order=True)
    return [row | {"now": sizes.get(row["node"])} for row in best.iter_rows(named=True)]


def _misses(found: Mapping[str, pl.DataFrame], sizes: Mapping[str, int]) -> list[Row]:
    unknown = found["syncs"].filter((pl.col("cause") == AVOIDABLE) & pl.col("behind_bytes").is_null())
    away = found["cuts"].filter(pl.col("lacked_bytes").is_null()).group_by("node")
    rows = unknown.group_by("node").agg(pl.len().alias("count"))
    rows = rows.join(away.agg(pl.col("back_s").max().alias("away_s")), on="node", how="left")
    rows = rows.join(_fast(found["write_rate"]), on="node", how="left")
    return [row | {"now": sizes.get(row["node"])} for row in rows.iter_rows(named=True)]


def _freed(found: Mapping[str, pl.DataFrame], freed: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """Replicas that came back behind a time at which their master had freed its backlog, and had to sync in full. To
    them its stream has another name then: the cause is an id that does not match, or no backlog."""
    told = [{"node": node, "freed_us": at_us} for node, times in freed.items() for at_us in times]
    times = _on_one_clock(pl.DataFrame(told, {"node": pl.String, "freed_us": pl.Int64}), found["skew"])
    back_us = pl.col("at_us") + (pl.col("back_s") * 1e6).round().cast(pl.Int64)
    away = found["cuts"].filter(pl.col("back_s").is_not_null()).select(*_PAIR, "back_s", "at_us", back_us=back_us)
    decided_us = pl.col("at_us") + (pl.col("handshake_ms").fill_null(0.0) * 1000).round().cast(pl.Int64)
    full = found["syncs"].filter(pl.col("cause").is_in(_OF_FREED))
    full = full.select(*_PAIR, "total_ms", back_us="at_us", decided_us=decided_us)
    rows = away.join(full, on=[*_PAIR, "back_us"], nulls_equal=True).join(times, on="node")
    rows = rows.filter(pl.col("freed_us").is_between("at_us", "decided_us")).unique([*_PAIR, "back_us"])
    return rows.group_by("node").agg(
        pl.len().alias("count"),
        pl.col("back_s").max().alias("away_s"),
        (pl.col("total_ms").sum() / 1000).alias("saved_s"),
    )


def _on_one_clock(times: pl.DataFrame, skew: pl.DataFrame) -> pl.DataFrame:
    """Times by the nodes' own clocks on that of their reference, as all result tables have them."""
    rows = times.join(skew.select("node", "skew_ms"), on="node", how="left")
    ahead_us = (pl.col("skew_ms").fill_null(0.0) * 1000).round().cast(pl.Int64)
    return rows.select("node", pl.col("freed_us") - ahead_us)


def _fast(write_rate: pl.DataFrame) -> pl.DataFrame:
    """What a master writes while it writes much."""
    return write_rate.select("node", pl.coalesce("bytes_per_s_p99", "bytes_per_s_mean").alias("bytes_per_s"))


def _killed(cuts: pl.DataFrame) -> pl.DataFrame:
    """Cuts for the output buffer by pair."""
    return cuts.group_by(_PAIR).agg(
        pl.len().alias("count"),
        pl.col("output_buffer_bytes").max().alias("most"),
        pl.col("lacked_bytes").max().alias("lacked"),
        pl.col("back_s").max(),
        pl.when(pl.col("down_s").count() > 0).then(pl.col("down_s").sum()).alias("down_s"),
        pl.col("open_s").max(),
    )


def _with_rates(killed: pl.DataFrame, found: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """How long the replica takes to be in step, and what the master writes meanwhile."""
    full = found["syncs"].filter((pl.col("mode") != "continue").fill_null(True))
    ended = pl.when(pl.col("ok")).then("total_ms") / 1000
    two = pl.col("mode").is_in(["rdb_channel", "dual_channel"])
    of_pair = full.group_by(_PAIR).agg(ended.max().alias("took_s"), two.sum().alias("two_n"))
    of_node = full.group_by("node").agg(ended.max().alias("longest_s"))
    rows = killed.join(of_pair, on=_PAIR, how="left", nulls_equal=True).join(of_node, on="node", how="left")
    rows = rows.with_columns(pl.coalesce("took_s", "longest_s").alias("took_s")).drop("longest_s")
    return rows.join(_fast(found["write_rate"]), on="node", how="left")


def _with_versions(rows: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Of both ends, where their logs were read."""
    own = nodes.select("node", "kind", "version")
    other = nodes.select(pl.col("node").alias("replica"), replica_kind="kind", replica_version="version")
    return rows.join(own, on="node", how="left").join(other, on="replica", how="left")


def _channels(syncs: pl.DataFrame) -> pl.DataFrame:
    """Masters that served enough full syncs of both kinds to compare them."""
    kind = pl.col("mode").replace_strict(_CHANNELS, default=None, return_dtype=pl.String)
    done = (
        syncs.lazy()
        .filter(pl.col("ok") & pl.col("total_ms").is_not_null())
        .select("node", "mode", "total_ms", side=kind)
    )
    sides = {side: pl.col("total_ms").filter(pl.col("side") == side) for side in ("one", "two")}
    both = done.filter(pl.col("side").is_not_null()).group_by("node").agg(
        *(taken.len().alias(f"{side}_n") for side, taken in sides.items()),
        *(taken.median().alias(f"{side}_ms") for side, taken in sides.items()),
        (pl.col("mode") == "dual_channel").sum().alias("dual_n"),
    )  # fmt: skip
    return both.filter(pl.min_horizontal("one_n", "two_n") >= MIN_SYNCS_FOR_CHANNEL).collect()


def _storms(storms: pl.DataFrame) -> pl.DataFrame:
    return storms.group_by("node").agg(
        pl.len().alias("count"),
        pl.col("snapshots").sum(),
        pl.col("syncs").sum(),
        pl.col("on_disk").sum(),
        pl.col("delay_s").max(),
        ((pl.col("end_us") - pl.col("at_us")).sum() / 1e6).alias("lasted_s"),
    )


def _outages(availability: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    out = availability.filter(pl.col("open_outage_s") >= OUTAGE_S)
    return out.join(told, on=_PAIR, how="anti", nulls_equal=True)
