"""How well replicas kept up, how fast a node writes, what its forks cost: availability, write_rate, forks, nodes.

Each expression stands in the order of its table in results.py, whose rules it carries out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pyrepl.metrics.results import AVAILABILITY, FORKS, NODES, WRITE_RATE
from pyrepl.metrics.schemas import conform
from pyrepl.metrics.syncs import day


def nodes(events: DataFrame, samples: DataFrame) -> DataFrame:
    """The table NODES, and beside it what others ask of a node.

    replids       the ids that the node's own stream had
    backlog_size  bytes, the last one told
    sampled       are there samples of the node itself?
    first_sample, last_sample  us, of all its samples
    """
    started = f.col("event") == "node_started"
    kind = f.when(started, f.when(f.col("form") == "json", "pyrepl").otherwise(f.col("detail")))
    size_us = f.when(f.col("backlog_size_bytes").isNotNull(), f.col("at_us"))
    size = f.max_by("backlog_size_bytes", size_us).alias("size"), f.max(size_us).alias("size_us")
    counted = events.groupBy("node").agg(
        f.max_by(kind, f.when(started, f.col("at_us"))).alias("kind"),
        f.max_by(f.when(started, f.col("version")), f.when(started, f.col("at_us"))).alias("version"),
        f.max("port").alias("port"),
        f.size(f.collect_set(f.when((f.col("form") == "json") | started, f.col("run")))).cast("bigint").alias("starts"),
        f.min("at_us").alias("first"),
        f.max("at_us").alias("last"),
        f.count("*").alias("count"),
        f.array_union(f.collect_set("replid"), f.collect_set("replid2")).alias("replids"),
        *size,
    )
    sampled = samples.groupBy("node").agg(
        f.min("at_us").alias("first"),
        f.max("at_us").alias("last"),
        f.count("*").alias("count"),
        f.max(f.col("event") == "sample").alias("sampled"),
        f.min("at_us").alias("first_sample"),
        f.max("at_us").alias("last_sample"),
        *size,
    )
    rows = counted.unionByName(sampled, allowMissingColumns=True).groupBy("node")
    return rows.agg(
        f.max("kind").alias("kind"),
        f.max("version").alias("version"),
        f.max("port").alias("port"),
        f.greatest(f.lit(1), f.coalesce(f.max("starts"), f.lit(1))).alias("runs"),
        f.min("first").alias("first_us"),
        f.max("last").alias("last_us"),
        f.sum("count").alias("events"),
        f.max("replids").alias("replids"),
        f.max_by("size", "size_us").alias("backlog_size"),
        f.coalesce(f.max("sampled"), f.lit(False)).alias("sampled"),
        f.min("first_sample").alias("first_sample"),
        f.max("last_sample").alias("last_sample"),
    )


def shown_nodes(nodes: DataFrame) -> DataFrame:
    """The table NODES."""
    return conform(nodes, NODES).orderBy("node")


def availability(attempts: DataFrame, nodes: DataFrame, lags: DataFrame) -> DataFrame:
    """The table AVAILABILITY. `lags` is lags()."""
    spans = _spans(attempts, nodes).join(_named(lags, attempts), ["node", "replica"], "left")
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


def lags(samples: DataFrame) -> DataFrame:
    """Percentiles of the lag that masters saw: a row per node and `peer`, its label of a replica."""
    of_replicas = samples.where(f.col("event") == "replica_sample")
    of_bytes = _marked(of_replicas, "lag_bytes", f.max("output_bytes").alias("output_buffer_max"))
    of_seconds = _marked(of_replicas, "lag_s").drop("samples")
    return of_bytes.join(of_seconds, _same_pair(of_bytes, of_seconds)).drop(of_seconds["node"], of_seconds["peer"])


def _same_pair(one: DataFrame, other: DataFrame) -> Column:
    """Also of samples that name no peer."""
    return one["node"].eqNullSafe(other["node"]) & one["peer"].eqNullSafe(other["peer"])


def _marked(samples: DataFrame, name: str, *others: Column) -> DataFrame:
    """Percentiles and maximum of a column. Equal values are counted first, as there are few different ones: the
    function percentile alone would keep each as an object."""
    marks = f.array(f.lit(0.5), f.lit(0.9), f.lit(0.99))
    counted = samples.groupBy("node", "peer", name).agg(f.count("*").alias("times"), *others)
    return counted.groupBy("node", "peer").agg(
        f.sum("times").alias("samples"),
        f.percentile(name, marks, f.col("times")).alias(name),
        f.max(name).alias(f"{name}_max"),
        *(f.max(column).alias(column) for column in counted.columns[4:]),
    )


def _named(lags: DataFrame, attempts: DataFrame) -> DataFrame:
    """Masters' labels of replicas become nodes as in attempts."""
    labels = (
        attempts.where(f.col("m").isNotNull())
        .select(f.col("m.node").alias("node"), f.col("m.peer").alias("peer"), f.col("replica").alias("called"))
        .groupBy("node", "peer")
        .agg(f.max("called").alias("called"))
    )
    named = lags.join(labels, ["node", "peer"], "left")
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


def sampled_rates(samples: DataFrame) -> DataFrame:
    """A row per node that took samples of itself: what WRITE_RATE makes of them."""
    points = samples.where(f.col("event") == "sample").select(
        "node", "replid", "at_us", f.col("offset").alias("cut"), "writes_per_s"
    )
    return _rates(points, "samples")


def write_rate(sampled: DataFrame, nodes: DataFrame, attempts: DataFrame) -> DataFrame:
    """The table WRITE_RATE: by samples where there are any (sampled_rates()), else by the offsets that syncs name."""
    told = attempts.where(f.col("snapshot_offset").isNotNull() & (f.col("verdict") == "full")).select(
        "node",
        f.coalesce("r.replid", "m.replid").alias("replid"),
        f.coalesce("m.decided_us", "r.decided_us").alias("at_us"),
        f.col("snapshot_offset").alias("cut"),
        f.lit(None).cast("double").alias("writes_per_s"),
    )
    told = told.join(f.broadcast(nodes.where("sampled").select("node")), "node", "left_anti")
    rows = sampled.unionByName(_rates(told, "syncs")).where(f.col("observed_s").isNotNull())
    rows = rows.join(f.broadcast(nodes.select("node", "backlog_size")), "node", "left")
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


def _rates(points: DataFrame, source: str) -> DataFrame:
    """By node, from offsets at times."""
    of_run = Window.partitionBy("node", "replid").orderBy("at_us", "cut")
    spans = points.withColumn("span_s", (f.col("at_us") - f.lag("at_us").over(of_run)) / 1e6).withColumn(
        "grown", f.col("cut") - f.lag("cut").over(of_run)
    )
    good = (f.col("span_s") > 0) & (f.col("grown") >= 0)
    rate = f.when(good, f.col("grown") / f.col("span_s"))
    marks = f.array(f.lit(0.5), f.lit(0.99))
    return spans.groupBy("node").agg(
        f.lit(source).alias("source"),
        f.sum(f.when(good, f.col("span_s"))).alias("observed_s"),
        f.sum(f.when(good, f.col("grown"))).alias("stream_bytes"),
        f.percentile(rate, marks).alias("rates"),
        f.max(rate).alias("bytes_per_s_max"),
        f.percentile("writes_per_s", marks).alias("writes"),
    )


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
