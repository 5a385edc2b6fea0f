"""The samples of nodes and replicas over time, thinned for drawing: the table SERIES."""

from __future__ import annotations

from math import ceil
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pyrepl.metrics.results import SERIES
from pyrepl.metrics.schemas import conform

SPANS: Final = 240
"""As many points as a line of a chart's width can show apart."""


def series(samples: DataFrame, events: DataFrame, spans: int = SPANS) -> DataFrame:
    """The largest values of each of at most `spans` equal spans between the first sample and the last.

    A replica is called by its node's name where both ends of one of its syncs were logged.
    """
    first, last = samples.agg(f.min("at_us"), f.max("at_us")).collect()[0]
    first = first or 0
    width = max(1, ceil(((last or 0) - first + 1) / spans))
    begin = f.lit(first) + f.floor((f.col("at_us") - f.lit(first)) / f.lit(width)) * f.lit(width)
    placed = samples.withColumn("begin", begin)
    of_node = f.col("event") == "sample"
    columns = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes", "writes_per_s", "stream_bytes_per_s")
    rows = (
        placed.withColumn("peer", f.when(~of_node, f.col("peer")))
        .groupBy("node", "peer", f.col("begin").alias("at_us"))
        .agg(*(f.max(name).alias(name) for name in columns))
    )
    named = rows.join(f.broadcast(_names(events)), ["node", "peer"], "left")
    named = named.withColumn("replica", f.coalesce("called", "peer"))
    return conform(named, SERIES).orderBy("node", "replica", "at_us")


def _names(events: DataFrame) -> DataFrame:
    """What a master calls a replica, and the name of that node: both have the sync's name in their logs."""
    asked = events.where((f.col("event") == "psync_asked") & f.col("sync").isNotNull())
    masters = asked.where(f.col("end") == "master").select("node", "peer", "sync")
    replicas = asked.where(f.col("end") == "replica").select("sync", f.col("node").alias("called"))
    return masters.join(replicas, "sync").groupBy("node", "peer").agg(f.max("called").alias("called"))
