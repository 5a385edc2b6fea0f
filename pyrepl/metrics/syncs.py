"""What attempts cost and how they ended: the tables syncs, cuts, retries, loops, and the counts of them.

Each expression stands in the order of its table in results.py, whose rules it carries out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pyrepl.metrics.results import CUTS, FULL_CAUSES, LOOPS, MODES, RETRIES, SYNCS
from pyrepl.metrics.schemas import conform

LOOP_LENGTH = 3
"""So many failures of one kind in a row are a loop. Inclusive."""


def day(at_us: Column) -> Column:
    """The UTC day of a Unix time in microseconds."""
    return f.date_format(f.timestamp_micros(at_us), "yyyy-MM-dd")


def _ms(begin: Column, end: Column) -> Column:
    """Milliseconds from one time to another, null when it would be negative or either is not known."""
    return f.when(end >= begin, (end - begin) / 1000.0)


def syncs(attempts: DataFrame) -> DataFrame:
    """The table SYNCS."""
    tried = attempts.where(f.col("verdict").isNotNull())
    c = f.col
    full = c("verdict") == "full"
    end_us = f.when(c("ok"), c("online_us")).otherwise(f.when(c("ok") == f.lit(False), c("lost_us")))
    decided = f.coalesce("m.decided_us", "r.decided_us")
    began = f.coalesce("m.bgsave_us", "m.delivery_us")
    waited = f.when(
        full, f.coalesce(c("m.wait_ms").cast("double"), _ms(c("m.decided_us"), began), c("r.wait_ms").cast("double"))
    )
    received = f.coalesce("r.delivered_us", "r.load_us")
    parsed = c("r.delivery_us").isNotNull() & (c("r.load_us") <= c("r.delivery_us") + 2000)
    transfer = f.when(
        full,
        f.coalesce(
            f.greatest("m.delivery_ms", "r.delivery_ms").cast("double"),
            _ms(f.coalesce("r.delivery_us", "m.bgsave_us"), f.when(parsed, c("r.loaded_us")).otherwise(received)),
            _ms(began, f.coalesce("m.delivered_us", "m.online_us")),
        ),
    )
    load = f.when(full, f.coalesce(c("r.load_ms").cast("double"), _ms(c("r.load_us"), c("r.loaded_us"))))
    caught = f.when(
        full & c("ok"),
        f.coalesce(
            f.coalesce("r.catch_up_ms", "m.catch_up_ms").cast("double"),
            _ms(
                f.coalesce("r.catch_up_us", "r.loaded_us", "r.delivered_us"),
                f.greatest("r.caught_up_us", "r.online_us"),
            ),
        ),
    )
    size = f.when(full, f.coalesce(f.greatest("m.bytes", "r.bytes"))).otherwise(
        f.coalesce("m.missing_bytes", "r.missing_bytes")
    )
    gap = f.when(c("cause").isin("out_of_backlog", "past_fork", "above_offset"), f.coalesce("m.by_bytes", "r.by_bytes"))
    rows = tried.select(
        "*",
        day(c("at_us")).alias("day"),
        end_us.alias("end_us"),
        c("lost_detail").alias("failure_detail"),
        f.when(c("verdict") == "continue", c("asked_offset")).otherwise(c("snapshot_offset")).alias("offset"),
        gap.alias("gap_bytes"),
        f.when(full, f.when(c("snapshot_offset") >= c("asked_offset"), c("snapshot_offset") - c("asked_offset")))
        .otherwise(c("m.missing_bytes"))
        .alias("behind_bytes"),
        f.coalesce(
            _ms(c("r.begin_us"), c("r.asked_us")), _ms(c("m.begin_us"), decided), _ms(c("at_us"), decided)
        ).alias("handshake_ms"),
        waited.alias("wait_bgsave_ms"),
        transfer.alias("transfer_ms"),
        load.alias("load_ms"),
        caught.alias("catch_up_ms"),
        _ms(c("at_us"), end_us).alias("total_ms"),
        size.alias("bytes"),
        c("r.keys").alias("keys"),
        f.coalesce("m.output_peak").alias("master_buffer_peak"),
        c("r.sync_peak").alias("replica_buffer_peak"),
        c("r.rdb_version").alias("rdb_version"),
    )
    rows = rows.withColumn(
        "mb_per_s",
        f.when(full & (c("transfer_ms") >= 1), c("bytes") / 1e6 / (c("transfer_ms") / 1000)),
    ).withColumn("failure_detail", f.when(c("ok") == f.lit(False), c("failure_detail")))
    return conform(rows, SYNCS)


def modes(syncs: DataFrame) -> DataFrame:
    """The table MODES."""
    known = syncs.where(f.col("mode").isNotNull())
    rows = known.groupBy("mode").agg(f.count("*").alias("count"), f.count(f.when(f.col("ok"), 1)).alias("ok"))
    return conform(rows, MODES).orderBy("mode")


def full_causes(syncs: DataFrame) -> DataFrame:
    """The table FULL_CAUSES."""
    rows = (
        syncs.where(f.col("cause").isNotNull())
        .groupBy("cause")
        .agg(
            f.count("*").alias("count"),
            f.sum("bytes").alias("bytes"),
            (f.sum("total_ms") / 1000).alias("seconds"),
            f.percentile("gap_bytes", 0.5).alias("gap_p50"),
            f.max("gap_bytes").alias("gap_max"),
            f.percentile("behind_bytes", 0.5).alias("behind_p50"),
            f.max("behind_bytes").alias("behind_max"),
        )
    )
    return conform(rows, FULL_CAUSES).orderBy(f.desc("count"), "cause")


def loops(syncs: DataFrame) -> DataFrame:
    """The table LOOPS: islands of like failures in each pair's syncs."""
    of_pair = Window.partitionBy("node", "replica").orderBy("at_us", "sync")
    reason = f.when(f.col("ok") == f.lit(False), f.col("failure")).otherwise("")
    rows = syncs.withColumn("reason", reason)
    changed = f.when(f.lag("reason").over(of_pair) == f.col("reason"), 0).otherwise(1)
    rows = rows.withColumn("island", f.sum(changed).over(of_pair))
    last_ok = f.max(f.when(f.col("ok"), f.col("at_us"))).over(Window.partitionBy("node", "replica"))
    rows = rows.withColumn("last_ok", last_ok).where(f.col("reason") != "")
    islands = rows.groupBy("node", "replica", "reason", "island").agg(
        f.max_by("failure_detail", "at_us").alias("detail"),
        f.count("*").alias("count"),
        f.min("at_us").alias("first_us"),
        f.max("end_us").alias("last_us"),
        f.max("at_us").alias("last_begin"),
        f.sum("bytes").alias("bytes"),
        f.max("last_ok").alias("last_ok"),
    )
    islands = islands.where(f.col("count") >= LOOP_LENGTH)
    longest = Window.partitionBy("node", "replica", "reason").orderBy(f.desc("count"), "first_us")
    chosen = islands.withColumn("place", f.row_number().over(longest)).where(f.col("place") == 1)
    chosen = chosen.withColumn("every_s", (f.col("last_begin") - f.col("first_us")) / 1e6 / (f.col("count") - 1))
    chosen = chosen.withColumn("over", f.coalesce(f.col("last_ok") > f.col("last_us"), f.lit(False)))
    return conform(chosen, LOOPS).orderBy(f.desc("count"), "node", "replica")


def retries(attempts: DataFrame) -> DataFrame:
    """The table RETRIES."""
    rows = (
        attempts.where(f.col("failure").isNotNull())
        .groupBy("node", "replica", f.col("failure").alias("reason"))
        .agg(f.count("*").alias("count"), f.min("at_us").alias("first_us"), f.max("lost_us").alias("last_us"))
    )
    return conform(rows, RETRIES).orderBy(f.desc("count"), "node", "replica", "reason")


def cuts(attempts: DataFrame) -> DataFrame:
    """The table CUTS."""
    established = f.col("verdict").isNotNull() | (f.col("lost_phase") == "stream")
    # From the newest on: a frame that ends with the last row is computed anew for each row.
    newest_first = Window.partitionBy("node", "replica").orderBy(f.desc("at_us"), f.desc("sync"))
    of_pair = newest_first.rowsBetween(Window.unboundedPreceding, -1)
    next_ok = f.min(f.when(f.col("ok"), f.col("online_us"))).over(of_pair)
    rows = (
        attempts.withColumn("next_ok", next_ok)
        .where(established & f.col("lost_us").isNotNull())
        .select(
            day(f.col("lost_us")).alias("day"),
            "node",
            "replica",
            f.col("lost_us").alias("at_us"),
            "ends",
            f.col("lost_cause").alias("cause"),
            f.when(f.col("ok"), "stream").otherwise(f.coalesce("lost_phase", f.lit("sync"))).alias("phase"),
            f.col("lost_detail").alias("detail"),
            f.col("lost_output_bytes").alias("output_buffer_bytes"),
            f.when(f.col("next_ok") >= f.col("lost_us"), (f.col("next_ok") - f.col("lost_us")) / 1e6).alias("down_s"),
        )
    )
    return conform(rows, CUTS)
