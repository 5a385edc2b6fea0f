"""The table SERIES: what was drawn for each share of the nodes, in spans of one width, a file for each share.

    found = spread(spark, Path("out/tables"), (None, None), width(first_us, last_us))

How wide the spans are follows from all samples there are, so this comes behind the answers of the shares. All of a line
(a node, or a replica of it) is in one share: tasks put its spans together, beside the other answers, and tell which of
their lines have the largest values. Where there are too many rows for a report, those lines are shown, of all shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl
import pyarrow as pa

from pyrepl.metrics.answers import DRAWN
from pyrepl.metrics.handing import handed, struct
from pyrepl.metrics.parts import Bounds
from pyrepl.metrics.places import of_answer, place
from pyrepl.metrics.results import SERIES
from pyrepl.metrics.samples import DRAWN as VALUES
from pyrepl.metrics.schemas import conform, schema
from pyrepl.metrics.stored import MOST_FILES
from pyrepl.temporary import SHARED, replacing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_LINES: Final = 12
"""Of each column of PEAKS so many lines are shown where there are too many."""
PEAKS: Final = ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes")
_LINE: Final = ("node", "replica")
_SHARES: Final = pa.schema([pa.field("named", pa.string(), nullable=False)])
_TOLD: Final = pa.schema([
    ("rows", pa.int64()),
    ("lines", pa.list_(pa.struct([(name, pa.string()) for name in _LINE] + [(name, pa.float64()) for name in PEAKS]))),
])  # fmt: skip
Line = tuple[str, str | None]
"""A node, and its replica where the line is not the node's own."""


class Spread(NamedTuple):
    """How many rows the table has, and the lines with the largest values."""

    rows: int
    lines: tuple[Line, ...]


def spread(spark: SparkSession, tables: Path, bounds: Bounds, wide: int) -> Spread:
    """Make the table of the answers to a question with these bounds, `wide` us a span. Raises what Spark raises."""
    folder = place(tables, bounds)
    named = sorted(path.stem for path in (folder / DRAWN).glob("*.parquet"))
    if not named:
        return Spread(0, ())
    count = max(spark.sparkContext.defaultParallelism, len(named) // MOST_FILES + 1)
    shares = [pa.Table.from_pydict({"named": own}, _SHARES) for one in range(count) if (own := named[one::count])]
    task = partial(spread_batches, folder=str(folder), wide=wide)
    told = handed(spark, shares).mapInArrow(task, struct(_TOLD)).toArrow().to_pylist()
    shape = {name: schema(SERIES)[name] for name in (*_LINE, *PEAKS)}
    lines = pl.DataFrame([line for one in told for line in one["lines"]], shape)
    return Spread(sum(one["rows"] for one in told), tuple(_largest(lines).select(_LINE).iter_rows()))


def spread_batches(batches: Iterable[Any], folder: str, wide: int) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of shares in, what became of each out."""
    for batch in batches:
        for named in batch["named"].to_pylist():
            rows = spans(pl.read_parquet(of_answer(Path(folder), named, DRAWN), glob=False), wide)
            path = of_answer(Path(folder), named, SERIES.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, SHARED) as file:
                rows.write_parquet(file, compression="zstd", compression_level=1)
            lines = _largest(rows.group_by(_LINE).agg(pl.col(name).max() for name in PEAKS))
            yield pa.RecordBatch.from_pylist([{"rows": len(rows), "lines": lines.to_dicts()}], _TOLD)


def spans(drawn: pl.DataFrame, wide: int) -> pl.DataFrame:
    """Rows of SERIES, `wide` us a span: a width not below theirs."""
    replica, begin = pl.coalesce("called", "peer").alias("replica"), pl.col("at_us") // wide * wide
    return conform(drawn.group_by("node", replica, begin).agg(pl.col(name).max() for name in VALUES), SERIES)


def _largest(lines: pl.DataFrame) -> pl.DataFrame:
    """The MOST_LINES of them with the largest values of each column of PEAKS; of equals the first by name."""
    found = [lines.sort(name, *_LINE, descending=[True, False, False], nulls_last=[True, False, False]).head(MOST_LINES)
             for name in PEAKS]  # fmt: skip
    return pl.concat(found).unique(_LINE, maintain_order=True)


def those(rows: pl.LazyFrame, lines: Sequence[Line]) -> pl.LazyFrame:
    """The rows of SERIES that are of these lines."""
    wanted = pl.LazyFrame(lines, dict.fromkeys(_LINE, pl.String), orient="row")
    return rows.join(wanted, on=_LINE, how="semi", nulls_equal=True)
