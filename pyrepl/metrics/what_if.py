"""What other sizes would have done: the table BACKLOG_WHAT_IF.

Sizes are asked of what happened: for each avoidable full resync the logs tell how much of the stream the replica
lacked. Where there was no backlog at all, as it had been freed, no size would have done.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from pyrepl.metrics.results import BACKLOG_WHAT_IF
from pyrepl.metrics.schemas import conform

AVOIDABLE: Final = "out_of_backlog"
"""The cause of full resyncs that a larger backlog makes partial ones."""


def what_if(syncs: pl.DataFrame) -> pl.DataFrame:
    """The table BACKLOG_WHAT_IF."""
    avoidable = syncs.filter((pl.col("cause") == AVOIDABLE) & pl.col("behind_bytes").is_not_null())
    # Of the syncs of one master the bytes of all can be estimated, or of none.
    saved = (pl.col("bytes_estimate") - pl.col("behind_bytes")).clip(0)
    size = pl.max_horizontal(pl.lit(1), "behind_bytes").alias("backlog_size")
    each = avoidable.group_by("node", size).agg(
        pl.len().cast(pl.Int64).alias("count"),
        pl.when(saved.count() > 0).then(saved.sum()).alias("bytes"),
        pl.col("total_ms").sum().alias("ms"),
    )
    rows = each.sort("node", "backlog_size").with_columns(
        pl.col("count").cum_sum().over("node").alias("avoided"),
        pl.col("count").sum().over("node").alias("avoidable"),
        pl.col("bytes").cum_sum().over("node").alias("saved_bytes"),
        (pl.col("ms").cum_sum().over("node") / 1000).alias("saved_s"),
    )
    return conform(rows.with_columns((pl.col("avoided") / pl.col("avoidable")).alias("share")), BACKLOG_WHAT_IF)
