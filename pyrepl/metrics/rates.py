"""How well replicas kept up, how fast a node writes, what its forks cost: availability, write_rate, forks, nodes.

Each expression stands in the order of its table in results.py, whose rules it carries out. `counted` are samples'
values (samples.py), `nodes` what rollup.merged_marks() gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import polars as pl

from pyrepl.metrics.percentiles import percentiles
from pyrepl.metrics.results import AVAILABILITY, FORKS, NODES, WRITE_RATE
from pyrepl.metrics.rollup import Mark
from pyrepl.metrics.samples import points_to_rates
from pyrepl.metrics.schemas import conform, day, literal

_PAIR: Final = ("node", "replica")
_LAGS: Final = ("lag_bytes", "lag_s")
_MARKS: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_NONE: Final = (None, None, None)
Edge = tuple[str | None, int, int, int, int, int, int]
"""replid, first at_us, its offset, last at_us, its offset, us of all spans between, bytes grown in them."""


def shown_nodes(nodes: Mapping[str, Mark]) -> pl.DataFrame:
    """The table NODES."""
    rows = [
        (
            name, _told(node["kind"]), _told(node["version"]), node["port"], max(1, len(node["runs"])),
            node["first_us"], node["last_us"], node["count"],
        )
        for name, node in sorted(nodes.items())
    ]  # fmt: skip
    return literal(NODES, rows)


def _told(fact: list[Any] | None) -> Any:
    """A fact without when it was told."""
    return fact[1] if fact else None


def backlog_sizes(nodes: Mapping[str, Mark]) -> dict[str, int]:
    """Node -> capacity of its backlog, bytes, the last one told."""
    return {name: _told(node["backlog_size"]) for name, node in nodes.items() if node["backlog_size"]}


def backlogs_freed(nodes: Mapping[str, Mark]) -> dict[str, list[int]]:
    """Node -> when it freed its backlog, as no replica came for repl-backlog-ttl, Unix us, the first one first."""
    return {name: sorted(node["freed"]) for name, node in nodes.items() if node["freed"]}


def availability(attempts: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    """The table AVAILABILITY."""
    rows = _spans(attempts).join(_lags(counted, attempts), on=_PAIR, how="left", nulls_equal=True)
    # A sample is taken now and then; what a cut or a sync names is more often the largest.
    largest = pl.max_horizontal("output_buffer_max", "output_bytes")
    return conform(rows.with_columns(largest.alias("output_buffer_max")), AVAILABILITY)


def _spans(attempts: pl.DataFrame) -> pl.DataFrame:
    """How long each pair was observed and online."""
    c = pl.col
    online = c("ok") & c("online_us").is_not_null()
    until = pl.coalesce("lost_us", c("at_us").shift(-1).over(_PAIR), "over_us")
    rows = attempts.with_columns(
        pl.when(online).then("online_us").alias("up"), pl.when(online).then(until).alias("down")
    ).with_columns(((c("down") - c("up")) / 1e6).clip(0.0).alias("up_s"))
    ups = rows.filter(c("up").is_not_null()).sort("up", "at_us", "sync")
    outage = (c("up").shift(-1) - c("down")) / 1e6
    between = ups.group_by(_PAIR, maintain_order=True).agg(
        outage.max().clip(0.0).alias("closed_s"), c("down").last().alias("last_down")
    )
    established = c("verdict").is_not_null() | (c("lost_phase") == "stream").fill_null(False)
    totals = rows.group_by(_PAIR).agg(
        c("over_us").max(),
        c("parted").last(),
        c("at_us").min().alias("first_us"),
        c("up_s").sum().alias("online_s"),
        (established & c("lost_us").is_not_null()).sum().alias("cuts"),
        # The last attempt may be under way: the one before it tells why.
        c("lost_cause").drop_nulls().last().alias("last_cause"),
        c("lost_detail").filter(c("lost_cause").is_not_null()).last().alias("last_detail"),
        pl.max_horizontal("m.lost_output_bytes", "m.output_peak").max().alias("output_bytes"),
    )
    totals = totals.join(between, on=_PAIR, how="left", nulls_equal=True)
    since = (c("over_us") - pl.coalesce("last_down", "first_us")) / 1e6
    totals = totals.with_columns(
        pl.when(since > 0).then(since).alias("last_outage_s"),
        ((c("over_us") - c("first_us")) / 1e6).alias("observed_s"),
    )
    share = (c("online_s") / c("observed_s")).clip(None, 1.0)
    is_open = c("last_outage_s").is_not_null() & ~c("parted")
    return totals.with_columns(
        pl.max_horizontal("closed_s", "last_outage_s", pl.lit(0.0)).alias("longest_outage_s"),
        pl.when(is_open).then("last_outage_s").alias("open_outage_s"),
        pl.when(is_open).then("last_cause").alias("open_cause"),
        pl.when(is_open).then("last_detail").alias("open_detail"),
        pl.when(c("observed_s") > 0).then(share).alias("availability"),
    )


def _lags(counted: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Per pair the percentiles of the lag that its master saw."""
    named = counted.join(called(attempts), on=["node", "peer"], how="left")
    named = named.with_columns(pl.coalesce("called", "peer").alias("replica"))
    lag = {name: named.filter(pl.col("what") == name) for name in (*_LAGS, "output_max")}
    found = lag["lag_bytes"].group_by(_PAIR).agg(pl.col("times").sum().alias("samples"))
    for name in _LAGS:
        marks = {f"{name}_{mark}": share for mark, share in _MARKS.items()}
        found = found.join(percentiles(lag[name], _PAIR, marks), on=_PAIR, how="left", nulls_equal=True)
    largest = lag["output_max"].group_by(_PAIR).agg(pl.col("value").max().alias("output_buffer_max"))
    return found.join(largest, on=_PAIR, how="left", nulls_equal=True)


def called(attempts: pl.DataFrame) -> pl.DataFrame:
    """Masters' labels of replicas, and the nodes that these are by the attempts: node, peer, called."""
    of_master = attempts.filter(pl.col("m.node").is_not_null())
    labels = of_master.group_by(pl.col("m.node").alias("node"), pl.col("m.peer").alias("peer"))
    return labels.agg(pl.col("replica").max().alias("called"))


def in_order(edges: Iterable[Edge]) -> bool:
    """Do these parts of one stream follow one another in time, so that there are no spans but those within them and
    from one to the next?"""
    bounds = [edge[1:5] for edge in edges]
    if any(value is None for bound in bounds for value in bound):
        return False
    return all(one[2:] <= other[:2] for one, other in pairwise(sorted(bounds)))


def write_rate(
    counted: pl.DataFrame, edges: Mapping[str, list[Edge]], nodes: Mapping[str, Mark], attempts: pl.DataFrame
) -> pl.DataFrame:
    """The table WRITE_RATE: by samples where there are any, else by the offsets that syncs name.

    `edges` are those of each sampled node, of each stream in order (in_order).
    """
    full = pl.col("snapshot_offset").is_not_null() & (pl.col("verdict") == "full")
    sampled = {name for name, node in nodes.items() if node["sampled"]}
    told = attempts.lazy().filter(full & ~pl.col("node").is_in(sampled)).select(
        "node",
        pl.coalesce("r.replid", "m.replid").alias("replid"),
        pl.coalesce("m.decided_us", "r.decided_us").alias("at_us"),
        pl.col("snapshot_offset").alias("offset"),
    ).collect()  # fmt: skip
    of_syncs, edges_of_syncs = points_to_rates(told)
    of_samples = counted.filter(pl.col("node").is_in(sampled))
    grown = {node: _grown(edges.get(node, [])) for node in sorted(sampled)}
    grown |= {node: _grown(own) for node, own in edges_of_syncs.items()}
    between = [(node, speed, 1) for node, own in grown.items() for speed in own.speeds]
    shape = {"node": pl.String, "value": pl.Float64, "times": pl.Int64}
    rates = [rows.filter(pl.col("what") == "rate").select(*shape) for rows in (of_samples, of_syncs)]
    speeds = _by_node(pl.concat([*rates, pl.DataFrame(between, shape, orient="row")]))
    writes = _by_node(of_samples.filter(pl.col("what") == "writes"))
    sizes = backlog_sizes(nodes)
    rows = []
    for node, own in grown.items():
        if own.observed_us:
            source = "samples" if node in sampled else "syncs"
            mean, (p50, p99, most) = own.bytes / (own.observed_us / 1e6), speeds.get(node, _NONE)
            size = sizes.get(node)
            covers = [size / rate if size is not None and rate else None for rate in (mean, p99)]
            told_of = (node, source, own.observed_us / 1e6, own.bytes, mean, p50, p99, most)
            rows.append((*told_of, *writes.get(node, _NONE)[:2], size, *covers))
    return literal(WRITE_RATE, rows)


def _by_node(counted: pl.DataFrame) -> dict[str, tuple[float | None, ...]]:
    """The marks p50, p99 and the largest value."""
    found = percentiles(counted, ["node"], {name: _MARKS[name] for name in ("p50", "p99", "max")})
    return {row[0]: row[1:] for row in found.iter_rows()}


class _Grown(NamedTuple):
    """How long the streams of a node were observed, how many bytes were written meanwhile, and how many a second in the
    spans between parts."""

    observed_us: int
    bytes: int
    speeds: list[float]


def _grown(edges: Iterable[Any]) -> _Grown:
    streams: dict[str | None, list[Edge]] = {}
    for edge in edges:
        streams.setdefault(edge[0], []).append(edge)
    between = [
        (other[1] - one[3], other[2] - one[4])
        for stream in streams.values()
        for one, other in pairwise(sorted(stream, key=lambda edge: edge[1:5]))
        if other[1] > one[3] and other[2] >= one[4]
    ]
    spans = [(edge[5], edge[6]) for stream in streams.values() for edge in stream] + between
    speeds = [grown / (span / 1e6) for span, grown in between]
    return _Grown(sum(span for span, _ in spans), sum(grown for _, grown in spans), speeds)


def forks(children: pl.DataFrame) -> pl.DataFrame:
    """The table FORKS."""
    of_sync = pl.col("purpose") == "replicas"
    rows = children.filter(pl.col("at_us").is_not_null()).with_columns(
        day(pl.col("at_us")).alias("day"),
        pl.col("child_pid").alias("pid"),
        pl.when(of_sync).then(pl.lit("sync")).otherwise(pl.lit("save")).alias("why"),
        pl.coalesce(pl.col("snapshot_ms") / 1000, (pl.col("end_us") - pl.col("at_us")) / 1e6).alias("seconds"),
        pl.col("written_bytes").alias("bytes"),
    )
    return conform(rows.sort("node", "at_us"), FORKS)
