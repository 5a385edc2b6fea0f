"""One row per attempt to get a stream: what both ends tell of it, joined, on one clock.

From here on nobody looks at the halves of a sync any more. What an attempt costs and why it failed is defined here and,
column by column, in results.py. Columns of the two ends are called `m.` and `r.` and then as in ends.py; all of an end
that is silent are null. Not here: which halves belong together (stitch.py), clocks (skew.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from pyrepl.metrics import skew as clocks
from pyrepl.metrics.kinds import RDB_VERSION
from pyrepl.metrics.rollup import Mark
from pyrepl.metrics.stitch import stitch

_Call = tuple[str, str, str]
"""Who calls whom, by what label, and which node that is."""
_VAGUE: Final = ("connection_lost", "unknown", "stopped", "main_channel")
"""Causes that the other end, or a later line, may know better."""
_TOLD_LATE_US: Final = 5000
"""So long after the fork, at most, the event log tells of a delivery by a child."""
_SIDES: Final = {"m": "master", "r": "replica"}


def attempts(
    halves: pl.DataFrame, nodes: Mapping[str, Mark], groups: Iterable[Iterable[str]] = ()
) -> tuple[pl.DataFrame, list[clocks.Clock]]:
    """Every attempt in order of its begin, and how the nodes' clocks stand.

    `halves` is ends.ends(), `nodes` rollup.merged_marks(); no attempt is of nodes of two `groups`, nodes without one
    being one. Times of replicas are brought to the reference clock.
    """
    matches = _matches(halves, nodes, {node: number for number, group in enumerate(groups) for node in group})
    if len(matches):
        halves = halves.with_columns(pl.col("sync").replace(matches["r.sync"], matches["m.sync"]))
    rows = _sides(halves)
    bounds, calls = _bounds(rows)
    skews = clocks.estimate(bounds)
    rows = _one_clock(rows, skews)
    for mine, other in ("mr", "rm"):
        calls.update(matches.select(f"{mine}.node", f"{mine}.label", f"{other}.node").unique().iter_rows())
    return _with_last(_judged(_pairs(rows, calls)), nodes, skews), skews


def _sides(halves: pl.DataFrame) -> pl.DataFrame:
    """One row per sync: what each end told."""
    sides = []
    for side, end in _SIDES.items():
        own = halves.filter(pl.col("end") == end).drop("end")
        if own["sync"].n_unique() < len(own):
            own = own.sort("node").unique("sync", keep="last")
        sides.append(own.rename({name: f"{side}.{name}" for name in own.columns if name != "sync"}))
    return sides[0].join(sides[1], on="sync", how="full", coalesce=True)


def _matches(halves: pl.DataFrame, nodes: Mapping[str, Mark], group_of: Mapping[str, int]) -> pl.DataFrame:
    """Halves that name no common sync are brought together. Event logs name their syncs: then there are masters' alone
    or replicas' alone, or none, however many there are."""
    alone = halves.filter(~pl.col("sync").is_duplicated())
    is_master, at_us = pl.col("end") == "master", pl.coalesce("asked_us", "decided_us")
    rows = alone.head(0) if alone["end"].n_unique() < len(_SIDES) else alone.filter(at_us.is_not_null())
    rows = rows.select(
        "sync", "node", is_master.alias("is_master"), pl.col("peer").fill_null("").alias("label"),
        at_us.alias("at_us"), "verdict", "asked_replid", "asked_offset",
        pl.when(~is_master).then(_stream()).alias("replid"),
    )  # fmt: skip
    ports = {name: node["port"] for name, node in nodes.items() if node["port"]}
    replids = {name: frozenset(node["replids"]) for name, node in nodes.items()}
    return stitch(rows, ports, replids, group_of)


def _stream() -> pl.Expr:
    """The id of the stream that a replica then followed, where it tells."""
    asked = pl.when(pl.col("verdict") == "continue").then("asked_replid")
    return pl.when(pl.col("replid") != "").then("replid").otherwise(asked)


def _bounds(rows: pl.DataFrame) -> tuple[list[clocks.Bounds], set[_Call]]:
    """Of each pair of nodes: what causes and effects allow for the replica's clock less the master's; and what they
    call each other."""
    after_ask = pl.col("r.asked_us") - pl.col("m.asked_us")
    before_answer = pl.col("r.decided_us") - _answered_us()
    both = rows.filter(pl.col("m.node").is_not_null() & pl.col("r.node").is_not_null())
    found = both.group_by(pl.col("m.node").alias("master"), pl.col("r.node").alias("replica")).agg(
        after_ask.max().alias("low"),
        before_answer.min().alias("high"),
        after_ask.median().alias("low_p50"),
        before_answer.median().alias("high_p50"),
        pl.len().alias("pairs"),
        pl.col("m.peer").drop_nulls().unique().alias("replica_called"),
        pl.col("r.peer").drop_nulls().unique().alias("master_called"),
    )
    told = found.to_dicts()
    names = ("master", "replica", "low", "high", "low_p50", "high_p50", "pairs")
    bounds = [clocks.Bounds(*(row[name] for name in names)) for row in told]
    calls = {(row["master"], label, row["replica"]) for row in told for label in row["replica_called"]}
    return bounds, calls | {(row["replica"], label, row["master"]) for row in told for label in row["master_called"]}


def _answered_us() -> pl.Expr:
    """When the master sent its answer. On one channel that is when the snapshot begins, for which the master may wait
    by `repl-diskless-sync-delay`, or for another child; the delivery is told just after the answer went out."""
    waits = (pl.col("m.verdict") == "full") & ~pl.col("m.two_channels").fill_null(False)
    diskless = pl.col("m.mode") == "full_diskless"
    began = pl.coalesce("m.bgsave_us", pl.when(diskless).then(pl.col("m.delivery_us") - _TOLD_LATE_US))
    return pl.max_horizontal("m.decided_us", pl.when(waits).then(began))


def _one_clock(rows: pl.DataFrame, skews: list[clocks.Clock]) -> pl.DataFrame:
    """All times of both ends on the reference clock."""
    shifts = {clock.node: shift for clock in skews if (shift := round(clock.skew_ms * 1000))}
    if not shifts:
        return rows
    return rows.with_columns(
        pl.col(name) - pl.col(f"{side}.node").replace_strict(shifts, default=0, return_dtype=pl.Int64)
        for side in _SIDES
        for name in rows.columns
        if name.startswith(f"{side}.") and name.endswith("_us")
    )


def _pairs(rows: pl.DataFrame, calls: Iterable[_Call]) -> pl.DataFrame:
    """`node` and `replica` of each attempt: nodes where logs were read, else the addresses they are called by."""
    named = sorted({one[:2]: one for one in sorted(calls)}.values())
    for side, true in (("m", "r"), ("r", "m")):
        columns = (f"{side}.node", f"{side}.peer", f"called.{side}")
        own = pl.DataFrame(named, schema=dict.fromkeys(columns, pl.String), orient="row")
        rows = rows.join(own, on=columns[:2], how="left", maintain_order="left")
        called = pl.coalesce(f"{true}.node", f"called.{side}", f"{side}.peer")
        rows = rows.with_columns(called.alias("replica" if side == "m" else "node")).drop(f"called.{side}")
    return rows


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns that all results are made of."""
    c = pl.col
    m, r = c("m.node").is_not_null(), c("r.node").is_not_null()
    verdict = pl.coalesce("m.verdict", "r.verdict")
    r_failed = c("r.lost_at_us").is_not_null() & c("r.online_us").is_null()
    m_failed = c("m.lost_at_us").is_not_null() & c("m.online_us").is_null()
    full_ok = (
        pl.when(c("r.online_us").is_not_null()).then(True)
        .when(r_failed | m_failed).then(False)
        .when(c("m.online_us").is_not_null()).then(True)
    )  # fmt: skip
    answered = pl.max_horizontal("m.decided_us", "r.decided_us", "r.online_us")
    caught = pl.max_horizontal("m.online_us", "r.online_us", "r.caught_up_us")
    ends = pl.when(m & r).then(pl.lit("both")).when(m).then(pl.lit("master")).otherwise(pl.lit("replica"))
    asked = [c(f"{side}.{name}").is_not_null() for name in ("asked_replid", "asked_offset") for side in _SIDES]
    rows = rows.with_columns(
        ends.alias("ends"),
        pl.coalesce("r.begin_us", "m.begin_us", "m.first_us", "r.first_us").alias("at_us"),
        verdict.alias("verdict"),
        pl.when(verdict == "continue").then(True).when(verdict == "full").then(full_ok).alias("ok"),
        pl.min_horizontal("m.lost_at_us", "r.lost_at_us").alias("lost_us"),
        _best_cause().alias("lost_cause"),
        pl.coalesce("r.lost_detail", "m.lost_detail").alias("lost_detail"),
        pl.coalesce("m.lost_phase", "r.lost_phase").alias("lost_phase"),
        pl.coalesce("m.lost_output_bytes", "m.output_peak").alias("lost_output_bytes"),
        pl.when(verdict == "continue").then(answered).otherwise(caught).alias("online_us"),
        pl.coalesce("m.asked_offset", "r.asked_offset").alias("asked_offset"),
        pl.coalesce("m.snapshot_offset", "r.snapshot_offset").alias("snapshot_offset"),
        pl.any_horizontal(asked).alias("asked_with_id"),
        c("r.run").fill_null("").alias("replica_run"),
        pl.coalesce("m.snapshot", "m.bgsave_us").alias("snapshot"),
    )
    return _with_causes(rows.with_columns(_mode().alias("mode")).sort("at_us", "sync"))


def _with_last(rows: pl.DataFrame, nodes: Mapping[str, Mark], skews: list[clocks.Clock]) -> pl.DataFrame:
    """`over_us`: until when the pair was observed. That is the end of the logs of both its nodes, or (then it has
    `parted`) when the link ended for good: the replica was stopped, or follows another master. A master that is made a
    replica cuts its replicas before they are told whom to follow: so what they did next counts, too."""
    shifts = {clock.node: round(clock.skew_ms * 1000) for clock in skews}
    ends = {name: node["last_us"] - shifts.get(name, 0) for name, node in nodes.items()}
    logged = [pl.col(name).replace_strict(ends, default=None, return_dtype=pl.Int64) for name in ("node", "replica")]
    over = pl.max_horizontal(*logged, "at_us", "online_us", "lost_us")
    meant = (pl.col("lost_cause") == "role_change") | pl.col("r.lost_cause").is_in(["shutdown", "stopped"])
    # Of a replica whose log was read; others may be several under one name.
    met = pl.col("verdict").is_not_null() & pl.col("r.node").is_not_null()
    newest, newest_us = (pl.col(name).filter(met).last().over("replica") for name in ("node", "at_us"))
    moved = (newest != pl.col("node")) & (newest_us >= pl.col("at_us"))
    rows = rows.with_columns((meant.fill_null(False) | moved.fill_null(False)).alias("parted"))
    # The last attempt of the pair decides, and attempts come in order of time.
    parted = pl.col("parted").last()
    until = pl.when(parted).then(pl.max_horizontal("lost_us", "at_us").max()).otherwise(over.max())
    of_pair = ("node", "replica")
    return rows.with_columns(parted.over(of_pair).alias("parted"), until.over(of_pair).alias("over_us"))


def _best_cause() -> pl.Expr:
    """Why a link ended: who cut it knows; a mere loss is believed when nobody says more."""
    told = [pl.col("m.lost_cause"), pl.col("r.lost_cause")]
    sure = [pl.when(~cause.is_in(_VAGUE)).then(cause) for cause in told]
    version = pl.when(pl.col("r.lost_cause") == RDB_VERSION).then(pl.lit(RDB_VERSION))
    ended = pl.min_horizontal("m.lost_at_us", "r.lost_at_us").is_not_null()
    return pl.coalesce(version, *sure, *told, pl.when(ended).then(pl.lit("connection_lost")))


def _mode() -> pl.Expr:
    """What the sync was; of a full resync that ended before its snapshot began, null."""
    dialect = pl.coalesce("r.dialect", "m.dialect")
    two = pl.col("m.two_channels").fill_null(False) | pl.col("r.two_channels").fill_null(False)
    stated = pl.coalesce("m.mode", "r.mode")
    by_target = pl.col("m.target").replace_strict(
        {"disk": "full_disk", "socket": "full_diskless"}, default=None, return_dtype=pl.String
    )
    return (
        pl.when(pl.col("verdict") == "continue").then(pl.lit("continue"))
        .when(pl.col("verdict").is_null()).then(None)
        .when(stated.is_in(["rdb_channel", "dual_channel"])).then(stated)
        .when(two & dialect.is_in(["valkey", "dual", "dual-channel"])).then(pl.lit("dual_channel"))
        .when(two).then(pl.lit("rdb_channel"))
        .otherwise(pl.coalesce(by_target, stated))
    )  # fmt: skip


def _with_causes(rows: pl.DataFrame) -> pl.DataFrame:
    """`cause` of each full resync, and `failure` of what failed. Attempts without a verdict stand apart."""
    decided = pl.col("verdict").is_not_null()
    full = (pl.col("verdict") == "full").fill_null(False)
    of_master, of_pair = ("node", "decided"), ("node", "decided", "replica")
    failed = ~decided | (pl.col("ok") == pl.lit(False)).fill_null(False)
    rows = rows.with_columns(decided.alias("decided"), pl.when(failed).then("lost_cause").alias("failure"))
    before = {name: pl.col(name).shift(1).over(of_pair) for name in ("verdict", "ok", "failure", "replica_run")}
    other_id = (pl.col("r.replid") != pl.col("r.asked_replid")).fill_null(False)
    rest = (
        pl.when(pl.col("r.asked_replid").is_not_null() & other_id).then(pl.lit("id_mismatch"))
        .when(pl.col("r.asked_replid").is_not_null()).then(pl.lit("out_of_backlog"))
        .when(before["verdict"].is_null()).then(pl.lit("first"))
        .when(~before["ok"]).then(before["failure"])
        .when(pl.col("replica_run") == "").then(pl.lit("first"))
        .when(before["replica_run"] != pl.col("replica_run")).then(pl.lit("first"))
        .otherwise(pl.lit("forced"))
    )  # fmt: skip
    last_mode = pl.when(full).then(pl.col("mode")).forward_fill().shift(1).over(of_master)
    mode = pl.when(decided).then(pl.coalesce("mode", last_mode))
    cause = pl.when(full).then(pl.coalesce("m.cause", "r.cause", rest))
    return rows.with_columns(mode.alias("mode"), cause.alias("cause")).drop("decided")
