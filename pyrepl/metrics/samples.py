"""What the samples of a part come to: how often each value was there, largest values by span, and bounds of streams.

How far a replica is behind is known while its stream flows (phase online): one that takes a snapshot has acknowledged
nothing, and the bytes that it lacks are those of the snapshot. Its lag counts for nothing then; its output buffer does.

Percentiles are exact: equal values are counted, and counts of parts added up. A rate is that of the span between two
samples of one stream; the spans between the last sample of a part and the first of the next come when parts are
merged, which needs parts that do not overlap in time (rates.py).
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

SPANS: Final = 240
"""As many points as a line of a chart's width can show apart."""
DRAWN: Final = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes", "writes_per_s", "stream_bytes_per_s")
_LAGS: Final = ("lag_bytes", "lag_s", "output_bytes")
_POINT: Final = ("node", "replid", "at_us", "offset")
_STREAM: Final = ("node", "replid")
_VALUES: Final = ("node", "peer", "what", "value", "times")
_OF_NODE: Final = pl.col("event") == "sample"
_OF_REPLICA: Final = pl.col("event") == "replica_sample"
_IN_STEP: Final = pl.col("phase") == "online"


def values(samples: pl.DataFrame) -> pl.DataFrame:
    """A row per node, peer, kind (`what`) and value, and how often it was there (`times`).

    lag_bytes, lag_s   of replicas that are online, null among them
    output_max         the largest output buffer of the replica, once
    rate               bytes/s of the stream between two samples, of nodes; peer is null
    writes             writes_per_s, of nodes; peer is null
    """
    replicas = samples.filter(_OF_REPLICA).select("node", "peer", "phase", *_LAGS)
    online = replicas.filter(_IN_STEP)
    nodes = samples.select("event", *_POINT, "writes_per_s", peer=pl.lit(None, pl.String)).filter(_OF_NODE)
    largest = replicas.group_by("node", "peer").agg(pl.col("output_bytes").max().cast(pl.Float64).alias("value"))
    return pl.concat(
        [
            _counted(online, "lag_bytes", pl.col("lag_bytes")),
            _counted(online, "lag_s", pl.col("lag_s")),
            largest.select("node", "peer", pl.lit("output_max").alias("what"), "value", times=pl.lit(1, pl.Int64)),
            _counted(_spans(nodes).with_columns(peer=pl.lit(None, pl.String)), "rate", pl.col("rate")),
            _counted(nodes, "writes", pl.col("writes_per_s")),
        ]
    )


def _counted(rows: pl.DataFrame, what: str, value: pl.Expr) -> pl.DataFrame:
    counted = rows.group_by("node", "peer", value.cast(pl.Float64).alias("value")).agg(
        pl.len().cast(pl.Int64).alias("times")
    )
    return counted.with_columns(what=pl.lit(what)).select(_VALUES)


def added(counts: pl.DataFrame) -> pl.DataFrame:
    """Values of several parts as those of one."""
    # There are millions of values and a handful of names, which are compared faster by number.
    names = pl.col("node", "peer", "what")
    numbered = counts.lazy().with_columns(names.cast(pl.Categorical))
    found = numbered.group_by("node", "peer", "what", "value").agg(pl.col("times").sum())
    return found.with_columns(names.cast(pl.String)).select(_VALUES).collect()


def _spans(nodes: pl.DataFrame) -> pl.DataFrame:
    """Spans between two samples of a node's stream, in order of time: span_us, grown, rate (null of what is none)."""
    ordered = nodes.select(_POINT).sort(_POINT)
    spans = ordered.with_columns(
        (pl.col("at_us") - pl.col("at_us").shift(1)).over(_STREAM).alias("span_us"),
        (pl.col("offset") - pl.col("offset").shift(1)).over(_STREAM).alias("grown"),
    )
    good = (pl.col("span_us") > 0) & (pl.col("grown") >= 0)
    return spans.filter(good).with_columns(rate=pl.col("grown") / (pl.col("span_us") / 1e6))


def points_to_rates(points: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, list[list[Any]]]]:
    """The kind `rate` of values(), and edges(), of points: node, replid, at_us, offset."""
    rates = _spans(points).with_columns(peer=pl.lit(None, pl.String))
    return _counted(rates, "rate", pl.col("rate")), _edges(points)


def edges(samples: pl.DataFrame) -> dict[str, list[list[Any]]]:
    """By node, per stream: [replid, first at_us, its offset, last at_us, its offset, us of all spans, bytes grown in
    them]."""
    return _edges(samples.select("event", *_POINT).filter(_OF_NODE))


def _edges(nodes: pl.DataFrame) -> dict[str, list[list[Any]]]:
    point = pl.struct("at_us", "offset").sort_by("at_us", "offset")
    found = nodes.group_by(_STREAM).agg(point.first().alias("first"), point.last().alias("last"))
    spans = _spans(nodes).group_by(_STREAM).agg(pl.col("span_us").sum(), pl.col("grown").sum())
    edges: dict[str, list[list[Any]]] = {}
    for row in found.join(spans, on=_STREAM, how="left", nulls_equal=True).sort(_STREAM).iter_rows(named=True):
        grown = (row["span_us"] or 0, row["grown"] or 0)
        edge = [row["replid"], *row["first"].values(), *row["last"].values(), *grown]
        edges.setdefault(row["node"], []).append(edge)
    return edges


def drawn(samples: pl.DataFrame, spans: int = SPANS) -> pl.DataFrame:
    """The largest values of each span of time, `width` us wide, that of all rows of its node.

    A width is a power of two and spans begin at its multiples: so those of parts lie within those of the whole.
    """
    bounds = samples.group_by("node").agg(pl.col("at_us").min().alias("first"), pl.col("at_us").max().alias("last"))
    wide = {node: width(first, last, spans) for node, first, last in bounds.iter_rows()}
    if len(set(wide.values())) <= 1:
        return _drawn(samples, pl.lit(max(wide.values(), default=1), pl.Int64))
    return _drawn(samples, pl.col("node").replace_strict(wide, return_dtype=pl.Int64))


def widened(found: pl.DataFrame, wide: int) -> pl.DataFrame:
    """Spans of several parts as spans of `wide` us, a width not below theirs."""
    return _largest(found, pl.lit(wide, pl.Int64))


def _drawn(samples: pl.DataFrame, wide: pl.Expr) -> pl.DataFrame:
    lags = (pl.when(_IN_STEP).then(name).alias(name) for name in ("lag_bytes", "lag_s"))
    return _largest(samples.with_columns(*lags, peer=pl.when(~_OF_NODE).then("peer")), wide)


def _largest(rows: pl.DataFrame, wide: pl.Expr) -> pl.DataFrame:
    begin = pl.col("at_us") // wide * wide
    return rows.group_by("node", "peer", begin.alias("at_us")).agg(*(pl.col(name).max() for name in DRAWN))


def width(first_us: int, last_us: int, spans: int = SPANS) -> int:
    """The least power of two (us) of which at most `spans` multiples hold all times from the first to the last."""
    wide = 1
    while last_us // wide - first_us // wide >= spans:
        wide *= 2
    return wide
