"""One row per sync and end: what one node's log tells of one attempt. Both forms of logs come out alike here.

What is aggregated are least and largest values alone, so that what parts of a log tell is merged as it was made, in any
order, and a line that is there twice counts once (rollup.py). Text logs are told by story.py first, so that their
events name their sync too. What both ends say together is attempts.py's.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from pyrepl.metrics.kinds import JSON, RDB_VERSION

KEY: Final = ("sync", "node", "end")
_OF_REPLICA: Final = ("link_up", "link_down", "load_started", "load_ended", "buffer_full", "catch_up_started")
"""Records that only a replica writes."""
_LOST_ORDER: Final = ("at_us", "vague", "cause", "detail", "phase", "output_bytes", "by_bytes")
"""Of several lines that tell of an end the first in this order counts, nothing before something."""


def ends(events: pl.DataFrame) -> pl.DataFrame:
    """Each sync as each end tells it; attempts that ended before a verdict are among them, with `verdict` null.

    An event log's failure to connect has no sync to name: it becomes an attempt of its own.
    """
    named = events.with_columns(pl.coalesce("end", _end()).alias("end"), _name().alias("sync"))
    named = named.filter(pl.col("sync").is_not_null())
    found = named.group_by(KEY).agg(*_aggregates(_least(), _most()))
    return _with_lost(found, named.filter(_is_lost()).select(*KEY, *_lost()))


def merged(halves: pl.DataFrame) -> pl.DataFrame:
    """The same of halves that came from different parts of the logs."""
    twice = pl.struct(KEY).is_duplicated()
    several = halves.filter(twice)
    if several.is_empty():
        return halves
    found = several.group_by(KEY).agg(
        *(pl.col(name).min() for name in _least()), *(pl.col(name).max() for name in _most())
    )
    named = {f"lost_{name}": name for name in _LOST_ORDER}
    lost = several.filter(pl.col("lost_at_us").is_not_null()).select(*KEY, *named).rename(named)
    return pl.concat([halves.filter(~twice), _with_lost(found, lost).select(halves.columns)])


def _with_lost(found: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
    """The halves and, as `lost_...`, the first of the lines that told of their end."""
    first = lost.sort(_LOST_ORDER, nulls_last=False).unique(KEY, keep="first", maintain_order=True)
    named = first.rename({name: f"lost_{name}" for name in _LOST_ORDER})
    return found.join(named, on=KEY, how="left", nulls_equal=True)


def _name() -> pl.Expr:
    alone = (pl.col("event") == "link_down") & pl.col("sync").is_null()
    # What is null is passed over, as in an event log that names no peer.
    own = pl.concat_str("node", pl.lit(">"), "peer", pl.lit("#"), pl.col("at_us").cast(pl.String), ignore_nulls=True)
    return pl.when(alone).then(own).otherwise("sync")


def _end() -> pl.Expr:
    """Of records that only one end writes."""
    of_master = pl.when(pl.col("event") == "replica_down").then(pl.lit("master"))
    return pl.when(_is(*_OF_REPLICA)).then(pl.lit("replica")).otherwise(of_master)


def _is(*kinds: str) -> pl.Expr:
    return pl.col("event").is_in(kinds)


def _of(name: str, *kinds: str) -> pl.Expr:
    return pl.when(_is(*kinds)).then(pl.col(name))


def _aggregates(least: dict[str, pl.Expr], most: dict[str, pl.Expr]) -> list[pl.Expr]:
    return [
        *(value.min().alias(name) for name, value in least.items()),
        *(value.max().alias(name) for name, value in most.items()),
    ]


def _least() -> dict[str, pl.Expr]:
    """Columns whose least value counts."""
    begun = pl.col("at_us") - pl.col("handshake_ms").fill_null(0) * 1000
    return {
        "run": pl.col("run"),
        "begin_us": pl.when(_is("link_connecting", "psync_asked", "psync_decided")).then(begun),
        "first_us": pl.col("at_us"),
        "asked_us": _of("at_us", "psync_asked"),
        "decided_us": _of("at_us", "psync_decided"),
        "cause": _of("cause", "psync_decided"),
        "bgsave_us": _of("at_us", "bgsave_for_sync", "bgsave_shared"),
        "delivery_us": _of("at_us", "delivery_started"),
        "load_us": _of("at_us", "load_started"),
        "catch_up_us": _of("at_us", "catch_up_started"),
    }


def _most() -> dict[str, pl.Expr]:
    """Columns whose largest value counts."""
    decided = _is("psync_decided")
    granted = decided & (pl.col("verdict") != "refused")
    verdict = pl.when(pl.col("verdict") == "continue").then(pl.lit("continue")).otherwise(pl.lit("full"))
    loaded = (pl.col("event") == "load_ended") & pl.col("ok")
    missed = pl.col("backlog_start_offset") - pl.col("asked_offset")
    return {
        **{name: pl.col(name) for name in ("form", "peer", "replica", "asked_replid", "asked_offset")},
        **{name: pl.col(name) for name in ("snapshot_offset", "dialect", "snapshot", "load_ms")},
        "verdict": pl.when(granted).then(verdict),
        "two_channels": pl.when(decided).then(pl.col("verdict") == "two_channels"),
        "replid": _stream(decided),
        "missing_bytes": pl.when(decided).then(pl.col("missing_bytes")),
        "by_bytes": pl.when(decided).then(pl.coalesce("by_bytes", pl.when(missed > 0).then(missed))),
        "mode": _of("mode", "delivery_started", "online"),
        "target": _of("target", "bgsave_for_sync"),
        "delivered_us": pl.when(_is("delivery_ended") & pl.col("ok").fill_null(True)).then("at_us"),
        "loaded_us": pl.when(loaded).then(pl.col("at_us")),
        "caught_up_us": _of("at_us", "catch_up_ended"),
        "online_us": _of("at_us", "online"),
        "bytes": pl.max_horizontal("total_bytes", "delivered_bytes"),
        "keys": _of("keys", "load_ended"),
        "output_peak": pl.when(pl.col("buffer") == "output").then(pl.col("peak_bytes")),
        "sync_peak": pl.when(pl.col("buffer") == "sync").then(pl.col("peak_bytes")).otherwise(pl.col("buffered_bytes")),
        "rdb_version": _of("version", "load_ended"),
    }


def _stream(decided: pl.Expr) -> pl.Expr:
    """The id of the master's stream. An event log's records carry the id of their node's own: a replica's is its
    master's from the moment on at which it has the data."""
    by_replica = (pl.col("form") == JSON) & (pl.col("end") == "replica")
    known = pl.when(by_replica).then(_is("online", "link_up")).otherwise(decided | _is("rdb_channel_opened"))
    return pl.when(known).then(pl.col("replid"))


def _is_lost() -> pl.Expr:
    return _is("link_down", "replica_down") | ((pl.col("event") == "load_ended") & ~pl.col("ok"))


def _lost() -> list[pl.Expr]:
    return [
        pl.col("at_us"),
        pl.col("cause").is_null().cast(pl.Int64).alias("vague"),
        _cause().alias("cause"),
        pl.coalesce("error", "detail").alias("detail"),
        pl.col("phase"),
        pl.col("output_bytes"),
        pl.col("by_bytes"),
    ]


def _cause() -> pl.Expr:
    """A load that failed for the snapshot's version is told apart."""
    said = pl.coalesce("detail", "error").str.contains("version", literal=True)
    version = (pl.col("cause") == "load_failed") & said
    return pl.when(version).then(pl.lit(RDB_VERSION)).otherwise("cause")
