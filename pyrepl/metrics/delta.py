"""The result tables as tables of Delta Lake, a folder each, for whoever wants their history or reads nothing else.

    delta/syncs/_delta_log/00000000000000000000.json
    delta/syncs/day=2026-11-21/part-00000-....parquet

They are made of the Parquet files of a run (parquet.py), with the same columns, comments and days. A table takes the
place of the one before in one commit, which names what it was made of: where nothing has changed there is none. Its
schema is that of this version each time; older versions of the table keep theirs. Tables are replaced one by one, so
for a moment two of them may be of different runs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from pyrepl.errors import ConfigError
from pyrepl.metrics import parquet
from pyrepl.metrics.column import Table
from pyrepl.metrics.report.as_json import TABLES

MADE_OF: Final = "pyrepl.made_of"
"""What a commit says of its files: a digest of the names of those that it was made of, which are named by content."""
KEPT: Final = {
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.logRetentionDuration": "interval 7 days",
}
"""So long files stay that a later commit has replaced, and commits are told of."""
_LOOKED_AT: Final = 10
"""Commits: the sweep of old files is one too."""


def write(results: Path, folder: Path) -> None:
    """Make tables below `folder` what those below `results`, a version of results, are. Raises ConfigError, OSError."""
    for table in TABLES:
        place = folder / table.name
        try:
            _write(table, results / table.name, place)
        except DeltaError as error:
            # Behind the first line comes a trace of the library's.
            why = str(error).partition("\n")[0]
            raise ConfigError(
                f"{place} is no table that can be written to ({why}): remove the folder, and it is made anew"
            ) from None


def _write(table: Table, source: Path, place: Path) -> None:
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*.parquet"))
    made_of = hashlib.sha256("\n".join(names).encode()).hexdigest()
    if made_of == _made_of(place):
        return
    write_deltalake(
        place,
        _rows(table, source),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=[parquet.DAY] if table.days else None,
        name=table.name,
        description=table.grain,
        configuration=KEPT,
        commit_properties=CommitProperties(custom_metadata={MADE_OF: made_of}),
    )
    DeltaTable(place).vacuum(dry_run=False)


def _made_of(place: Path) -> str:
    """What the table there says that it was made of; empty where there is none."""
    if not DeltaTable.is_deltatable(str(place)):
        return ""
    told = DeltaTable(place).history(_LOOKED_AT)
    return next((str(commit[MADE_OF]) for commit in told if MADE_OF in commit), "")


def _rows(table: Table, source: Path) -> Any:
    """All of it, a batch at a time."""
    shape = parquet.schema(table)
    days = None
    if table.days:
        day = pa.field(parquet.DAY, pa.string(), metadata={"comment": parquet.comment(table.column(parquet.DAY))})
        shape = shape.append(day)
        days = ds.partitioning(pa.schema([day]), flavor="hive")
    batches = ds.dataset(source, schema=shape, format="parquet", partitioning=days).to_batches()
    return pa.RecordBatchReader.from_batches(shape, (batch.cast(shape) for batch in batches))
