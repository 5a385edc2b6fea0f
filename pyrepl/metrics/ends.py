"""One row per sync and end: what one node's log tells of one attempt. Both forms of logs come out alike here.

Text logs are told by story.py first, so that their events name their sync too. What both ends say together is
attempts.py's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pyrepl.metrics.arrow import schema as arrow_schema
from pyrepl.metrics.keep import kept
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.story import by_node
from pyrepl.metrics.tables import EVENTS

TEXT_FORMS = ("text", "logfmt")
SAME_START_US = 2_000_000


def told(events: DataFrame) -> DataFrame:
    """The events with `sync` filled in for text logs."""
    is_text = f.col("form").isin(*TEXT_FORMS)
    text = (
        events.where(is_text)
        .repartition("node")
        .sortWithinPartitions("node")
        .mapInArrow(_tell, schema(EVENTS))
        .localCheckpoint()
    )
    return events.where(~is_text).unionByName(text)


def once(events: DataFrame) -> DataFrame:
    """Without the text log of a process whose event log is there too: it tells the same again, and less.

    The two are of one process when they name the same process id at starts less than two seconds apart.
    """
    started = events.where((f.col("event") == "node_started") & f.col("pid").isNotNull())
    in_json = started.where(f.col("form") == "json").select("pid", f.col("at_us").alias("json_us"))
    own = (f.col("form") == "text") & (f.col("detail") == "pyrepl")
    in_text = started.where(own).select("node", "run", "pid", f.col("at_us").alias("text_us"))
    near = f.abs(f.col("json_us") - f.col("text_us")) < SAME_START_US
    doubles = kept(in_text.join(f.broadcast(in_json), "pid").where(near).select("node", "run").distinct())
    return events.join(f.broadcast(doubles), ["node", "run"], "left_anti")


def _tell(batches: Iterator[Any]) -> Iterator[Any]:
    """A partition holds all events of its nodes."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    for node in by_node(rows):
        yield pa.RecordBatch.from_pylist(node, schema=arrow_schema(EVENTS))


def ends(events: DataFrame) -> DataFrame:
    """Each sync as each end tells it; attempts that ended before a verdict are among them, with `verdict` null.

    An event log's failure to connect has no sync to name: it becomes an attempt of its own.
    """
    alone = (f.col("event") == "link_down") & f.col("sync").isNull()
    named = events.withColumn("end", f.coalesce("end", _end())).withColumn(
        "sync", f.when(alone, f.concat_ws("", "node", f.lit(">"), "peer", f.lit("#"), "at_us")).otherwise(f.col("sync"))
    )
    return named.where(f.col("sync").isNotNull()).groupBy("sync", "node", "end").agg(*_aggregates())


def _end() -> Column:
    """Of records that only one end writes."""
    of_replica = ("link_up", "link_down", "load_started", "load_ended", "buffer_full", "catch_up_started")
    return f.when(f.col("event").isin(*of_replica), "replica").when(f.col("event") == "replica_down", "master")


def _at(*kinds: str) -> Column:
    return f.when(f.col("event").isin(*kinds), f.col("at_us"))


def _of(name: str, *kinds: str) -> Column:
    return f.when(f.col("event").isin(*kinds), f.col(name))


def _aggregates() -> list[Column]:
    decided = f.col("event") == "psync_decided"
    lost = f.col("event").isin("link_down", "replica_down") | ((f.col("event") == "load_ended") & ~f.col("ok"))
    granted = decided & (f.col("verdict") != "refused")
    begun = f.col("at_us") - f.coalesce(f.col("handshake_ms") * 1000, f.lit(0))
    first_lost = f.struct(
        f.col("at_us"),
        f.when(f.col("cause").isNull(), 1).otherwise(0).alias("vague"),
        _cause().alias("cause"),
        f.coalesce("error", "detail").alias("detail"),
        f.col("phase"),
        f.col("output_bytes"),
        f.col("by_bytes"),
    )
    return [
        f.max("form").alias("form"),
        f.min("run").alias("run"),
        f.max(f.col("peer")).alias("peer"),
        f.max("replica").alias("replica"),
        f.min(f.when(f.col("event").isin("link_connecting", "psync_asked", "psync_decided"), begun)).alias("begin_us"),
        f.min("at_us").alias("first_us"),
        f.min(_at("psync_asked")).alias("asked_us"),
        f.min(f.when(decided, f.col("at_us"))).alias("decided_us"),
        f.max(f.when(granted, f.when(f.col("verdict") == "continue", "continue").otherwise("full"))).alias("verdict"),
        f.max(f.when(decided, f.col("verdict") == "two_channels")).alias("two_channels"),
        f.min(f.when(decided, f.col("cause"))).alias("cause"),
        f.max("asked_replid").alias("asked_replid"),
        f.max("asked_offset").alias("asked_offset"),
        f.max("snapshot_offset").alias("snapshot_offset"),
        f.max(f.when(decided | f.col("event").isin("rdb_channel_opened"), f.col("replid"))).alias("replid"),
        f.max(f.when(decided, f.col("missing_bytes"))).alias("missing_bytes"),
        f.max(f.when(decided, f.col("by_bytes"))).alias("by_bytes"),
        f.max("dialect").alias("dialect"),
        f.max(_of("mode", "delivery_started", "online")).alias("mode"),
        f.max(_of("target", "bgsave_for_sync")).alias("target"),
        f.max("snapshot").alias("snapshot"),
        f.min(_at("bgsave_for_sync", "bgsave_shared")).alias("bgsave_us"),
        f.min(_at("delivery_started")).alias("delivery_us"),
        f.max(_at("delivery_ended")).alias("delivered_us"),
        f.min(_at("load_started")).alias("load_us"),
        f.max(f.when((f.col("event") == "load_ended") & f.col("ok"), f.col("at_us"))).alias("loaded_us"),
        f.min(_at("catch_up_started")).alias("catch_up_us"),
        f.max(_at("catch_up_ended")).alias("caught_up_us"),
        f.max(_at("online")).alias("online_us"),
        f.max("wait_ms").alias("wait_ms"),
        f.max("delivery_ms").alias("delivery_ms"),
        f.max("load_ms").alias("load_ms"),
        f.max("catch_up_ms").alias("catch_up_ms"),
        f.max(f.greatest("total_bytes", "delivered_bytes")).alias("bytes"),
        f.max(_of("keys", "load_ended")).alias("keys"),
        f.max(f.when(f.col("buffer") == "output", f.col("peak_bytes"))).alias("output_peak"),
        f.max(f.when(f.col("buffer") == "sync", f.col("peak_bytes")).otherwise(f.col("buffered_bytes"))).alias(
            "sync_peak"
        ),
        f.min(f.when(lost, first_lost)).alias("lost"),
        f.max(_of("version", "load_ended")).alias("rdb_version"),
    ]


def _cause() -> Column:
    """A load that failed for the snapshot's version is told apart."""
    version = (f.col("cause") == "load_failed") & f.coalesce("detail", "error").contains("version")
    return f.when(version, "rdb_version").otherwise(f.col("cause"))
