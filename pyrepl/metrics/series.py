"""What the lines of the table SERIES are called; the table itself is fleet_sql.py's."""

from __future__ import annotations

import polars as pl


def named(drawn: pl.DataFrame, halves: pl.DataFrame) -> pl.DataFrame:
    """A replica is called by its node's name where both ends of one of its syncs were logged: what a master calls it,
    and the name of that node, have the sync's name in common."""
    asked = halves.filter(pl.col("asked_us").is_not_null())
    masters = asked.filter(pl.col("end") == "master").select("node", "peer", "sync")
    replicas = asked.filter(pl.col("end") == "replica").select("sync", pl.col("node").alias("called"))
    names = masters.join(replicas, on="sync").group_by("node", "peer").agg(pl.col("called").max())
    return drawn.join(names, on=["node", "peer"], how="left")
