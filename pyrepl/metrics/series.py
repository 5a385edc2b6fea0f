"""The samples of nodes and replicas over time, thinned for drawing: the table SERIES."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pyrepl.metrics.results import SERIES
from pyrepl.metrics.schemas import conform

SPANS: Final = 240
"""As many points as a line of a chart's width can show apart."""


def series(samples: DataFrame, spans: int = SPANS) -> DataFrame:
    """The largest values of each of at most `spans` equal spans between the first sample and the last."""
    bounds = samples.agg(f.min("at_us").alias("first"), f.max("at_us").alias("last"))
    width = f.greatest(f.lit(1), f.ceil((f.col("last") - f.col("first") + 1) / f.lit(spans)))
    begin = f.col("first") + f.floor((f.col("at_us") - f.col("first")) / f.col("width")) * f.col("width")
    placed = samples.crossJoin(f.broadcast(bounds.withColumn("width", width))).withColumn("begin", begin)
    of_node = f.col("event") == "sample"
    columns = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes", "writes_per_s", "stream_bytes_per_s")
    rows = (
        placed.withColumn("replica", f.when(~of_node, f.col("peer")))
        .groupBy("node", "replica", f.col("begin").alias("at_us"))
        .agg(*(f.max(name).alias(name) for name in columns))
    )
    return conform(rows, SERIES).orderBy("node", "replica", "at_us")
