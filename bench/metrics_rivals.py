"""`python -m bench.metrics_rivals duckdb|polars LOGS FILE`: event logs into a Parquet file, and questions asked of it.

For bench.metrics, as a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from bench.metrics_sql import QUESTIONS, TABLES
from pyrepl.metrics.column import Column, Kind
from pyrepl.metrics.tables import EVENTS, SAMPLES

_TYPES: Final = {Kind.TEXT: "VARCHAR", Kind.COUNT: "BIGINT", Kind.NUMBER: "DOUBLE", Kind.FLAG: "BOOLEAN"}
_NOT_LOGGED: Final = ("day", "form", "file")
COLUMNS: Final[dict[str, Column]] = {
    column.name: column for table in (EVENTS, SAMPLES) for column in table.columns if column.name not in _NOT_LOGGED
}
"""What an event log tells, of both tables."""
SAMPLED: Final = ("sample", "replica_sample", "stream_sample")
"""Events that are in the table of samples."""


def duckdb(logs: Path, whole: Path) -> None:
    """All of metrics_sql.py."""
    import duckdb as rival

    base = rival.connect()
    columns = ", ".join(f"'{name}': '{_TYPES[column.kind]}'" for name, column in COLUMNS.items())
    lines = f"read_ndjson('{logs}/*.jsonl', columns = {{{columns}}})"
    base.execute(f"COPY (SELECT *, 'json' AS form FROM {lines}) TO '{whole}' (FORMAT parquet)")
    for name, negation in ((EVENTS.name, "NOT"), (SAMPLES.name, "")):
        base.execute(f"CREATE VIEW {name} AS FROM read_parquet('{whole}') WHERE event {negation} IN {SAMPLED}")
    for query in (*TABLES, *QUESTIONS):
        base.execute(query).fetchall()


def polars(logs: Path, whole: Path) -> None:
    """All of metrics_polars.py."""
    import polars as rival

    from bench.metrics_polars import ask

    types = {Kind.TEXT: rival.String, Kind.COUNT: rival.Int64, Kind.NUMBER: rival.Float64, Kind.FLAG: rival.Boolean}
    shape = {name: types[column.kind] for name, column in COLUMNS.items()}
    lines = rival.scan_ndjson(f"{logs}/*.jsonl", schema=shape)
    lines.with_columns(rival.lit("json").alias("form")).sink_parquet(whole)
    ask(rival.scan_parquet(whole), SAMPLED)


if __name__ == "__main__":
    {"duckdb": duckdb, "polars": polars}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
