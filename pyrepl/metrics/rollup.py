"""What a part of the logs comes to, small enough that all questions are answered from it and no line is read twice.

    halves    per sync and end what its events tell (ends.py)                           merged by least and largest
    children  per snapshot child what its events tell                                   merged by least and largest
    values    per node and peer how often a sample had each value (samples.py)          merged by adding up
    drawn     per node, peer and span the largest values (samples.py)                   merged by the largest
    marks     per node a handful of facts: spans, counts, names, bounds of its stream   merged as each field says

Made when a part is written (part.py) and kept beside it; made anew from its rows where only some of them are asked for,
or where lines may be there twice (parts.py). Everything is exact. Events of text logs name no syncs: of them there are
marks alone, to know where they are, until their story is told (story.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import polars as pl

from pyrepl.metrics.column import Table
from pyrepl.metrics.ends import ends
from pyrepl.metrics.kinds import JSON, TEXT
from pyrepl.metrics.samples import drawn, edges, values
from pyrepl.metrics.tables import EVENTS, SAMPLES

ENDS: Final = ("master", "replica")
TTL: Final = "ttl"
"""Why a backlog was freed: no replica for repl-backlog-ttl, the one reason that text logs tell."""
TRACED: Final = 16
"""So many of the times at which an end asked, or was asked, are in the mark of a part."""
TRACES: Final = (
    "node", "at_us", "run", "event", "form", "end", "peer", "replid", "replid2", "asked_replid", "cause", "detail",
    "backlog_size_bytes", "version", "pid", "port",
)  # fmt: skip
"""The columns that marks of text logs' events are made of."""
CHILD_KEY: Final = ("node", "form", "run", "snapshot")
_OF_CHILDREN: Final = ("snapshot_started", "snapshot_ended", "child_memory")

Mark = dict[str, Any]
"""Plain values under the names of _FACTS, and more as each table has: it travels and is kept as JSON."""


class Rollup(NamedTuple):
    """Two of the tables of ROLLUPS (tables.py), or none where there is nothing, and the marks."""

    tables: dict[str, pl.DataFrame]
    marks: list[Mark]


def rollup(table: Table, rows: pl.DataFrame) -> Rollup:
    """Of events or samples, in the shape of their canonical table; of text logs' events there are marks alone."""
    if table is not EVENTS:
        return of_samples(rows)
    in_json = rows["form"] == JSON
    # Of nothing, and to filter, it takes as long as of a small log, of which a fleet has many.
    if in_json.all():
        return of_events(rows)
    found = of_events(rows.filter(in_json)) if in_json.any() else Rollup({}, [])
    return Rollup(found.tables, [*found.marks, *_traces(rows.filter(~in_json) if in_json.any() else rows)])


def of_events(events: pl.DataFrame) -> Rollup:
    """Of events that name their syncs: an event log's, or a text log's told."""
    halves = ends(events)
    marks = _marks(events, EVENTS.name, JSON)
    as_master = pl.col("end") == "master"
    labels = _unique(pl.col("peer").fill_null("").filter(~as_master))
    rows = halves.group_by("node").agg(masters=as_master.sum(), labels=labels)
    told = {row.pop("node"): row for row in rows.iter_rows(named=True)}
    marks = [mark | told.get(mark["node"], {"masters": 0, "labels": []}) for mark in marks]
    return Rollup({"halves": halves, "children": children(events)}, marks)


def _traces(events: pl.DataFrame) -> list[Mark]:
    """Of text logs' events, whose syncs have no names yet. `labels`, `followed` (ids of streams that were asked for)
    and `asks` (by end) tell with whom a node has synced, as far as that is known here (groups.py)."""
    as_replica, asked = pl.col("end") == "replica", pl.col("event").is_in(["psync_asked", "psync_decided"])
    marks = _marks(
        events,
        EVENTS.name,
        TEXT,
        labels=_unique(pl.col("peer").filter(as_replica)),
        followed=_unique(pl.col("asked_replid").filter(as_replica)),
        **{end: _unique(pl.col("at_us").filter(asked & (pl.col("end") == end))).head(TRACED) for end in ENDS},
    )
    return [mark | {"asks": {end: mark.pop(end) for end in ENDS}} for mark in marks]


def of_samples(samples: pl.DataFrame) -> Rollup:
    """Of samples, each of them once."""
    grown = edges(samples)
    marks = [mark | {"edges": grown.get(mark["node"], [])} for mark in _marks(samples, SAMPLES.name, JSON)]
    return Rollup({"values": values(samples), "drawn": drawn(samples)}, marks)


def children(events: pl.DataFrame) -> pl.DataFrame:
    """A row per snapshot child. A text log's is logged under its own process id too, and has a number of its own."""
    of_child = events.filter(pl.col("event").is_in(_OF_CHILDREN) & pl.col("snapshot").is_not_null())
    started, ended = pl.col("event") == "snapshot_started", pl.col("event") == "snapshot_ended"
    run = pl.when(pl.col("form") == JSON).then("run")
    return of_child.group_by("node", "form", run.alias("run"), "snapshot").agg(
        pl.col("at_us").filter(started).min().alias("at_us"),
        pl.col("at_us").filter(ended).min().alias("end_us"),
        pl.col("ok").filter(ended).max().alias("ok"),
        *(pl.col(name).max() for name in _MOST_OF_CHILD),
    )


_MOST_OF_CHILD: Final = (
    "snapshot_ms", "child_pid", "target", "purpose", "fork_us", "written_bytes", "keys", "private_bytes", "replicas"
)  # fmt: skip


def merged_children(found: pl.DataFrame) -> pl.DataFrame:
    """The same of children whose events came in different parts."""
    least = (pl.col(name).min() for name in ("at_us", "end_us"))
    return found.group_by(CHILD_KEY).agg(*least, *(pl.col(name).max() for name in ("ok", *_MOST_OF_CHILD)))


def _marks(rows: pl.DataFrame, table: str, form: str, **more: pl.Expr) -> list[Mark]:
    """One per node: lasting facts with the time at which they were told, and whatever is wanted besides. `form` is text
    for events whose story is yet to be told."""
    if rows.is_empty():
        return []
    facts = {**_FACTS, **({} if table == SAMPLES.name else _OF_EVENTS), **more}
    found = rows.group_by("node", maintain_order=True).agg(**facts)
    return [_mark(row, table, form) for row in found.iter_rows(named=True)]


def _mark(row: Mark, table: str, form: str) -> Mark:
    mark = {"table": table, "form": form, **row, "backlog_size": _plain(row["backlog_size"])}
    if table == SAMPLES.name:
        return mark
    del mark["sampled"]
    starts = sorted(row["starts"], key=lambda start: (start["at_us"], start["run"] is not None, start["run"] or ""))
    return mark | {
        "kind": _plain(row["kind"]),
        "version": _plain(row["version"]),
        "replids": sorted({*row["replids"], *mark.pop("replids2")}),
        "starts": [list(start.values()) for start in starts],
    }


def _plain(fact: Mark | None) -> list[Any] | None:
    """[when it was last told, what]."""
    return list(fact.values()) if fact else None


def _latest(value: pl.Expr) -> pl.Expr:
    """When it was last told, and what; the largest of those told at one time."""
    told = value.is_not_null()
    at_us, value = pl.col("at_us").filter(told), value.filter(told)
    return pl.struct(at_us.alias("at_us"), value.alias("value")).sort_by(at_us, value).last()


def _facts_of_events() -> dict[str, pl.Expr]:
    started = pl.col("event") == "node_started"
    is_json = pl.col("form") == JSON
    kind = pl.when(is_json).then(pl.lit("pyrepl")).otherwise("detail")
    freed = pl.col("event") == "backlog_freed"
    own = started & pl.col("pid").is_not_null() & (is_json | (pl.col("detail") == "pyrepl"))
    return {
        "kind": _latest(pl.when(started).then(kind)),
        "version": _latest(pl.when(started).then("version")),
        "port": pl.col("port").max(),
        "runs": _unique(pl.col("run").filter(is_json | started)),
        "replids": _unique(pl.col("replid")),
        "replids2": _unique(pl.col("replid2")),
        "starts": pl.struct("pid", "at_us", "run").filter(own).unique(),
        "freed": _unique(pl.col("at_us").filter(freed & pl.col("cause").fill_null(TTL).eq(TTL))),
    }


def _unique(values: pl.Expr) -> pl.Expr:
    return values.drop_nulls().unique().sort()


_FACTS: Final = {
    "first_us": pl.col("at_us").min(),
    "last_us": pl.col("at_us").max(),
    "count": pl.len(),
    "backlog_size": _latest(pl.col("backlog_size_bytes")),
    "sampled": (pl.col("event") == "sample").any(),
}
_OF_EVENTS: Final = _facts_of_events()


def joined_marks(marks: Iterable[Mark]) -> list[Mark]:
    """The same of events that name their syncs, one for each node: as far as merged_marks() looks at them."""
    told = ({name: sorted(fact) if isinstance(fact, set) else fact for name, fact in mark.items()}
            for mark in merged_marks(marks).values())  # fmt: skip
    return [{"table": EVENTS.name, "form": JSON, **mark} for mark in told]


def merged_marks(marks: Iterable[Mark]) -> dict[str, Mark]:
    """Node -> what all its marks come to, without the edges. `starts` is how many runs there were."""
    nodes: dict[str, Mark] = {}
    for mark in marks:
        node = nodes.setdefault(
            mark["node"], {"node": mark["node"], "sampled": False, "runs": set(), "replids": set(), "freed": set()}
        )
        for name, best in (("first_us", min), ("last_us", max), ("port", max)):
            told = [one[name] for one in (node, mark) if one.get(name) is not None]
            node[name] = best(told) if told else None
        for name in ("backlog_size", "kind", "version"):
            node[name] = max(filter(None, (node.get(name), mark.get(name))), default=None)
        node["count"] = node.get("count", 0) + mark["count"]
        node["sampled"] |= mark.get("sampled", False)
        node["runs"] |= set(mark.get("runs", ()))
        node["replids"] |= set(mark.get("replids", ()))
        node["freed"] |= set(mark.get("freed", ()))
    return nodes
