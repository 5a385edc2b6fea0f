"""How well replicas kept up, how fast a node writes, what its forks cost: availability, write_rate, forks, nodes.

Each expression stands in the order of its table in results.py, whose rules it carries out.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from pyrepl.metrics.results import AVAILABILITY, FORKS, NODES, SERIES, WRITE_RATE
from pyrepl.metrics.schemas import conform
from pyrepl.metrics.syncs import day

SPANS = 240
"""Into so many spans the whole is cut for SERIES."""


def nodes(events: DataFrame, samples: DataFrame) -> DataFrame:
    """The table NODES, and `replids`: the ids that the node's own stream had."""
    ids = f.collect_set("replid"), f.collect_set("replid2")
    started = f.col("event") == "node_started"
    kind = f.when(started, f.when(f.col("form") == "json", "pyrepl").otherwise(f.col("detail")))
    counted = events.groupBy("node").agg(
        f.max_by(kind, f.when(started, f.col("at_us"))).alias("kind"),
        f.max_by(f.when(started, f.col("version")), f.when(started, f.col("at_us"))).alias("version"),
        f.max("port").alias("port"),
        f.count_distinct(f.when(f.col("form") == "json", f.col("run")).when(started, f.col("run"))).alias("starts"),
        f.min("at_us").alias("first_us"),
        f.max("at_us").alias("last_us"),
        f.count("*").alias("events"),
        f.array_union(*ids).alias("replids"),
    )
    sampled = samples.groupBy("node").agg(
        f.min("at_us").alias("first_sample"), f.max("at_us").alias("last_sample"), f.count("*").alias("samples")
    )
    rows = counted.join(sampled, "node", "full")
    return rows.select(
        "node",
        "kind",
        "version",
        "port",
        f.greatest(f.lit(1), f.coalesce("starts", f.lit(1))).alias("runs"),
        f.least("first_us", "first_sample").alias("first_us"),
        f.greatest("last_us", "last_sample").alias("last_us"),
        (f.coalesce("events", f.lit(0)) + f.coalesce("samples", f.lit(0))).alias("events"),
        "replids",
    )


def shown_nodes(nodes: DataFrame) -> DataFrame:
    """The table NODES."""
    return conform(nodes, NODES).orderBy("node")


def availability(attempts: DataFrame, nodes: DataFrame, samples: DataFrame) -> DataFrame:
    """The table AVAILABILITY."""
    spans = _spans(attempts, nodes).join(_lags(samples, attempts), ["node", "replica"], "left")
    return conform(spans, AVAILABILITY).orderBy("availability", "node", "replica")


def _spans(attempts: DataFrame, nodes: DataFrame) -> DataFrame:
    """How long each pair was observed and online."""
    of_pair = Window.partitionBy("node", "replica").orderBy("at_us", "sync")
    ends = nodes.select(f.col("node").alias("logged"), f.col("last_us").alias("log_end"))
    rows = (
        attempts.select("sync", "node", "replica", "verdict", "ok", "at_us", "online_us", "lost_us", "lost_phase")
        .join(f.broadcast(ends).withColumnRenamed("log_end", "m_end"), f.col("node") == f.col("logged"), "left")
        .drop("logged")
        .join(f.broadcast(ends).withColumnRenamed("log_end", "r_end"), f.col("replica") == f.col("logged"), "left")
        .drop("logged")
    )
    over = f.greatest("m_end", "r_end", "at_us", "online_us", "lost_us")
    up_to = f.coalesce("lost_us", f.lead("at_us").over(of_pair), over)
    online = f.col("ok") & f.col("online_us").isNotNull()
    rows = rows.withColumn("up", f.when(online, f.col("online_us"))).withColumn("down", f.when(online, up_to))
    rows = rows.withColumn("up_s", f.greatest(f.lit(0.0), (f.col("down") - f.col("up")) / 1e6)).withColumn("over", over)
    outage = (f.lead("up", 1).over(Window.partitionBy("node", "replica").orderBy("up")) - f.col("down")) / 1e6
    rows = rows.withColumn("outage", f.when(f.col("up").isNotNull(), outage))
    established = f.col("verdict").isNotNull() | (f.col("lost_phase") == "stream")
    totals = rows.groupBy("node", "replica").agg(
        ((f.max("over") - f.min("at_us")) / 1e6).alias("observed_s"),
        f.coalesce(f.sum("up_s"), f.lit(0.0)).alias("online_s"),
        f.count(f.when(established & f.col("lost_us").isNotNull(), 1)).alias("cuts"),
        f.greatest(f.lit(0.0), f.max("outage")).alias("longest_outage_s"),
    )  # fmt: skip
    share = f.when(f.col("observed_s") > 0, f.least(f.lit(1.0), f.col("online_s") / f.col("observed_s")))
    return totals.withColumn("availability", share)


def _lags(samples: DataFrame, attempts: DataFrame) -> DataFrame:
    """Percentiles of the lag that masters saw. Their labels of replicas become nodes as in attempts."""
    labels = (
        attempts.where(f.col("m").isNotNull())
        .select(f.col("m.node").alias("own"), f.col("m.peer").alias("label"), f.col("replica").alias("called"))
        .groupBy("own", "label")
        .agg(f.max("called").alias("called"))
    )
    of_replicas = samples.where(f.col("event") == "replica_sample")
    marks = f.array(f.lit(0.5), f.lit(0.9), f.lit(0.99))
    lags = of_replicas.groupBy("node", "peer").agg(
        f.count("*").alias("samples"),
        f.percentile("lag_bytes", marks).alias("lag_bytes"),
        f.percentile("lag_s", marks).alias("lag_s"),
        f.max("lag_bytes").alias("lag_bytes_max"),
        f.max("lag_s").alias("lag_s_max"),
        f.max("output_bytes").alias("output_buffer_max"),
    )
    named = lags.join(f.broadcast(labels), (lags["node"] == labels["own"]) & (lags["peer"] == labels["label"]), "left")
    return named.select(
        "node",
        f.coalesce("called", "peer").alias("replica"),
        "samples",
        *(f.col(name)[place].alias(f"{name}_p{mark}") for name in ("lag_bytes", "lag_s")
          for place, mark in enumerate((50, 90, 99))),
        "lag_bytes_max",
        "lag_s_max",
        "output_buffer_max",
    )  # fmt: skip


def write_rate(events: DataFrame, samples: DataFrame, attempts: DataFrame) -> DataFrame:
    """The table WRITE_RATE: by samples where there are any, else by the offsets that syncs name."""
    of_nodes = samples.where(f.col("event") == "sample").select(
        "node", "replid", "at_us", f.col("offset").alias("cut"), "writes_per_s", f.lit("samples").alias("source")
    )
    told = attempts.where(f.col("snapshot_offset").isNotNull() & (f.col("verdict") == "full")).select(
        "node",
        f.coalesce("r.replid", "m.replid").alias("replid"),
        f.coalesce("m.decided_us", "r.decided_us").alias("at_us"),
        f.col("snapshot_offset").alias("cut"),
        f.lit(None).cast("double").alias("writes_per_s"),
        f.lit("syncs").alias("source"),
    )
    told = told.join(of_nodes.select("node").distinct(), "node", "left_anti")
    points = of_nodes.unionByName(told)
    of_run = Window.partitionBy("node", "replid").orderBy("at_us", "cut")
    spans = points.withColumn("span_s", (f.col("at_us") - f.lag("at_us").over(of_run)) / 1e6).withColumn(
        "grown", f.col("cut") - f.lag("cut").over(of_run)
    )
    good = (f.col("span_s") > 0) & (f.col("grown") >= 0)
    rate = f.when(good, f.col("grown") / f.col("span_s"))
    rows = spans.groupBy("node").agg(
        f.max("source").alias("source"),
        f.sum(f.when(good, f.col("span_s"))).alias("observed_s"),
        f.sum(f.when(good, f.col("grown"))).alias("stream_bytes"),
        f.percentile(rate, f.array(f.lit(0.5), f.lit(0.99))).alias("rates"),
        f.max(rate).alias("bytes_per_s_max"),
        f.percentile("writes_per_s", f.array(f.lit(0.5), f.lit(0.99))).alias("writes"),
    )
    rows = rows.where(f.col("observed_s").isNotNull()).join(backlog_sizes(events, samples), "node", "left")
    mean = f.col("stream_bytes") / f.col("observed_s")
    rows = rows.select(
        "*",
        mean.alias("bytes_per_s_mean"),
        f.col("rates")[0].alias("bytes_per_s_p50"),
        f.col("rates")[1].alias("bytes_per_s_p99"),
        f.col("writes")[0].alias("writes_per_s_p50"),
        f.col("writes")[1].alias("writes_per_s_p99"),
        f.when(mean > 0, f.col("backlog_size") / mean).alias("cover_mean_s"),
        f.when(f.col("rates")[1] > 0, f.col("backlog_size") / f.col("rates")[1]).alias("cover_p99_s"),
    )
    return conform(rows, WRITE_RATE).orderBy("node")


def backlog_sizes(events: DataFrame, samples: DataFrame) -> DataFrame:
    """node, backlog_size: the last one told."""
    known = f.col("backlog_size_bytes").isNotNull()
    told = events.where(known).select("node", "at_us", "backlog_size_bytes")
    told = told.unionByName(samples.where(known).select("node", "at_us", "backlog_size_bytes"))
    return told.groupBy("node").agg(f.max_by("backlog_size_bytes", "at_us").alias("backlog_size"))


def forks(events: DataFrame) -> DataFrame:
    """The table FORKS."""
    child = f.col("event").isin("snapshot_started", "snapshot_ended", "child_memory") & f.col("snapshot").isNotNull()
    started = f.col("event") == "snapshot_started"
    ended = f.col("event") == "snapshot_ended"
    numbered = Window.partitionBy("node", "form", "snapshot")
    rows = events.where(child).withColumn("begun", f.max(f.when(started, f.col("run"))).over(numbered))
    run = f.when(f.col("form") == "json", f.col("run")).otherwise(f.col("begun"))
    told = rows.groupBy("node", run.alias("run"), "snapshot").agg(
        f.min(f.when(started, f.col("at_us"))).alias("at_us"),
        f.min(f.when(ended, f.col("at_us"))).alias("end_us"),
        f.max("snapshot_ms").alias("snapshot_ms"),
        f.max("child_pid").alias("pid"),
        f.max("target").alias("target"),
        f.max("purpose").alias("purpose"),
        f.max(f.when(ended, f.col("ok"))).alias("ok"),
        f.max("fork_us").alias("fork_us"),
        f.max("written_bytes").alias("bytes"),
        f.max("keys").alias("keys"),
        f.max("private_bytes").alias("private_bytes"),
        f.max("replicas").alias("replicas"),
    )
    told = told.where(f.col("at_us").isNotNull()).select(
        "*",
        day(f.col("at_us")).alias("day"),
        f.when(f.col("purpose") == "replicas", "sync").otherwise("save").alias("why"),
        f.coalesce(f.col("snapshot_ms") / 1000, (f.col("end_us") - f.col("at_us")) / 1e6).alias("seconds"),
    )
    return conform(told, FORKS)


def series(samples: DataFrame) -> DataFrame:
    """The table SERIES."""
    whole = samples.agg(f.min("at_us").alias("begin"), f.max("at_us").alias("end"))
    whole = whole.withColumn("span", f.ceil((f.col("end") - f.col("begin") + 1) / SPANS))
    placed = samples.crossJoin(f.broadcast(whole))
    at_us = f.col("begin") + f.floor((f.col("at_us") - f.col("begin")) / f.col("span")) * f.col("span")
    drawn = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes", "writes_per_s", "stream_bytes_per_s")
    rows = placed.groupBy("node", f.col("peer").alias("replica"), at_us.alias("at_us")).agg(
        *(f.max(name).alias(name) for name in drawn)
    )
    return conform(rows, SERIES).orderBy("node", "replica", "at_us")
