"""What the lines of the table SERIES are called; the table itself is spans.py's."""

from __future__ import annotations

from typing import Final

import polars as pl

from pyrepl.metrics.rates import called

_LABEL: Final = ("node", "peer")


def named(drawn: pl.DataFrame, halves: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """A replica is called by its node's name where both ends of one of its syncs were logged: what a master calls it,
    and the name of that node, have the sync's name in common. Where no sync is named by both it is called as in the
    tables."""
    asked = halves.filter(pl.col("asked_us").is_not_null())
    masters = asked.filter(pl.col("end") == "master").select("node", "peer", "sync")
    replicas = asked.filter(pl.col("end") == "replica").select("sync", pl.col("node").alias("called"))
    names = masters.join(replicas, on="sync").group_by("node", "peer").agg(pl.col("called").max())
    found = drawn.join(names, on=_LABEL, how="left").join(called(attempts), on=_LABEL, how="left", suffix="_later")
    return found.with_columns(pl.coalesce("called", "called_later").alias("called")).drop("called_later")
