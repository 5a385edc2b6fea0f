"""The questions of metrics_sql.py in Polars's own expressions, for bench.metrics; the same ones, in the same order."""

from __future__ import annotations

from typing import Final

import polars as pl
from polars import col

from bench import metrics_sql as sql

_PAIR: Final = ("node", "replica")
_PERCENTILES: Final = (0.5, 0.9, 0.99)


def ask(lines: pl.LazyFrame, samples: tuple[str, ...]) -> list[pl.DataFrame]:
    """All answers. `lines` are events and samples; `samples` are the events that are samples."""
    is_sample = col("event").is_in(samples)
    events, sampled = lines.filter(~is_sample), lines.filter(is_sample)
    tried = _tried(_ends(events)).collect()
    syncs, cuts = _syncs(tried.lazy()).collect().lazy(), _cuts(tried.lazy())
    questions = [
        syncs.group_by("known_mode").agg(pl.len(), col("ok").sum()),
        syncs.group_by("cause").agg(
            pl.len(), col("bytes").sum(), col("behind_bytes").median(), col("behind_bytes").max().alias("most")
        ),
        cuts.group_by("lost_cause").len(),
        _loops(syncs),
        _storms(syncs),
        _missed(syncs),
        _availability(tried.lazy()),
        _children(events),
        _nodes(events),
        _nodes(sampled),
        _lag(sampled),
        _rates(sampled),
        _series(sampled),
    ]
    return pl.collect_all(questions)


def _ends(events: pl.LazyFrame) -> pl.LazyFrame:
    of = {
        name: col("event").is_in(kinds.replace("'", "").split(", "))
        for name, kinds in (*sql.AT_US.items(), *sql.LAST_US.items())
    }
    side = pl.coalesce(
        "end", pl.when(col("event") == "replica_down").then(pl.lit("master")).otherwise(pl.lit("replica"))
    )
    decided, is_cut = col("event") == "psync_decided", col("event").is_in(["link_down", "replica_down"])
    verdict = pl.when(col("verdict") == "continue").then("verdict").otherwise(pl.lit("full"))
    lost = pl.struct("at_us", "cause", detail=pl.coalesce("error", "detail"), phase="phase")
    return events.filter(col("sync").is_not_null()).group_by("sync", "node", side.alias("side")).agg(
        *(col("at_us").filter(of[name]).min().alias(name) for name in sql.AT_US),
        *(col("at_us").filter(of[name]).max().alias(name) for name in sql.LAST_US),
        *(col(name).max() for name in sql.MOST),
        verdict.filter(decided).max().alias("decided"),
        col("cause").filter(decided).min().alias("told"),
        pl.max_horizontal("total_bytes", "delivered_bytes").max().alias("bytes"),
        col("peak_bytes").filter(col("buffer") == "output").max().alias("output_peak"),
        col("peak_bytes").filter(col("buffer") == "sync").max().alias("sync_peak"),
        lost.filter(is_cut).sort_by(col("at_us").filter(is_cut)).first().alias("lost"),
    )  # fmt: skip


def _tried(ends: pl.LazyFrame) -> pl.LazyFrame:
    ours, theirs = (ends.filter(col("side") == side) for side in ("master", "replica"))
    both = ours.join(theirs, on="sync", how="full", suffix="_r", coalesce=True)
    either = {name: pl.coalesce(name, f"{name}_r") for name in ("begin_us", "online_us", "told")}
    lost, lost_r = col("lost").struct, col("lost_r").struct
    return both.select(
        "sync", "snapshot_offset", "asked_offset", "snapshot", "wait_ms", "delivery_ms", "load_ms_r", "catch_up_ms",
        "output_peak", "sync_peak_r", either["online_us"], either["told"],
        pl.coalesce("node", "peer_r").alias("node"), pl.coalesce("node_r", "peer").alias("replica"),
        pl.coalesce("begin_us_r", "begin_us").alias("at_us"), pl.coalesce("decided", "decided_r").alias("verdict"),
        pl.coalesce("mode_r", "mode").alias("mode"), either["online_us"].is_not_null().alias("ok"),
        pl.min_horizontal(lost.field("at_us"), lost_r.field("at_us")).alias("lost_us"),
        pl.coalesce(lost.field("cause"), lost_r.field("cause")).alias("lost_cause"),
        pl.max_horizontal("bytes", "bytes_r").alias("bytes"),
    )  # fmt: skip


def _syncs(tried: pl.LazyFrame) -> pl.LazyFrame:
    before = {name: col(name).shift(1).over(_PAIR) for name in ("verdict", "ok", "lost_cause")}
    why = (
        pl.when(before["verdict"].is_null()).then(pl.lit("first"))
        .when(~before["ok"]).then(before["lost_cause"]).otherwise(pl.lit("forced"))
    )  # fmt: skip
    return tried.filter(col("verdict").is_not_null()).sort("at_us", "sync").with_columns(
        cause=pl.coalesce("told", why),
        known_mode=pl.coalesce("mode", col("mode").forward_fill().shift(1).over("node")),
        end_us=pl.when("ok").then("online_us").otherwise("lost_us"),
        behind_bytes=col("snapshot_offset") - col("asked_offset"),
    )  # fmt: skip


def _cuts(tried: pl.LazyFrame) -> pl.LazyFrame:
    later = col("online_us").reverse().cum_min().shift(1).reverse().over(_PAIR)
    return tried.sort("at_us", "sync").with_columns(next_ok=later).filter(col("lost_us").is_not_null())


def _loops(syncs: pl.LazyFrame) -> pl.LazyFrame:
    reason = pl.when("ok").then(pl.lit("")).otherwise("lost_cause")
    return (
        syncs.with_columns(reason=reason)
        .with_columns(island=col("reason").ne_missing(col("reason").shift(1)).cum_sum().over(_PAIR))
        .filter(col("reason") != "").group_by(*_PAIR, "reason", "island")
        .agg(pl.len().alias("count"), col("at_us").min(), col("end_us").max()).filter(col("count") >= 3)
    )  # fmt: skip


def _storms(syncs: pl.LazyFrame) -> pl.LazyFrame:
    before = col("end_us").cum_max().shift(1).over("node")
    return (
        syncs.filter(col("mode") != "continue")
        .with_columns(island=(~(col("at_us") <= before).fill_null(False)).cum_sum().over("node"))
        .group_by("node", "island")
        .agg(col("at_us").min(), col("end_us").max(), col("replica").n_unique(), col("snapshot").n_unique())
        .filter(col("replica") > 1)
    )  # fmt: skip


def _missed(syncs: pl.LazyFrame) -> pl.LazyFrame:
    missed = syncs.filter(col("cause") == "out_of_backlog")
    counted = missed.group_by("node", "behind_bytes").agg(pl.len().alias("count")).sort("node", "behind_bytes")
    return counted.with_columns(col("count").cum_sum().over("node"))


def _availability(tried: pl.LazyFrame) -> pl.LazyFrame:
    following = col("online_us").shift(-1).over(_PAIR)
    return (
        tried.sort("online_us", nulls_last=True).with_columns(outage=following - col("lost_us"))
        .group_by(_PAIR)
        .agg(
            col("at_us").min(), col("lost_us").max(), col("outage").max(),
            (col("lost_us") - col("online_us")).filter("ok").sum().alias("on"),
        )
    )  # fmt: skip


def _children(events: pl.LazyFrame) -> pl.LazyFrame:
    of = events.filter(col("event").is_in(["snapshot_started", "snapshot_ended", "child_memory"]))
    return of.group_by("node", "run", "snapshot").agg(
        col("at_us").min(), col("snapshot_ms").max(), col("written_bytes").max()
    )


def _nodes(rows: pl.LazyFrame) -> pl.LazyFrame:
    size = col("backlog_size_bytes")
    return rows.group_by("node").agg(
        col("port").max(), col("run").n_unique(), col("at_us").min().alias("first"), col("at_us").max().alias("last"),
        pl.len().alias("count"), col("replid").unique(),
        size.filter(size.is_not_null()).sort_by(col("at_us").filter(size.is_not_null())).last().alias("size"),
    )  # fmt: skip


def _lag(samples: pl.LazyFrame) -> pl.LazyFrame:
    marks = [
        col(name).quantile(at, "linear").alias(f"{name}_{at}") for name in ("lag_bytes", "lag_s") for at in _PERCENTILES
    ]
    most = [col(name).max().alias(f"most_{name}") for name in ("lag_bytes", "lag_s", "output_bytes")]
    return samples.filter(col("event") == "replica_sample").group_by("node", "peer").agg(pl.len(), *marks, *most)


def _rates(samples: pl.LazyFrame) -> pl.LazyFrame:
    run = ("node", "replid")
    good = (col("span_s") > 0) & (col("grown") >= 0)
    rate = col("grown") / col("span_s")
    return (
        samples.filter(col("event") == "sample").sort("at_us", "offset")
        .with_columns(span_s=col("at_us").diff().over(run) / 1e6, grown=col("offset").diff().over(run))
        .group_by("node")
        .agg(
            col("grown").filter(good).sum(), col("span_s").filter(good).sum(),
            *(rate.filter(good).quantile(at, "linear").alias(f"rate_{at}") for at in (0.5, 0.99, 1.0)),
            *(col("writes_per_s").quantile(at, "linear").alias(f"writes_{at}") for at in (0.5, 0.99)),
        )
    )  # fmt: skip


def _series(samples: pl.LazyFrame) -> pl.LazyFrame:
    first, last = samples.select(col("at_us").min(), col("at_us").max().alias("last")).collect().row(0)
    span = (col("at_us") - first) // max(1, (last - first) // 240)
    names = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes", "writes_per_s", "stream_bytes_per_s")
    return samples.group_by("node", "peer", span.alias("span")).agg(col(name).max() for name in names)
