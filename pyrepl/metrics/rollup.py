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
from pyrepl.metrics.samples import drawn, edges, values
from pyrepl.metrics.tables import EVENTS, SAMPLES

JSON: Final = "json"
TEXT: Final = "text"
NAMES: Final = ("halves", "children", "values", "drawn")
"""The tables that are kept as files."""
CHILD_KEY: Final = ("node", "form", "run", "snapshot")
_OF_CHILDREN: Final = ("snapshot_started", "snapshot_ended", "child_memory")

_OF_MARKS: Final = (
    "node", "at_us", "event", "backlog_size_bytes", "form", "detail", "version", "port", "pid", "run", "replid",
    "replid2",
)  # fmt: skip
"""Columns that marks are made of."""

Mark = dict[str, Any]
"""Plain values under the names of _mark(): it travels and is kept as JSON."""


class Rollup(NamedTuple):
    """Two of the tables of NAMES, and the marks."""

    tables: dict[str, pl.DataFrame]
    marks: list[Mark]


def rollup(table: Table, rows: pl.DataFrame) -> Rollup:
    """Of events or samples, in the shape of their canonical table; of text logs' events there are marks alone."""
    if table is not EVENTS:
        return of_samples(rows)
    in_json = pl.col("form") == JSON
    found = of_events(rows.filter(in_json))
    return Rollup(found.tables, [*found.marks, *_marks(rows.filter(~in_json), EVENTS.name, TEXT)])


def of_events(events: pl.DataFrame) -> Rollup:
    """Of events that name their syncs: an event log's, or a text log's told."""
    halves = ends(events)
    marks = _marks(events, EVENTS.name, JSON)
    for mark in marks:
        own = halves.filter(pl.col("node") == mark["node"])
        mark["masters"] = int((own["end"] == "master").sum())
        mark["labels"] = _words(own.filter(pl.col("end") == "replica")["peer"].fill_null(""))
    return Rollup({"halves": halves, "children": children(events)}, marks)


def of_samples(samples: pl.DataFrame) -> Rollup:
    """Of samples, each of them once."""
    marks = _marks(samples, SAMPLES.name, JSON)
    for mark in marks:
        mark["edges"] = edges(samples if len(marks) == 1 else samples.filter(pl.col("node") == mark["node"]))
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


def _marks(rows: pl.DataFrame, table: str, form: str) -> list[Mark]:
    """One per node. `form` is text for events whose story is yet to be told."""
    if rows.is_empty():
        return []
    own = rows.select(name for name in _OF_MARKS if name in rows.columns)
    parts = [own] if own["node"].n_unique() == 1 else own.partition_by("node", maintain_order=True)
    return [_mark(part, table, form) for part in parts]


def _mark(rows: pl.DataFrame, table: str, form: str) -> Mark:
    """Of one node's rows: lasting facts with the time at which they were told."""
    first, last = rows["at_us"].min(), rows["at_us"].max()
    mark: Mark = {
        "table": table, "form": form, "node": rows["node"][0], "first_us": first, "last_us": last, "count": len(rows)
    }  # fmt: skip
    size = _latest(rows, pl.col("backlog_size_bytes"))
    mark["backlog_size"] = size
    if table == SAMPLES.name:
        return mark | {"sampled": bool((rows["event"] == "sample").any())}
    started = rows.filter(pl.col("event") == "node_started")
    is_json = pl.col("form") == JSON
    kind = pl.when(is_json).then(pl.lit("pyrepl")).otherwise("detail")
    ran = rows.filter(is_json | (pl.col("event") == "node_started"))
    own = started.filter(pl.col("pid").is_not_null() & (is_json | (pl.col("detail") == "pyrepl")))
    return mark | {
        "kind": _latest(started, kind),
        "version": _latest(started, pl.col("version")),
        "port": rows["port"].max(),
        "runs": _words(ran["run"]),
        "replids": sorted({*_words(rows["replid"]), *_words(rows["replid2"])}),
        "starts": [list(row) for row in own.select("pid", "at_us", "run").unique().sort("at_us", "run").iter_rows()],
    }


def _latest(rows: pl.DataFrame, value: pl.Expr) -> list[Any] | None:
    """[when it was last told, what]; the largest of those told at one time."""
    told = rows.select("at_us", value.alias("value")).filter(pl.col("value").is_not_null())
    last = told.filter(pl.col("at_us") == pl.col("at_us").max())
    return list(last.sort("value").row(-1)) if len(last) else None


def _words(column: pl.Series) -> list[str]:
    return [str(word) for word in column.drop_nulls().unique().sort()]


def merged_marks(marks: Iterable[Mark]) -> dict[str, Mark]:
    """Node -> what all its marks come to, without the edges. `starts` is how many runs there were."""
    nodes: dict[str, Mark] = {}
    for mark in marks:
        node = nodes.setdefault(mark["node"], {"node": mark["node"], "sampled": False, "runs": set(), "replids": set()})
        for name, best in (("first_us", min), ("last_us", max), ("port", max)):
            told = [one[name] for one in (node, mark) if one.get(name) is not None]
            node[name] = best(told) if told else None
        for name in ("backlog_size", "kind", "version"):
            node[name] = max(filter(None, (node.get(name), mark.get(name))), default=None)
        node["count"] = node.get("count", 0) + mark["count"]
        node["sampled"] |= mark.get("sampled", False)
        node["runs"] |= set(mark.get("runs", ()))
        node["replids"] |= set(mark.get("replids", ()))
    return nodes
