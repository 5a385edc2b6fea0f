"""The whole analysis: what has been read goes in, every result table comes out. The metrics' front door.

    with session() as spark:
        ingest(reading.by_tasks(spark), ["logs/"], Path("out/tables"))
        found = analyse(spark, Path("out/tables"))
        spark.sql("select cause, count from full_causes").show()
        found.few["advice"]().to_pylist()

Spark's tasks answer for the nodes, those together that belong together (asking.py, shares.py, groups.py, answers.py),
from the rollups of their parts (parts.py), and write the answers down (keep.py); what goes over all of them is SQL over
these answers (fleet_sql.py). What each column means stands in results.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics import fleet_sql, manifest, near
from pyrepl.metrics.answers import ANSWERED, DRAWN
from pyrepl.metrics.arrow import schema
from pyrepl.metrics.asking import answered, few, newest, of_lines
from pyrepl.metrics.groups import groups
from pyrepl.metrics.handing import handed
from pyrepl.metrics.manifest import Entry, Manifest
from pyrepl.metrics.parts import Bounds, Piece, Sources, pieces, sources, told_elsewhere
from pyrepl.metrics.results import SERIES, TOTALS
from pyrepl.metrics.samples import SPANS, width
from pyrepl.metrics.shares import Group, shares, weight
from pyrepl.metrics.shown import MOST_ROWS
from pyrepl.metrics.spans import Spread, spread
from pyrepl.metrics.stored import stored
from pyrepl.metrics.tables import FILES, UNPARSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Analysis(NamedTuple):
    """How many rows result tables have, as far as that is known. Tables of `few` rows are read by a call, which
    gives a table of Arrow's, of tables of happenings as many of the newest as are shown, and of too many lines of
    samples those that are; all others are views of the session. What these name is worked out when it is asked for."""

    sizes: Mapping[str, int]
    few: Mapping[str, Callable[[], Any]]


def analyse(
    spark: SparkSession,
    tables: Path,
    since_us: int | None = None,
    until_us: int | None = None,
    spans: int = SPANS,
    most: int = MOST_ROWS,
) -> Analysis:
    """Every table of as_json.TABLES: those with at most `most` rows, and so many of the newest happenings, to be read
    from the answers' files, all others as views.

    `since_us` and `until_us` bound the begin of what is told (Unix us, the first inclusive, the last not); the series
    has at most `spans` points a line. Raises ConfigError when `tables` holds what this version did not write.
    """
    known = manifest.load(tables)
    bounds = (since_us, until_us)
    counts = answered(spark, wanted(spark, tables, known, bounds), tables, most)
    files = pa.Table.from_pylist(known.file_rows(), schema(FILES))
    told = {name: counts.counted[name] for name in ("nodes", "connect_failures", "dumps")}
    told |= {f"{name}_lines": pc.sum(files[name]).as_py() or 0 for name in ("unparsed", "unknown")}
    made = {name: spark.sql(statement) for name, statement in fleet_sql.STATEMENTS.items()}
    made[TOTALS.name] = spark.sql(fleet_sql.totals(told))
    wide = width(counts.first_us or 0, counts.last_us or 0, spans)
    drawn = spread(spark, tables, bounds, wide) if counts.counted[DRAWN] else Spread(0, ())
    if len(files) > most:
        made[FILES.name] = handed(spark, [files])
    unparsed = [tables / part for part in known.parts(UNPARSED.name)]
    if unparsed:
        made[UNPARSED.name] = stored(spark, unparsed, schema(UNPARSED))
    for name, frame in made.items():
        frame.createOrReplaceTempView(name)
    sizes = {table.name: counts.counted[table.name] for table in ANSWERED}
    empty = [name for name, reads in fleet_sql.EMPTY_WITHOUT.items() if not any(counts.counted[one] for one in reads)]
    sizes |= dict.fromkeys(empty, 0) | {FILES.name: len(files), SERIES.name: drawn.rows}
    sizes |= {} if unparsed else {UNPARSED.name: 0}
    read = [table for table in ANSWERED if 0 < sizes[table.name] <= most or table.name in counts.since_us]
    found = {
        table.name: partial(newest, tables, bounds, table, counts.since_us[table.name], most)
        if table.name in counts.since_us
        else partial(few, tables, bounds, table)
        for table in read
    }
    if drawn.rows > most:
        found[SERIES.name] = partial(of_lines, tables, bounds, drawn.lines)
    elif drawn.rows:
        found[SERIES.name] = partial(few, tables, bounds, SERIES)
    return Analysis(sizes, found if len(files) > most else {**found, FILES.name: lambda: files})


def wanted(spark: SparkSession, tables: Path, known: Manifest, bounds: Bounds) -> list[Sources]:
    """What is to be answered for: the sources of each share of the nodes; of no nodes at all there are answers too,
    empty ones."""
    every = pieces(known)
    elsewhere = told_elsewhere(every)
    of_node: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in every:
        of_node[piece.node].append(piece)
    found = shares(groups(spark, tables, every), {node: weight(own) for node, own in of_node.items()})
    if bounds == (None, None):
        near.save(tables, _near(known, found))
    return [
        sources([piece for group in share for node in group for piece in of_node[node]], bounds, elsewhere, share)
        for share in found
    ] or [sources([], bounds, frozenset())]


def _near(known: Manifest, found: Sequence[Sequence[Group]]) -> dict[str, int]:
    """By the files' ids, in which share their nodes are; of a file of several nodes, the first."""
    number_of = {node: number for number, share in enumerate(found) for group in share for node in group}
    nodes = {file_id: _first_node(entry) for file_id, entry in known.entries.items()}
    return {file_id: number_of[node] for file_id, node in nodes.items() if node in number_of}


def _first_node(entry: Entry) -> str | None:
    return next((mark["node"] for told in entry.all_told() for mark in told["marks"]), None)
