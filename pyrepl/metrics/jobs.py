"""The whole analysis: what has been read goes in, every result table comes out. The metrics' front door.

    with session() as spark:
        ingest(reading.by_tasks(spark), ["logs/"], Path("out/tables"))
        analyse(spark, Path("out/tables"))
        spark.sql("select cause, count from full_causes").show()

Spark's tasks answer for the nodes, those together that belong together (asking.py, shares.py, groups.py, answers.py),
from the rollups of their parts (parts.py), and write the answers down (keep.py); what goes over all of them is SQL over
these answers (fleet_sql.py). What each column means stands in results.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pyrepl.metrics import fleet_sql, manifest
from pyrepl.metrics.answers import ANSWERED
from pyrepl.metrics.arrow import schema
from pyrepl.metrics.asking import answered
from pyrepl.metrics.column import types
from pyrepl.metrics.groups import groups
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.parts import Bounds, Piece, Sources, pieces, sources, told_elsewhere
from pyrepl.metrics.results import SERIES, TOTALS
from pyrepl.metrics.samples import SPANS, width
from pyrepl.metrics.shares import shares, weight
from pyrepl.metrics.stored import stored
from pyrepl.metrics.tables import FILES, UNPARSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Sizes = Mapping[str, int]


def analyse(
    spark: SparkSession,
    tables: Path,
    since_us: int | None = None,
    until_us: int | None = None,
    spans: int = SPANS,
) -> Sizes:
    """Make every table of as_json.TABLES a view of the session, of its name; what that names is worked out when it is
    asked for. How many rows tables have, as far as that is known.

    `since_us` and `until_us` bound the begin of what is told (Unix us, the first inclusive, the last not); the series
    has at most `spans` points a line. Raises ConfigError when `tables` holds what this version did not write.
    """
    known = manifest.load(tables)
    counts = answered(spark, wanted(spark, tables, known, (since_us, until_us)), tables)
    rows = known.file_rows()
    told = {name: counts[name] or 0 for name in ("connect_failures", "dumps")}
    told |= {f"{name}_lines": sum(row[name] for row in rows) for name in ("unparsed", "unknown")}
    made = {name: spark.sql(statement) for name, statement in fleet_sql.STATEMENTS.items()}
    made[TOTALS.name] = spark.sql(fleet_sql.totals(told))
    wide = width(counts["first_us"] or 0, counts["last_us"] or 0, spans)
    made[SERIES.name] = spark.sql(fleet_sql.series(wide))
    made[FILES.name] = spark.createDataFrame(pa.Table.from_pylist(rows, schema(FILES)))
    unparsed = [tables / part for part in known.parts(UNPARSED.name)]
    made[UNPARSED.name] = stored(spark, unparsed, types(UNPARSED))
    for name, frame in made.items():
        frame.createOrReplaceTempView(name)
    sizes = {table.name: counts[table.name] or 0 for table in ANSWERED}
    empty = [name for name, reads in fleet_sql.EMPTY_WITHOUT.items() if not any(counts[one] for one in reads)]
    return sizes | dict.fromkeys(empty, 0) | {FILES.name: len(rows)} | ({} if unparsed else {UNPARSED.name: 0})


def wanted(spark: SparkSession, tables: Path, known: Manifest, bounds: Bounds) -> list[Sources]:
    """What is to be answered for: the sources of each share of the nodes; of no nodes at all there are answers too,
    empty ones."""
    every = pieces(known)
    elsewhere = told_elsewhere(every)
    of_node: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in every:
        of_node[piece.node].append(piece)
    return [
        sources([piece for group in share for node in group for piece in of_node[node]], bounds, elsewhere, share)
        for share in shares(groups(spark, tables, every), {node: weight(own) for node, own in of_node.items()})
    ] or [sources([], bounds, frozenset())]
