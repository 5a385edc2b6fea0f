"""Facts for advice (facts.py), summed up from the result tables: expressions over tables, and no words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from pyrepl.metrics.facts import SHARES, Facts, Row

MIN_SYNCS_FOR_CHANNEL: Final = 3
"""Fewer full resyncs of a kind than this are no measurement. Inclusive."""
OUTAGE_S: Final = 1.0
"""An outage that had lasted less when the logs end may be a sync under way. Inclusive."""
_CHANNELS: Final = {"rdb_channel": "two", "dual_channel": "two", "full_disk": "one", "full_diskless": "one"}


def gather(found: Mapping[str, pl.DataFrame], sizes: Mapping[str, int]) -> Facts:
    """Facts from the result tables by name. `sizes` are the backlogs' by node, bytes."""
    return Facts(
        _backlogs(found["backlog_what_if"], sizes),
        _output_buffers(found["cuts"]).to_dicts(),
        _channels(found["syncs"]).to_dicts(),
        _storms(found["storms"]).to_dicts(),
        found["loops"].to_dicts(),
        _outages(found["availability"], found["loops"]).to_dicts(),
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


def _output_buffers(cuts: pl.DataFrame) -> pl.DataFrame:
    killed = cuts.filter(pl.col("cause") == "output_buffer").group_by("node", "replica")
    return killed.agg(
        pl.len().alias("count"),
        pl.col("output_buffer_bytes").max().alias("most"),
        pl.when(pl.col("down_s").count() > 0).then(pl.col("down_s").sum()).alias("down_s"),
        pl.col("open_s").max(),
    )


def _channels(syncs: pl.DataFrame) -> pl.DataFrame:
    """Masters that served enough full syncs of both kinds to compare them."""
    kind = pl.col("mode").replace_strict(_CHANNELS, default=None, return_dtype=pl.String)
    done = syncs.lazy().filter(pl.col("ok") & pl.col("total_ms").is_not_null()).select("node", "total_ms", side=kind)
    sides = {side: pl.col("total_ms").filter(pl.col("side") == side) for side in ("one", "two")}
    both = done.filter(pl.col("side").is_not_null()).group_by("node").agg(
        *(taken.len().alias(f"{side}_n") for side, taken in sides.items()),
        *(taken.median().alias(f"{side}_ms") for side, taken in sides.items()),
    )  # fmt: skip
    return both.filter(pl.min_horizontal("one_n", "two_n") >= MIN_SYNCS_FOR_CHANNEL).collect()


def _storms(storms: pl.DataFrame) -> pl.DataFrame:
    return storms.group_by("node").agg(
        pl.len().alias("count"),
        pl.col("snapshots").sum(),
        pl.col("syncs").sum(),
        pl.col("delay_s").max(),
        ((pl.col("end_us") - pl.col("at_us")).sum() / 1e6).alias("lasted_s"),
    )


def _outages(availability: pl.DataFrame, loops: pl.DataFrame) -> pl.DataFrame:
    looping = loops.filter(pl.col("open_s").is_not_null()).select("node", "replica")
    out = availability.filter(pl.col("open_outage_s") >= OUTAGE_S)
    return out.join(looping, on=["node", "replica"], how="anti", nulls_equal=True)
