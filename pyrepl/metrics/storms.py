"""Full resyncs of one master that come at once: the table STORMS."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.results import STORMS
from pyrepl.metrics.schemas import conform


def storms(syncs: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """The table STORMS: islands of full resyncs of one master that overlap."""
    again = pl.col("ok").shift(1).over("node", "replica") == pl.lit(False)
    ended = (pl.col("mode") != "continue") & pl.col("end_us").is_not_null()
    full = syncs.filter(ended & ~again.fill_null(False))
    rows = full.join(attempts.select("sync", "snapshot"), on="sync", how="left", maintain_order="left")
    fresh = (pl.col("at_us") > pl.col("end_us").cum_max().shift(1)).fill_null(True).cast(pl.Int64)
    rows = rows.with_columns(fresh.cum_sum().over("node").alias("island"))
    rows = rows.group_by("node", "island").agg(
        pl.col("at_us").min(),
        pl.col("end_us").max(),
        pl.col("at_us").max().alias("last"),
        pl.col("replica").drop_nulls().n_unique().alias("replicas"),
        pl.len().alias("syncs"),
        (pl.col("mode") == "full_disk").sum().cast(pl.Int64).alias("on_disk"),
        pl.col("snapshot").drop_nulls().n_unique().alias("snapshots"),
    )
    rows = rows.filter((pl.col("replicas") > 1) & (pl.col("snapshots") > 1))
    return conform(rows.with_columns(((pl.col("last") - pl.col("at_us")) / 1e6).alias("delay_s")), STORMS)
