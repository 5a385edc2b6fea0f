"""What to change and what it would have saved: backlog_what_if, storms and advice.

Sizes are asked of what happened: for each avoidable full resync the logs tell how much of the stream the replica
lacked. Each piece of advice carries its numbers; where the logs do not tell enough for a number, none is given.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pyrepl.metrics.kinds import RDB_VERSION
from pyrepl.metrics.results import ADVICE, BACKLOG_WHAT_IF, STORMS
from pyrepl.metrics.schemas import conform

AVOIDABLE = ("out_of_backlog", "no_backlog")
"""Causes of full resyncs that a larger backlog, kept longer, makes partial ones."""
SHARES = (0.5, 0.9, 0.99)
MIN_SYNCS_FOR_CHANNEL = 3
"""Fewer full resyncs of a kind than this are no measurement. Inclusive."""
_MB = 1 << 20


def what_if(syncs: DataFrame) -> DataFrame:
    """The table BACKLOG_WHAT_IF."""
    avoidable = syncs.where(f.col("cause").isin(*AVOIDABLE) & f.col("behind_bytes").isNotNull())
    by_size = Window.partitionBy("node").orderBy("behind_bytes")
    total = Window.partitionBy("node")
    saved = f.greatest(f.lit(0), f.coalesce("bytes", f.lit(0)) - f.col("behind_bytes"))
    rows = avoidable.select(
        "node",
        f.greatest(f.lit(1), "behind_bytes").alias("backlog_size"),
        f.count("*").over(by_size).alias("avoided"),
        f.count("*").over(total).alias("avoidable"),
        f.sum(saved).over(by_size).alias("saved_bytes"),
        (f.sum(f.coalesce("total_ms", f.lit(0.0))).over(by_size) / 1000).alias("saved_s"),
    ).distinct()
    rows = rows.withColumn("share", f.col("avoided") / f.col("avoidable"))
    return conform(rows, BACKLOG_WHAT_IF).orderBy("node", "backlog_size")


def storms(syncs: DataFrame, attempts: DataFrame) -> DataFrame:
    """The table STORMS: islands of full resyncs of one master that overlap."""
    taken = attempts.select("sync", "snapshot")
    full = syncs.where((f.col("mode") != "continue") & f.col("end_us").isNotNull()).join(taken, "sync", "left")
    before = Window.partitionBy("node").orderBy("at_us", "sync").rowsBetween(Window.unboundedPreceding, -1)
    in_order = Window.partitionBy("node").orderBy("at_us", "sync")
    fresh = f.when(f.col("at_us") <= f.max("end_us").over(before), 0).otherwise(1)
    rows = full.withColumn("fresh", fresh).withColumn("island", f.sum("fresh").over(in_order))
    rows = rows.groupBy("node", "island").agg(
        f.min("at_us").alias("at_us"),
        f.max("end_us").alias("end_us"),
        f.max("at_us").alias("last"),
        f.count_distinct("replica").alias("replicas"),
        f.count("*").alias("syncs"),
        f.count_distinct("snapshot").alias("snapshots"),
    )
    rows = rows.where((f.col("replicas") > 1) & (f.col("snapshots") > 1))
    rows = rows.withColumn("delay_s", (f.col("last") - f.col("at_us")) / 1e6)
    return conform(rows, STORMS).orderBy("node", "at_us")


def advice(
    syncs: DataFrame, what_if: DataFrame, cuts: DataFrame, loops: DataFrame, storms: DataFrame, nodes: DataFrame
) -> DataFrame:
    """The table ADVICE. `nodes` is rates.nodes()."""
    parts = [
        _backlog(what_if, nodes),
        _output_buffer(cuts),
        _channel(syncs),
        _storms(storms),
        _loops(loops),
    ]
    order = f.when(f.col("severity") == "act", 0).when(f.col("severity") == "consider", 1).otherwise(2)
    return reduce(DataFrame.unionByName, parts).orderBy(order, "kind", "node", "replica", "share")


def _piece(rows: DataFrame, kind: Column, severity: Column, **columns: Column) -> DataFrame:
    """Rows in the shape of ADVICE."""
    given = {"kind": kind, "severity": severity, **columns}
    made = [given.get(column.name, f.lit(None)).alias(column.name) for column in ADVICE.columns]
    return conform(rows.select(*made), ADVICE)


def _mb(size: Column) -> Column:
    """Bytes as the configuration file has them, rounded up to whole megabytes (or kilobytes, below one)."""
    mega = f.concat(f.ceil(size / _MB).cast("string"), f.lit("mb"))
    return f.when(size < _MB, f.concat(f.ceil(size / 1024).cast("string"), f.lit("kb"))).otherwise(mega)


def _shown(size: Column) -> Column:
    return f.concat(f.format_number(size / 1e6, 1), f.lit(" MB"))


def _backlog(what_if: DataFrame, nodes: DataFrame) -> DataFrame:
    """The smallest sizes that would have done for 50, 90 and 99 % of the avoidable full resyncs."""
    wanted = what_if.withColumn("wanted", f.explode(f.array(*map(f.lit, SHARES)))).where(
        f.col("share") >= f.col("wanted")
    )
    smallest = Window.partitionBy("node", "wanted").orderBy("backlog_size")
    rows = wanted.withColumn("place", f.row_number().over(smallest)).where(f.col("place") == 1)
    most = Window.partitionBy("node", "backlog_size")
    rows = rows.withColumn("most", f.max("wanted").over(most)).where(f.col("most") == f.col("wanted"))
    sizes = nodes.select("node", f.col("backlog_size").alias("now"))
    rows = rows.join(f.broadcast(sizes), "node", "left")
    say = f.concat(
        f.lit("repl-backlog-size "), _mb(f.col("backlog_size")), f.lit(" would have made "),
        f.col("avoided").cast("string"), f.lit(" of "), f.col("avoidable").cast("string"),
        f.lit(" avoidable full resyncs partial, saving "), _shown(f.col("saved_bytes")), f.lit(" and "),
        f.format_number("saved_s", 1), f.lit(" s of syncing"),
        f.when(f.col("now").isNotNull(), f.concat(f.lit(" (it is "), _mb(f.col("now")), f.lit(" now)"))).otherwise(""),
        f.lit("."),
    )  # fmt: skip
    return _piece(
        rows,
        f.lit("backlog_size"),
        f.when(f.col("wanted") == SHARES[-1], "act").otherwise("consider"),
        node=f.col("node"),
        directive=f.lit("repl-backlog-size"),
        value=_mb(f.col("backlog_size")),
        share=f.col("wanted"),
        count=f.col("avoided"),
        saved_bytes=f.col("saved_bytes"),
        saved_s=f.col("saved_s"),
        text=say,
    )


def _output_buffer(cuts: DataFrame) -> DataFrame:
    """Each kill for its output buffer: a limit above what had piled up."""
    killed = cuts.where(f.col("cause") == "output_buffer")
    rows = killed.groupBy("node", "replica").agg(
        f.count("*").alias("count"), f.max("output_buffer_bytes").alias("most"), f.sum("down_s").alias("down")
    )
    limit = f.ceil(f.col("most") * 1.25 / _MB) * _MB
    say = f.concat(
        f.lit("The master cut this replica "), f.col("count").cast("string"),
        f.lit(" times for client-output-buffer-limit"),
        f.when(f.col("most").isNotNull(), f.concat(f.lit(" with up to "), _shown(f.col("most")), f.lit(
            " waiting; a hard limit of "), _mb(limit), f.lit(" would have kept what had piled up by then"))).otherwise(
            " (the log does not tell how much waited)"),
        f.lit(". If the replica stood still, look there first: no limit helps for ever."),
    )  # fmt: skip
    value = f.concat(f.lit("replica "), _mb(limit), f.lit(" 0 0"))
    return _piece(
        rows,
        f.lit("output_buffer"),
        f.lit("act"),
        node=f.col("node"),
        replica=f.col("replica"),
        directive=f.lit("client-output-buffer-limit"),
        value=f.when(f.col("most").isNotNull(), value),
        share=f.lit(1.0),
        count=f.col("count"),
        saved_s=f.col("down"),
        text=say,
    )


def _channel(syncs: DataFrame) -> DataFrame:
    """One connection against two, by the time they took."""
    kind = f.when(f.col("mode").isin("rdb_channel", "dual_channel"), "two").when(
        f.col("mode").isin("full_disk", "full_diskless"), "one"
    )
    done = syncs.where(f.col("ok") & f.col("total_ms").isNotNull()).withColumn("channels", kind)
    each = [
        made
        for side in ("one", "two")
        for here in [f.col("channels") == side]
        for made in (
            f.count(f.when(here, 1)).alias(f"{side}_n"),
            f.percentile(f.when(here, f.col("total_ms")), 0.5).alias(f"{side}_ms"),
        )
    ]
    sides = done.where(f.col("channels").isNotNull()).groupBy("node").agg(*each)
    rows = sides.where((f.col("one_n") >= MIN_SYNCS_FOR_CHANNEL) & (f.col("two_n") >= MIN_SYNCS_FOR_CHANNEL))
    better = f.col("two_ms") <= f.col("one_ms")
    say = f.concat(
        f.lit("A full sync on two connections took "), f.format_number("two_ms", 0), f.lit(" ms in the median ("),
        f.col("two_n").cast("string"), f.lit("), on one "), f.format_number("one_ms", 0), f.lit(" ms ("),
        f.col("one_n").cast("string"), f.lit("): "),
        f.when(better, "keep the RDB channel on.").otherwise("the RDB channel does not pay here by time alone."),
    )  # fmt: skip
    return _piece(
        rows,
        f.lit("rdb_channel"),
        f.lit("consider"),
        node=f.col("node"),
        directive=f.lit("repl-rdb-channel"),
        value=f.when(better, "yes").otherwise("no"),
        count=f.col("one_n") + f.col("two_n"),
        saved_s=f.abs(f.col("one_ms") - f.col("two_ms")) / 1000,
        text=say,
    )


def _storms(storms: DataFrame) -> DataFrame:
    rows = storms.groupBy("node").agg(
        f.count("*").alias("count"),
        f.sum("snapshots").alias("snapshots"),
        f.sum("syncs").alias("syncs"),
        f.max("delay_s").alias("delay"),
    )
    delay = f.ceil("delay").cast("string")
    say = f.concat(
        f.col("syncs").cast("string"), f.lit(" full syncs came at once in "), f.col("count").cast("string"),
        f.lit(" storms and took "), f.col("snapshots").cast("string"),
        f.lit(" snapshots; repl-diskless-sync-delay "), delay, f.lit(" would have let each storm share one."),
    )  # fmt: skip
    return _piece(
        rows,
        f.lit("storm"),
        f.lit("consider"),
        node=f.col("node"),
        directive=f.lit("repl-diskless-sync-delay"),
        value=delay,
        count=f.col("count"),
        text=say,
    )


def _loops(loops: DataFrame) -> DataFrame:
    version = f.col("reason") == RDB_VERSION
    again = f.concat(
        f.col("count").cast("string"), f.lit(" times in a row, every "), f.format_number("every_s", 1), f.lit(" s"),
        f.when(f.col("bytes").isNotNull(), f.concat(f.lit(", "), _shown(f.col("bytes")), f.lit(" sent in vain")))
        .otherwise(""),
    )  # fmt: skip
    say = f.when(
        version,
        f.concat(
            f.lit("The replica cannot read this master's snapshots ("), f.coalesce("detail", f.lit("RDB version")),
            f.lit("): "), again, f.lit(". It will never succeed: upgrade the replica, or let the master write an "
            "older RDB version (pyrepl: rdb-version)."),
        ),
    ).otherwise(
        f.concat(f.lit("Syncs of this pair failed by "), f.col("reason"), f.lit(": "), again, f.lit("."))
    )  # fmt: skip
    return _piece(
        loops,
        f.when(version, "version_mismatch").otherwise("loop"),
        f.when(f.col("over"), "consider").otherwise("act"),
        node=f.col("node"),
        replica=f.col("replica"),
        count=f.col("count"),
        saved_bytes=f.col("bytes"),
        text=say,
    )
