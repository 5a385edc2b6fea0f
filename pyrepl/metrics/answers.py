"""All that is told of the nodes of some groups (groups.py): a task of Spark's, which is not seen here.

What each master costs, what other settings would do for it and what to do about it is told here too, as all of a
master's replicas are in its group. What needs all nodes there are is fleet_sql.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl

from pyrepl.metrics import rates
from pyrepl.metrics.advice import advice
from pyrepl.metrics.attempts import attempts
from pyrepl.metrics.base import Base, Frames
from pyrepl.metrics.column import Table
from pyrepl.metrics.dumps import is_portless, without_dumps
from pyrepl.metrics.gather import gather
from pyrepl.metrics.keep import base_kept, is_kept, keep_answer, keep_base, keep_telling, key, telling_kept
from pyrepl.metrics.newest import NEWEST, steps
from pyrepl.metrics.parts import Loaded, Sources, load
from pyrepl.metrics.places import place
from pyrepl.metrics.results import (
    ADVICE,
    AVAILABILITY,
    BACKLOG_WHAT_IF,
    BUFFER_WHAT_IF,
    COSTS,
    CUTS,
    DELAY_WHAT_IF,
    FORKS,
    LOOPS,
    NODES,
    RETRIES,
    SKEW,
    STORMS,
    SYNCS,
    WRITE_RATE,
)
from pyrepl.metrics.rollup import Mark, merged_marks, of_events, of_samples
from pyrepl.metrics.rows import Rows
from pyrepl.metrics.samples import points_to_rates
from pyrepl.metrics.schemas import conform, literal, schema
from pyrepl.metrics.series import named
from pyrepl.metrics.storms import storms
from pyrepl.metrics.syncs import cuts, loops, retries, syncs
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.metrics.telling import Telling
from pyrepl.metrics.what_if import what_if
from pyrepl.metrics.what_if_sql import READS, STATEMENTS

ANSWERED: Final[tuple[Table, ...]] = (
    SYNCS, CUTS, LOOPS, RETRIES, AVAILABILITY, WRITE_RATE, FORKS, SKEW, NODES, BACKLOG_WHAT_IF, STORMS,
    COSTS, BUFFER_WHAT_IF, DELAY_WHAT_IF, ADVICE,
)  # fmt: skip
"""The result tables of which each share of the nodes has its rows."""
DRAWN: Final = "drawn"
COUNTS: Final = "counts"
STEPS: Final = "steps_"
"""Before the name of a table of NEWEST: its steps."""


def kept_or_made(tables: Path, wanted: Sources) -> str:
    """See to it that these answers are kept: those of a run before, or else answers(). Their key. Raises OSError."""
    folder, named = place(tables, wanted.bounds), key(wanted)
    if not is_kept(folder, named, (*(table.name for table in ANSWERED), DRAWN)):
        if wanted.bounds == (None, None):
            found, more = answers(tables, wanted, base_kept(tables, wanted), telling_kept(tables, wanted))
            _keep(tables, wanted, more)
        else:
            found, _ = answers(tables, wanted)
        keep_answer(folder, named, found)
    return named


def _keep(tables: Path, wanted: Sources, more: Loaded) -> None:
    """What the next run goes on with."""
    if more.base is not None:
        keep_base(tables, wanted, more.base)
    if more.telling is not None:
        keep_telling(tables, wanted, more.telling)


def answers(
    tables: Path, wanted: Sources, base: Base | None = None, telling: Telling | None = None
) -> tuple[Frames, Loaded]:
    """By table of ANSWERED; besides `drawn` (series.named()) and `counts`, one row: attempts that ended before a
    verdict, dumps, when the first and the last sample were taken, and the steps of NEWEST (newest.py).

    `base` and `telling` are what a run before had merged and told; what the next is to go on with comes back, as far as
    it is worth keeping.
    """
    loaded = load(tables, wanted, base, telling)
    halves, children, values, drawn = (_table(loaded, name) for name in ("halves", "children", "values", "drawn"))
    nodes = merged_marks(loaded.marks)
    halves, dumped = without_dumps(halves)
    tried, clocks = attempts(halves, nodes, wanted.groups)
    drawn = named(drawn.filter(~is_portless("peer")), _named_halves(tables, wanted) if wanted.named else halves, tried)
    # They are large, and all that is wanted of them is merged by now.
    del halves
    loaded.tables = {}
    counted, edges = _rates(tables, wanted, values, loaded.marks)
    done = syncs(tried, children)
    sampled = [mark for mark in loaded.marks if mark["table"] == SAMPLES.name]
    failures = tried.select((pl.col("verdict").is_null() & pl.col("failure").is_not_null()).sum()).item()
    found = {
        "syncs": done,
        "cuts": cuts(tried),
        "loops": loops(done, tried),
        "retries": retries(tried),
        "availability": rates.availability(tried, counted),
        "write_rate": rates.write_rate(counted, edges, nodes, tried),
        "forks": rates.forks(children),
        "skew": literal(SKEW, [astuple(clock) for clock in clocks]),
        "nodes": rates.shown_nodes(nodes),
        "backlog_what_if": what_if(done),
        "storms": storms(done, tried),
        DRAWN: drawn,
        COUNTS: pl.DataFrame(
            {
                "connect_failures": [failures],
                "dumps": [dumped],
                "first_us": [min((mark["first_us"] for mark in sampled), default=None)],
                "last_us": [max((mark["last_us"] for mark in sampled), default=None)],
            },
            dict.fromkeys(("connect_failures", "dumps", "first_us", "last_us"), pl.Int64),
        ),
    }
    found[COUNTS] = found[COUNTS].with_columns(
        pl.Series(STEPS + name, [steps(found[name]["at_us"])], pl.List(pl.Int64)) for name in NEWEST
    )
    pieces = advice(gather(found, rates.backlog_sizes(nodes), rates.backlogs_freed(nodes)))
    found |= _of_masters(found) | {ADVICE.name: literal(ADVICE, [list(map(one.get, ADVICE.names)) for one in pieces])}
    return found, loaded


def _of_masters(found: Frames) -> Frames:
    """The tables that are SQL over others."""
    context = pl.SQLContext({name: found[name] for name in READS}, eager=True)
    shapes = {table.name: table for table in ANSWERED}
    return {name: conform(context.execute(statement), shapes[name]) for name, statement in STATEMENTS.items()}


def _table(loaded: Loaded, name: str) -> pl.DataFrame:
    """One of the rollups, empty if there is none."""
    found = loaded.tables.get(name)
    return empty(name) if found is None else found


@cache
def empty(name: str) -> pl.DataFrame:
    """A rollup of nothing."""
    table, made = (EVENTS, of_events) if name in ("halves", "children") else (SAMPLES, of_samples)
    return made(pl.DataFrame(schema=schema(table))).tables[name]


def _named_halves(tables: Path, wanted: Sources) -> pl.DataFrame:
    """All there are, whatever is asked for: what a replica is called does not depend on the time."""
    paths = [tables / path for path in wanted.named]
    return pl.read_parquet(
        paths, columns=["sync", "node", "end", "peer", "asked_us"], hive_partitioning=False, glob=False
    )


def _rates(
    tables: Path, wanted: Sources, counted: pl.DataFrame, marks: list[Mark]
) -> tuple[pl.DataFrame, Mapping[str, list[rates.Edge]]]:
    """Values and edges; those of a node whose parts overlap in time, by lines that came late, made anew."""
    edges: dict[str, list[rates.Edge]] = {}
    stored = Rows(tables)
    for mark in marks:
        edges.setdefault(mark["node"], []).extend(tuple(edge) for edge in mark.get("edges", ()))
    for node, own in edges.items():
        streams = {edge[0] for edge in own}
        if not all(rates.in_order(edge for edge in own if edge[0] == stream) for stream in streams):
            rows = stored.of(SAMPLES, node, wanted.samples[node]).filter(pl.col("event") == "sample")
            found, whole = points_to_rates(_bounded(rows, wanted))
            edges[node] = [tuple(edge) for edge in whole.get(node, ())]
            others = ~((pl.col("node") == node) & (pl.col("what") == "rate"))
            counted = pl.concat([counted.filter(others), found])
    return counted, edges


def _bounded(rows: pl.DataFrame, wanted: Sources) -> pl.DataFrame:
    since, until = wanted.bounds
    rows = rows if since is None else rows.filter(pl.col("at_us") >= since)
    return rows if until is None else rows.filter(pl.col("at_us") < until)
