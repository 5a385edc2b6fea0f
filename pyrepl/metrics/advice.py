"""What to change and what it would have saved: backlog_what_if, storms and advice.

Sizes are asked of what happened: for each avoidable full resync the logs tell how much of the stream the replica
lacked. Each piece of advice carries its numbers; where the logs do not tell enough for a number, none is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, Final

import polars as pl

from pyrepl.metrics.kinds import RDB_VERSION
from pyrepl.metrics.results import ADVICE, BACKLOG_WHAT_IF, STORMS
from pyrepl.metrics.schemas import conform, literal

AVOIDABLE: Final = ("out_of_backlog", "no_backlog")
"""Causes of full resyncs that a larger backlog, kept longer, makes partial ones."""
SHARES: Final = (0.5, 0.9, 0.99)
MIN_SYNCS_FOR_CHANNEL: Final = 3
"""Fewer full resyncs of a kind than this are no measurement. Inclusive."""
_MB: Final = 1 << 20
_CHANNELS: Final = {"rdb_channel": "two", "dual_channel": "two", "full_disk": "one", "full_diskless": "one"}
_SEVERITIES: Final = ("act", "consider")
OUTAGE_S: Final = 1.0
"""An outage that had lasted less when the logs end may be a sync under way. Inclusive."""
LASTING_S: Final = 60.0
"""One that had lasted so long does not mend itself. Inclusive."""
_HINTS: Final[Mapping[str, str]] = {
    "connect_failed": "Nothing answers at the master's address: see whether the master runs, and whether the replica "
    "can reach its port.",
    "refused": "The master answers and refuses: see masteruser, masterauth and TLS on the replica.",
    "not_ready": "The master has no data to give: it is a replica itself, and its own link is down, or it is loading.",
    "timeout": "Nothing came for repl-timeout: see the network between the two, and whether either stood still.",
    "output_buffer": "The master cut the replica for its output buffer: see why the replica does not read.",
    RDB_VERSION: "The replica is older than the master's snapshots: upgrade it.",
}
"""What to look at first, by the cause of an outage."""
Row = dict[str, Any]


def what_if(syncs: pl.DataFrame) -> pl.DataFrame:
    """The table BACKLOG_WHAT_IF."""
    avoidable = syncs.filter(pl.col("cause").is_in(AVOIDABLE) & pl.col("behind_bytes").is_not_null())
    # Of the syncs of one master the bytes of all can be estimated, or of none.
    saved = (pl.col("bytes_estimate") - pl.col("behind_bytes")).clip(0)
    size = pl.max_horizontal(pl.lit(1), "behind_bytes").alias("backlog_size")
    each = avoidable.group_by("node", size).agg(
        pl.len().cast(pl.Int64).alias("count"),
        pl.when(saved.count() > 0).then(saved.sum()).alias("bytes"),
        pl.col("total_ms").sum().alias("ms"),
    )
    rows = each.sort("node", "backlog_size").with_columns(
        pl.col("count").cum_sum().over("node").alias("avoided"),
        pl.col("count").sum().over("node").alias("avoidable"),
        pl.col("bytes").cum_sum().over("node").alias("saved_bytes"),
        (pl.col("ms").cum_sum().over("node") / 1000).alias("saved_s"),
    )
    return conform(rows.with_columns((pl.col("avoided") / pl.col("avoidable")).alias("share")), BACKLOG_WHAT_IF)


def storms(syncs: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """The table STORMS: islands of full resyncs of one master that overlap."""
    again = pl.col("ok").shift(1).over("node", "replica") == pl.lit(False)
    ended = (pl.col("mode") != "continue") & pl.col("end_us").is_not_null()
    full = syncs.filter(ended & ~again.fill_null(False))
    rows = full.join(attempts.select("sync", "snapshot"), on="sync", how="left", maintain_order="left")
    fresh = (pl.col("at_us") > pl.col("end_us").cum_max().shift(1)).fill_null(True).cast(pl.Int64)
    rows = rows.with_columns(fresh.cum_sum().over("node").alias("island"))
    rows = rows.group_by("node", "island").agg(
        pl.col("at_us").min(),
        pl.col("end_us").max(),
        pl.col("at_us").max().alias("last"),
        pl.col("replica").drop_nulls().n_unique().alias("replicas"),
        pl.len().alias("syncs"),
        pl.col("snapshot").drop_nulls().n_unique().alias("snapshots"),
    )
    rows = rows.filter((pl.col("replicas") > 1) & (pl.col("snapshots") > 1))
    return conform(rows.with_columns(((pl.col("last") - pl.col("at_us")) / 1e6).alias("delay_s")), STORMS)


def advice(found: Mapping[str, pl.DataFrame], sizes: Mapping[str, int]) -> pl.DataFrame:
    """The table ADVICE. `found` are the other results by name, `sizes` the backlogs' by node, bytes."""
    pieces = [
        *_backlog(found["backlog_what_if"], sizes),
        *_output_buffer(found["cuts"]),
        *_channel(found["syncs"]),
        *_storms(found["storms"]),
        *map(_loop, found["loops"].to_dicts()),
        *_outages(found["availability"], found["loops"]),
    ]
    pieces.sort(key=_urgency)
    return literal(ADVICE, (tuple(piece.get(name) for name in ADVICE.names) for piece in pieces))


def _urgency(piece: Row) -> tuple[Any, ...]:
    """By what still runs, then by what it has cost."""
    running, cost = piece.get("running_s") or 0.0, piece.get("cost_s") or 0.0
    rest = _nulls_first(piece, "kind", "node", "replica")
    return (-running, -cost, _SEVERITIES.index(piece["severity"]), *rest)


def _nulls_first(piece: Row, *names: str) -> Iterator[tuple[bool, Any]]:
    for name in (*names, "share"):
        value = piece.get(name)
        yield value is not None, value if value is not None else 0


def _mb(size: float) -> str:
    """Bytes as the configuration file has them, rounded up to whole megabytes (or kilobytes, below one)."""
    return f"{ceil(size / 1024)}kb" if size < _MB else f"{ceil(size / _MB)}mb"


def _shown(size: float) -> str:
    if size >= 100_000:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e3:,.1f} kB" if size >= 1000 else f"{size:.0f} bytes"


def _saved(size: int | None, seconds: float) -> str:
    took = f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
    return f"{_shown(size)} and {took} of syncing" if size else f"{took} of syncing"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _backlog(what_if: pl.DataFrame, sizes: Mapping[str, int]) -> Iterator[Row]:
    """The smallest sizes that would have done for 50, 90 and 99 % of the avoidable full resyncs."""
    for own in what_if.sort("node", "backlog_size").partition_by("node", maintain_order=True):
        best: dict[int, tuple[float, Row]] = {}
        for share in SHARES:
            row = own.filter(pl.col("share") >= share).row(0, named=True)
            best[row["backlog_size"]] = share, row
        for share, row in best.values():
            now = sizes.get(row["node"])
            yield {
                "kind": "backlog_size",
                "severity": "act" if share == SHARES[-1] else "consider",
                "node": row["node"],
                "directive": "repl-backlog-size",
                "value": _mb(row["backlog_size"]),
                "share": share,
                "count": row["avoided"],
                "saved_bytes": row["saved_bytes"],
                "saved_s": row["saved_s"],
                "cost_s": row["saved_s"],
                "text": f"repl-backlog-size {_mb(row['backlog_size'])} would have made {row['avoided']} of "
                f"{row['avoidable']} avoidable full resyncs partial, saving "
                f"{_saved(row['saved_bytes'], row['saved_s'])}{'' if now is None else f' (it is {_mb(now)} now)'}.",
            }


def _output_buffer(cuts: pl.DataFrame) -> Iterator[Row]:
    """Each kill for its output buffer: a limit above what had piled up."""
    killed = cuts.filter(pl.col("cause") == "output_buffer").group_by("node", "replica")
    rows = killed.agg(
        pl.len().alias("count"),
        pl.col("output_buffer_bytes").max().alias("most"),
        pl.when(pl.col("down_s").count() > 0).then(pl.col("down_s").sum()).alias("down"),
        pl.col("open_s").max().alias("open"),
    )
    for row in rows.iter_rows(named=True):
        limit = None if not row["most"] else ceil(row["most"] * 1.25 / _MB) * _MB
        waited = (
            " (the log does not tell how much waited)"
            if limit is None
            else f" with up to {_shown(row['most'])} waiting; a hard limit of {_mb(limit)} would have kept what had "
            "piled up by then"
        )
        yield {
            "kind": "output_buffer",
            "severity": "act",
            "node": row["node"],
            "replica": row["replica"],
            "directive": "client-output-buffer-limit",
            "value": None if limit is None else f"replica {_mb(limit)} 0 0",
            "share": 1.0,
            "count": row["count"],
            "saved_s": row["down"],
            "running_s": row["open"],
            "cost_s": row["down"],
            "text": f"The master cut this replica {_times(row['count'])} for client-output-buffer-limit{waited}. "
            "If the replica stood still, look there first: no limit helps for ever.",
        }


def _channel(syncs: pl.DataFrame) -> Iterator[Row]:
    """One connection against two, by the time they took."""
    kind = pl.col("mode").replace_strict(_CHANNELS, default=None, return_dtype=pl.String)
    done = syncs.lazy().filter(pl.col("ok") & pl.col("total_ms").is_not_null()).select("node", "total_ms", side=kind)
    sides = [pl.col("total_ms").filter(pl.col("side") == side) for side in ("one", "two")]
    both = (
        done.filter(pl.col("side").is_not_null())
        .group_by("node")
        .agg(*(made for side, name in zip(sides, ("one", "two"), strict=True)
               for made in (side.len().alias(f"{name}_n"), side.median().alias(f"{name}_ms"))))
        .filter(pl.min_horizontal("one_n", "two_n") >= MIN_SYNCS_FOR_CHANNEL)
    )  # fmt: skip
    for row in both.collect().iter_rows(named=True):
        better = row["two_ms"] <= row["one_ms"]
        worse = row["one_n"] if better else row["two_n"]
        say = "keep the RDB channel on." if better else "the RDB channel does not pay here by time alone."
        yield {
            "kind": "rdb_channel",
            "severity": "consider",
            "node": row["node"],
            "directive": "repl-rdb-channel",
            "value": "yes" if better else "no",
            "count": row["one_n"] + row["two_n"],
            "saved_s": abs(row["one_ms"] - row["two_ms"]) / 1000,
            "cost_s": worse * abs(row["one_ms"] - row["two_ms"]) / 1000,
            "text": f"A full sync on two connections took {row['two_ms']:,.0f} ms in the median ({row['two_n']}), on "
            f"one {row['one_ms']:,.0f} ms ({row['one_n']}): {say}",
        }


def _storms(storms: pl.DataFrame) -> Iterator[Row]:
    rows = storms.group_by("node").agg(
        pl.len().alias("count"),
        pl.col("snapshots").sum(),
        pl.col("syncs").sum(),
        pl.col("delay_s").max(),
        ((pl.col("end_us") - pl.col("at_us")).sum() / 1e6).alias("lasted_s"),
    )
    for row in rows.iter_rows(named=True):
        delay = ceil(row["delay_s"])
        yield {
            "kind": "storm",
            "severity": "consider",
            "node": row["node"],
            "directive": "repl-diskless-sync-delay",
            "value": str(delay),
            "count": row["count"],
            "cost_s": row["lasted_s"],
            "text": f"{row['syncs']} full syncs came at once in {row['count']} storm{'' if row['count'] == 1 else 's'} "
            f"and took {row['snapshots']} snapshots; repl-diskless-sync-delay {delay} would have let each storm share "
            "one.",
        }


def _loop(loop: Row) -> Row:
    version = loop["reason"] == RDB_VERSION
    is_exact = loop["bytes_known"] == loop["count"]
    size = loop["bytes"] if is_exact else loop["bytes_estimate"]
    vain = "" if size is None else f", {'' if is_exact else 'about '}{_shown(size)} sent in vain"
    again = f"{loop['count']} times in a row, every {loop['every_s']:,.1f} s{vain}"
    say = (
        f"The replica cannot read this master's snapshots ({loop['detail'] or 'RDB version'}): {again}. It will never "
        "succeed: upgrade the replica, or let the master write an older RDB version (pyrepl: rdb-version)."
        if version
        else f"Syncs of this pair failed by {loop['reason']}: {again}."
    )
    return {
        "kind": "version_mismatch" if version else "loop",
        "severity": "consider" if loop["over"] else "act",
        "node": loop["node"],
        "replica": loop["replica"],
        "count": loop["count"],
        "saved_bytes": size,
        "running_s": loop["open_s"],
        "cost_s": (loop["last_us"] - loop["first_us"]) / 1e6,
        "text": say,
    }


def _outages(availability: pl.DataFrame, loops: pl.DataFrame) -> Iterator[Row]:
    """Pairs without a stream when the logs end, but for those of which a loop is told."""
    looping = loops.filter(pl.col("open_s").is_not_null()).select("node", "replica")
    out = availability.filter(pl.col("open_outage_s") >= OUTAGE_S)
    for row in out.join(looping, on=["node", "replica"], how="anti", nulls_equal=True).iter_rows(named=True):
        cause, detail = row["open_cause"] or "unknown", row["open_detail"]
        said = f" ({detail})" if detail else ""
        hint = _HINTS.get(cause, "")
        yield {
            "kind": "outage",
            "severity": "act" if row["open_outage_s"] >= LASTING_S else "consider",
            "node": row["node"],
            "replica": row["replica"],
            "count": row["cuts"],
            "running_s": row["open_outage_s"],
            "text": f"When the logs end the replica has not had this master's stream for {row['open_outage_s']:,.1f} "
            f"s; the last cause is {cause}{said}.{f' {hint}' if hint else ''}",
        }
