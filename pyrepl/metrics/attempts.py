"""One row per attempt to get a stream: what both ends tell of it, joined, on one clock.

From here on nobody looks at single events of a sync any more. What an attempt costs and why it failed is defined here
and, column by column, in results.py. Not here: which halves belong together (stitch.py), clocks (skew.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from pyrepl.metrics import skew as clocks
from pyrepl.metrics.keep import literal
from pyrepl.metrics.kinds import RDB_VERSION
from pyrepl.metrics.stitch import Half, Match, stitch

_Call = tuple[str, str, str]
"""Who calls whom, by what label, and which node that is."""
_NAMES = StructType().add("sync", "string").add("joined", "string")
_CALLS = StructType().add("n", "string").add("p", "string").add("o", "string")
_SHIFTS = StructType().add("clock_node", "string").add("skew_us", "long")
_VAGUE = ("connection_lost", "unknown", "stopped", "main_channel")
"""Causes that the other end, or a later line, may know better."""


def attempts(spark: SparkSession, ends: DataFrame, nodes: DataFrame) -> tuple[DataFrame, list[clocks.Clock]]:
    """Every attempt, and how the nodes' clocks stand.

    `ends` is ends.ends(), `nodes` has node, port and replids. Times of replicas are brought to the reference clock.
    """
    known = {row["node"]: row for row in nodes.select("node", "port", "replids").collect()}
    rows = _sides(ends).localCheckpoint()
    masters, replicas = _alone(rows)
    # Event logs name their syncs: then there is nothing to bring together, however many there are.
    matches = _matches(rows, known) if masters and replicas else []
    if matches:
        rows = _joined(spark, rows, matches).localCheckpoint()
    bounds, calls = _bounds(rows)
    skews = clocks.estimate(bounds)
    rows = _one_clock(spark, rows, skews)
    return _judged(_pairs(spark, rows, matches, calls)), skews


def _sides(ends: DataFrame) -> DataFrame:
    """One row per sync: structs `m` and `r` with what each end told, null for a silent one; `tellers` is how many."""
    others = [name for name in ends.columns if name not in ("sync", "end")]
    told = f.struct(*others)
    return ends.groupBy("sync").agg(
        f.max(f.when(f.col("end") == "master", told)).alias("m"),
        f.max(f.when(f.col("end") == "replica", told)).alias("r"),
        f.count("*").alias("tellers"),
    )


def _alone(rows: DataFrame) -> tuple[int, int]:
    """How many masters tell of a sync that no replica tells of, and the other way round."""
    alone = rows.where(f.col("tellers") == 1)
    masters, replicas = alone.agg(f.count("m"), f.count("r")).collect()[0]
    return masters, replicas


def _matches(rows: DataFrame, known: Mapping[str, object]) -> list[Match]:
    """Halves that name no common sync are brought together."""
    side = f.coalesce("m", "r")
    alone = rows.where(f.col("tellers") == 1).select("sync", f.col("m").isNotNull().alias("is_master"), side.alias("s"))
    alone = alone.where(f.coalesce("s.asked_us", "s.decided_us").isNotNull()).select(
        "sync", "is_master", "s.node", "s.peer", "s.replica", "s.asked_us", "s.decided_us", "s.verdict",
        "s.asked_replid", "s.asked_offset", "s.replid",
    )  # fmt: skip
    halves = [
        Half(
            row["sync"], row["node"], row["is_master"], row["peer"] or "",
            row["asked_us"] or row["decided_us"], row["verdict"], row["asked_replid"], row["asked_offset"],
            None if row["is_master"] else _stream(row),
        )
        for row in alone.collect()
    ]  # fmt: skip
    ports = {node: row["port"] for node, row in known.items() if row["port"]}  # type: ignore[index]
    replids = {node: frozenset(row["replids"] or ()) for node, row in known.items()}  # type: ignore[index]
    return stitch(halves, ports, replids)


def _stream(row: Row) -> str | None:
    """The id of the stream that a replica then followed, where it tells."""
    told: str | None = row["replid"]
    return told or (row["asked_replid"] if row["verdict"] == "continue" else None)


def _joined(spark: SparkSession, rows: DataFrame, matches: list[Match]) -> DataFrame:
    """The same, a matched replica's side beside its master's, under the master's name of the sync."""
    names = literal(spark, [(match.replica.sync, match.master.sync) for match in matches], _NAMES)
    named = rows.join(f.broadcast(names), "sync", "left").withColumn("sync", f.coalesce("joined", "sync"))
    return named.groupBy("sync").agg(f.max("m").alias("m"), f.max("r").alias("r"), f.sum("tellers").alias("tellers"))


def _bounds(rows: DataFrame) -> tuple[list[clocks.Bounds], set[_Call]]:
    """Of each pair of nodes: what causes and effects allow for the replica's clock less the master's; and what they
    call each other."""
    both = rows.where(f.col("m").isNotNull() & f.col("r").isNotNull())
    after_ask = f.col("r.asked_us") - f.col("m.asked_us")
    before_answer = f.col("r.decided_us") - f.col("m.decided_us")
    found = (
        both.groupBy(f.col("m.node").alias("master"), f.col("r.node").alias("replica"))
        .agg(
            f.max(after_ask).alias("low"),
            f.min(before_answer).alias("high"),
            f.percentile(after_ask, 0.5).alias("low_p50"),
            f.percentile(before_answer, 0.5).alias("high_p50"),
            f.count("*").alias("pairs"),
            f.collect_set("m.peer").alias("replica_called"),
            f.collect_set("r.peer").alias("master_called"),
        )
        .collect()
    )
    bounds = [
        clocks.Bounds(
            row["master"], row["replica"], row["low"], row["high"], row["low_p50"], row["high_p50"], row["pairs"]
        )
        for row in found
    ]
    calls = {(row["master"], label, row["replica"]) for row in found for label in row["replica_called"]}
    return bounds, calls | {(row["replica"], label, row["master"]) for row in found for label in row["master_called"]}


def _one_clock(spark: SparkSession, rows: DataFrame, skews: list[clocks.Clock]) -> DataFrame:
    """All times of both ends on the reference clock."""
    shifts = [(clock.node, round(clock.skew_ms * 1000)) for clock in skews if round(clock.skew_ms * 1000)]
    if not shifts:
        return rows
    known = literal(spark, shifts, _SHIFTS)
    for side in ("m", "r"):
        own = known.select(f.col("clock_node").alias("n"), f.col("skew_us").alias("shift"))
        rows = rows.join(f.broadcast(own), f.col(f"{side}.node") == f.col("n"), "left")
        lost = f.col(f"{side}.lost")
        moved = {"lost": f.when(lost.isNotNull(), lost.withField("at_us", lost["at_us"] - f.col("shift")))}
        fields = rows.schema[side].dataType.names  # type: ignore[attr-defined]
        moved |= {name: f.col(f"{side}.{name}") - f.col("shift") for name in fields if name.endswith("_us")}
        # One struct of all fields: a withField for each would be planned one after the other.
        whole = f.struct(*(moved.get(name, f.col(f"{side}.{name}")).alias(name) for name in fields))
        rows = rows.withColumn(side, f.when(f.col("shift").isNotNull(), whole).otherwise(f.col(side))).drop(
            "n", "shift"
        )
    return rows


def _pairs(spark: SparkSession, rows: DataFrame, matches: list[Match], calls: set[_Call]) -> DataFrame:
    """`node` and `replica` of each attempt: nodes where logs were read, else the addresses they are called by."""
    calls = calls | {(one.master.node, one.master.label, one.replica.node) for one in matches}
    calls |= {(one.replica.node, one.replica.label, one.master.node) for one in matches}
    named = literal(spark, sorted({one[:2]: one for one in sorted(calls)}.values()), _CALLS)
    for side, other in (("m", "replica"), ("r", "node")):
        own = named.withColumnsRenamed({"o": f"called_{side}"})
        fits = (f.col(f"{side}.node") == f.col("n")) & (f.col(f"{side}.peer") == f.col("p"))
        rows = rows.join(f.broadcast(own), fits, "left").drop("n", "p")
        label = f.coalesce(f.col(f"called_{side}"), f.col(f"{side}.peer"))
        true = f.col("r.node") if side == "m" else f.col("m.node")
        rows = rows.withColumn(other, f.coalesce(true, label)).drop(f"called_{side}")
    return rows


def _judged(rows: DataFrame) -> DataFrame:
    """The columns that all results are made of."""
    m, r = f.col("m"), f.col("r")
    verdict = f.coalesce(f.col("m.verdict"), f.col("r.verdict"))
    lost_us = f.least("m.lost.at_us", "r.lost.at_us")
    r_failed = f.col("r.lost.at_us").isNotNull() & f.col("r.online_us").isNull()
    m_failed = f.col("m.lost.at_us").isNotNull() & f.col("m.online_us").isNull()
    full_ok = (
        f.when(f.col("r.online_us").isNotNull(), True)
        .when(r_failed, False)
        .when(m_failed, False)
        .when(f.col("m.online_us").isNotNull(), True)
    )
    answered = f.greatest("m.decided_us", "r.decided_us", "r.online_us")
    caught = f.greatest("m.online_us", "r.online_us", "r.caught_up_us")
    rows = rows.select(
        "sync", "node", "replica", "m", "r",
        f.when(m.isNotNull() & r.isNotNull(), "both").when(m.isNotNull(), "master").otherwise("replica").alias("ends"),
        f.coalesce("r.begin_us", "m.begin_us", "m.first_us", "r.first_us").alias("at_us"),
        verdict.alias("verdict"),
        f.when(verdict == "continue", True).when(verdict == "full", full_ok).alias("ok"),
        lost_us.alias("lost_us"),
        _best_cause().alias("lost_cause"),
        f.coalesce("r.lost.detail", "m.lost.detail").alias("lost_detail"),
        f.coalesce("m.lost.phase", "r.lost.phase").alias("lost_phase"),
        f.coalesce("m.lost.output_bytes", "m.output_peak").alias("lost_output_bytes"),
        f.when(verdict == "continue", answered).otherwise(caught).alias("online_us"),
        f.coalesce("m.asked_offset", "r.asked_offset").alias("asked_offset"),
        f.coalesce("m.snapshot_offset", "r.snapshot_offset").alias("snapshot_offset"),
        (
            f.coalesce(f.col("m.asked_replid"), f.col("r.asked_replid")).isNotNull()
            | f.coalesce(f.col("m.asked_offset"), f.col("r.asked_offset")).isNotNull()
        ).alias("asked_with_id"),
        f.coalesce("r.run", f.lit("")).alias("replica_run"),
        f.coalesce("m.snapshot", "m.bgsave_us").alias("snapshot"),
    )  # fmt: skip
    rows = rows.withColumn("mode", _mode())
    return _with_causes(rows)


def _best_cause() -> Column:
    """Why a link ended: who cut it knows; a mere loss is believed when nobody says more."""
    told = [f.col("m.lost.cause"), f.col("r.lost.cause")]
    sure = [f.when(~cause.isin(*_VAGUE), cause) for cause in told]
    version = f.when(f.col("r.lost.cause") == RDB_VERSION, f.lit(RDB_VERSION))
    lost = f.when(f.least("m.lost.at_us", "r.lost.at_us").isNotNull(), f.lit("connection_lost"))
    return f.coalesce(version, *sure, *told, lost)


def _mode() -> Column:
    """What the sync was; of a full resync that ended before its snapshot began, null."""
    dialect = f.coalesce(f.col("r.dialect"), f.col("m.dialect"))
    two = f.coalesce(f.col("m.two_channels"), f.lit(False)) | f.coalesce(f.col("r.two_channels"), f.lit(False))
    stated = f.coalesce(f.col("m.mode"), f.col("r.mode"))
    by_target = f.when(f.col("m.target") == "disk", "full_disk").when(f.col("m.target") == "socket", "full_diskless")
    return (
        f.when(f.col("verdict") == "continue", "continue")
        .when(f.col("verdict").isNull(), None)
        .when(stated.isin("rdb_channel", "dual_channel"), stated)
        .when(two & dialect.isin("valkey", "dual", "dual-channel"), "dual_channel")
        .when(two, "rdb_channel")
        .otherwise(f.coalesce(by_target, stated))
    )


def _with_causes(rows: DataFrame) -> DataFrame:
    """`cause` of each full resync, and `failure` of what failed. Attempts without a verdict stand apart."""
    decided = f.col("verdict").isNotNull()
    rows = rows.withColumn("decided", decided)
    of_master = Window.partitionBy("node", "decided").orderBy("at_us", "sync")
    of_master = of_master.rowsBetween(Window.unboundedPreceding, -1)
    of_pair = Window.partitionBy("node", "decided", "replica").orderBy("at_us", "sync")
    full = f.col("verdict") == "full"
    failure = f.when(~decided | (f.col("ok") == f.lit(False)), f.col("lost_cause"))
    rows = rows.withColumn("failure", failure)
    other_id = f.col("r.replid").isNotNull() & (f.col("r.replid") != f.col("r.asked_replid"))
    rest = (
        f.when(f.col("r.asked_replid").isNotNull(), f.when(other_id, "id_mismatch").otherwise("out_of_backlog"))
        .when(f.lag("verdict").over(of_pair).isNull(), "first")
        .when(~f.lag("ok").over(of_pair), f.lag("failure").over(of_pair))
        .when(f.col("replica_run") == "", "first")
        .when(f.lag("replica_run").over(of_pair) != f.col("replica_run"), "first")
        .otherwise("forced")
    )
    before = f.last(f.when(full, f.col("mode")), ignorenulls=True).over(of_master)
    rows = rows.withColumn("mode", f.when(decided, f.coalesce("mode", before)))
    return rows.withColumn("cause", f.when(full, f.coalesce("m.cause", "r.cause", rest))).drop("decided")
