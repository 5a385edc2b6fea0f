"""The samples of nodes and replicas over time, thinned for drawing: the table SERIES."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.results import SERIES
from pyrepl.metrics.samples import SPANS, widened, width
from pyrepl.metrics.schemas import conform


def series(drawn: pl.DataFrame, first_us: int, last_us: int, spans: int = SPANS) -> pl.DataFrame:
    """The table SERIES, of spans that lie between the first sample and the last. `drawn` is samples.drawn() and what
    named() adds to it, of parts and nodes in any order."""
    lines = drawn.with_columns(pl.coalesce("called", "peer").alias("replica"))
    rows = widened(lines, width(first_us, last_us, spans), "replica")
    return conform(rows, SERIES).sort("node", "replica", "at_us")


def named(drawn: pl.DataFrame, halves: pl.DataFrame) -> pl.DataFrame:
    """A replica is called by its node's name where both ends of one of its syncs were logged: what a master calls it,
    and the name of that node, have the sync's name in common."""
    asked = halves.filter(pl.col("asked_us").is_not_null())
    masters = asked.filter(pl.col("end") == "master").select("node", "peer", "sync")
    replicas = asked.filter(pl.col("end") == "replica").select("sync", pl.col("node").alias("called"))
    names = masters.join(replicas, on="sync").group_by("node", "peer").agg(pl.col("called").max())
    return drawn.join(names, on=["node", "peer"], how="left")
