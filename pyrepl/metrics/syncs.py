"""What attempts cost and how they ended: the tables syncs, cuts, retries and loops.

Each expression stands in the order of its table in results.py, whose rules it carries out. Attempts and syncs come in
order of time.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from pyrepl.metrics.phases import with_phases
from pyrepl.metrics.results import CUTS, LOOPS, RETRIES, SYNCS
from pyrepl.metrics.schemas import conform, day

LOOP_LENGTH: Final = 3
"""So many failures of one kind in a row are a loop. Inclusive."""
_PAIR: Final = ("node", "replica")


def syncs(attempts: pl.DataFrame, children: pl.DataFrame) -> pl.DataFrame:
    """The table SYNCS. `children` are rollup.children()."""
    c = pl.col
    full, ok, failed = c("verdict") == "full", c("ok"), c("ok") == pl.lit(False)
    end_us = pl.when(ok).then("online_us").when(failed).then("lost_us")
    size = pl.when(full).then(pl.max_horizontal("m.bytes", "r.bytes")).otherwise(
        pl.coalesce("m.missing_bytes", "r.missing_bytes")
    )  # fmt: skip
    behind = c("snapshot_offset") - c("asked_offset")
    rows = attempts.filter(c("verdict").is_not_null()).with_columns(
        day(c("at_us")).alias("day"),
        end_us.alias("end_us"),
        pl.when(failed).then("lost_detail").alias("failure_detail"),
        pl.when(c("verdict") == "continue").then("asked_offset").otherwise("snapshot_offset").alias("offset"),
        pl.when(c("cause").is_in(["out_of_backlog", "past_fork", "above_offset"]))
        .then(pl.coalesce("m.by_bytes", "r.by_bytes"))
        .alias("gap_bytes"),
        pl.when(full).then(pl.when(behind >= 0).then(behind)).otherwise("m.missing_bytes").alias("behind_bytes"),
        size.alias("bytes"),
        c("r.keys").alias("keys"),
        c("m.output_peak").alias("master_buffer_peak"),
        c("r.sync_peak").alias("replica_buffer_peak"),
        c("r.rdb_version").alias("rdb_version"),
    )
    rows = _with_estimate(with_phases(rows), children)
    speed = c("bytes") / 1e6 / (c("transfer_ms") / 1000)
    return conform(rows.with_columns(pl.when(full & (c("transfer_ms") >= 1)).then(speed).alias("mb_per_s")), SYNCS)


def _with_estimate(rows: pl.DataFrame, children: pl.DataFrame) -> pl.DataFrame:
    """`bytes_estimate` of full resyncs, by the snapshot that served them or else by others of their master."""
    c = pl.col
    own = ("m.node", "m.form", "m.child_run", "m.snapshot")
    written = children.filter(c("written_bytes").is_not_null()).select(
        *(c(name.removeprefix("m.").replace("child_run", "run")).alias(name) for name in own), "written_bytes"
    )
    rows = rows.with_columns(pl.when(c("m.form") == "json").then("m.run").alias("m.child_run"))
    rows = rows.join(written, on=own, how="left", nulls_equal=True, maintain_order="left")
    full, failed = c("verdict") == "full", c("ok") == pl.lit(False)
    known = pl.when(full).then("bytes")
    of_snapshot = pl.when(c("m.snapshot").is_not_null()).then(known.max().over(own))
    guess = pl.coalesce("bytes", "written_bytes", of_snapshot, known.median().over("node").round())
    # What failed before its snapshot began has moved nothing.
    began = c("bytes").is_not_null() | c("transfer_ms").is_not_null() | ~failed.fill_null(False)
    return rows.with_columns(pl.when(full).then(pl.when(began).then(guess).otherwise(0)).alias("bytes_estimate"))


def _sum(name: str) -> pl.Expr:
    """Null where nothing is known, which is not 0."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())


def _bytes() -> tuple[pl.Expr, ...]:
    """The sum of what is known, of how many that is, and the estimate of all, null when it lacks some."""
    estimate = pl.col("bytes_estimate")
    all_told = estimate.is_not_null().all()
    return (
        _sum("bytes").alias("bytes"),
        pl.col("bytes").count().cast(pl.Int64).alias("bytes_known"),
        pl.when(all_told).then(estimate.sum()).alias("bytes_estimate"),
    )


def loops(syncs: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """The table LOOPS: islands of like failures in each pair's syncs."""
    reason = pl.when(pl.col("ok") == pl.lit(False)).then("failure").otherwise(pl.lit(""))
    rows = syncs.with_columns(reason.alias("reason"))
    same = (pl.col("reason") == pl.col("reason").shift(1)).fill_null(False)
    rows = rows.with_columns(
        (~same).cast(pl.Int64).cum_sum().over(_PAIR).alias("island"),
        pl.when(pl.col("ok")).then("at_us").max().over(_PAIR).alias("last_ok"),
    ).filter(pl.col("reason") != "")
    islands = rows.group_by("node", "replica", "reason", "island", maintain_order=True).agg(
        pl.col("failure_detail").last().alias("detail"),
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("at_us").min().alias("first_us"),
        pl.col("end_us").max().alias("last_us"),
        pl.col("at_us").max().alias("last_begin"),
        *_bytes(),
        pl.col("last_ok").max(),
    )
    last = attempts.filter(~pl.col("parted")).group_by(_PAIR).agg(pl.col("over_us").max())
    islands = islands.join(last, on=_PAIR, how="left", nulls_equal=True, maintain_order="left")
    islands = islands.filter(pl.col("count") >= LOOP_LENGTH).sort("count", "first_us", descending=[True, False])
    chosen = islands.unique(["node", "replica", "reason"], keep="first", maintain_order=True).with_columns(
        every_s=(pl.col("last_begin") - pl.col("first_us")) / 1e6 / (pl.col("count") - 1),
        over=(pl.col("last_ok") > pl.col("last_us")).fill_null(False),
    )
    running = (pl.col("over_us") - pl.col("first_us")) / 1e6
    return conform(chosen.with_columns(pl.when(~pl.col("over")).then(running).alias("open_s")), LOOPS)


def retries(attempts: pl.DataFrame) -> pl.DataFrame:
    """The table RETRIES."""
    failed = attempts.filter(pl.col("failure").is_not_null())
    rows = failed.group_by("node", "replica", pl.col("failure").alias("reason")).agg(
        pl.len().alias("count"), pl.col("at_us").min().alias("first_us"), pl.col("lost_us").max().alias("last_us")
    )
    return conform(rows, RETRIES)


def cuts(attempts: pl.DataFrame) -> pl.DataFrame:
    """The table CUTS."""
    c = pl.col
    # Nothing comes of a running minimum where there is no value; what was before is carried on.
    next_ok = pl.when(c("ok")).then("online_us").reverse().cum_min().forward_fill().shift(1).reverse().over(_PAIR)
    established = c("verdict").is_not_null() | (c("lost_phase") == "stream")
    rows = attempts.with_columns(next_ok.alias("next_ok"), *_return()).filter(established & c("lost_us").is_not_null())
    in_sync = (c("verdict") == "full") & c("online_us").is_null() & (c("next_replid") == c("stream_id"))
    lacked = pl.when(in_sync).then(c("next_cut") - c("snapshot_offset")).otherwise("next_lacked")
    rows = rows.select(
        day(c("lost_us")).alias("day"),
        "node",
        "replica",
        c("lost_us").alias("at_us"),
        "ends",
        c("lost_cause").alias("cause"),
        pl.when(c("ok")).then(pl.lit("stream")).otherwise(c("lost_phase").fill_null("sync")).alias("phase"),
        c("lost_detail").alias("detail"),
        c("lost_output_bytes").alias("output_buffer_bytes"),
        pl.when(c("next_us") >= c("lost_us")).then((c("next_us") - c("lost_us")) / 1e6).alias("back_s"),
        pl.when(lacked >= 0).then(lacked).alias("lacked_bytes"),
        pl.when(c("next_ok") >= c("lost_us")).then((c("next_ok") - c("lost_us")) / 1e6).alias("down_s"),
        pl.when(c("next_ok").is_null() & ~c("parted")).then((c("over_us") - c("lost_us")) / 1e6).alias("open_s"),
    )
    return conform(rows, CUTS)


def _return() -> list[pl.Expr]:
    """Of each attempt `stream_id`, and of the pair's next one that reached a verdict: when it began, its stream, the
    cut of its snapshot, and how much the replica lacked. What that one does not tell is not taken from a later one."""
    c = pl.col
    stream_id = pl.coalesce("m.replid", "r.replid").fill_null("")
    behind = c("snapshot_offset") - c("asked_offset")
    known = c("cause").is_in(["out_of_backlog", "no_backlog"]) & (behind >= 0)
    lacked = pl.when(c("verdict") == "continue").then("m.missing_bytes").when(known).then(behind)
    told = {"next_us": c("at_us"), "next_replid": stream_id, "next_cut": c("snapshot_offset").fill_null(-1),
            "next_lacked": lacked.fill_null(-1)}  # fmt: skip
    later = [
        pl.when(c("verdict").is_not_null()).then(value).backward_fill().shift(-1).over(_PAIR).alias(name)
        for name, value in told.items()
    ]
    return [stream_id.alias("stream_id"), *later]
