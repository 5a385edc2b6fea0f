"""Follows logs as they grow, by Spark's Structured Streaming: every batch reads what is new into the same tables.

    source.py   what is new is read, range by range; where nothing is, there is no batch
    plans.py    what was read is counted in
    `answer`    makes all results anew; run.answer in the command

Exactly once: the manifest is replaced as a whole, and names with one stroke the parts that count and how far each file
was read. Spark's checkpoint has the plan of each batch, which counts for one manifest alone.

    killed                                what the next start does
    before Spark has noted the plan       plans anew
    while lines are read                  runs the batch again: reads the ranges of its plan again
    between the manifest and the commit   runs the batch again: its plan is void, the answers are written again
    after the commit                      goes on

The watermark tells what is final and drops nothing: a line that comes later than that corrects what it concerns. It is
not Spark's, which is that of the batch before, and is lost with the checkpoint; state is what the parts came to, which
stands in the tables (base.py, keep.py), and not in Spark's state stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyrepl.metrics import plans
from pyrepl.metrics.handing import struct
from pyrepl.metrics.ingest import Read
from pyrepl.metrics.reading import TOLD, told_of
from pyrepl.metrics.source import Logs, options
from pyrepl.metrics.wanted import Wanted


def watermark(nodes: Iterable[Mapping[str, Any]], late_us: int) -> int | None:
    """What ended before this (Unix us) is final if no line comes later than `late_us`; None while nothing is known.

    `nodes` are rows of the table NODES. As in Spark the newest of all lines counts, so a node that has fallen silent
    does not hold it back.
    """
    newest = [int(row["last_us"]) for row in nodes if row["last_us"] is not None]
    return max(newest) - late_us if newest else None


class Follower:
    """What becomes of a batch: it is counted in, and `answer` is called with what was read, after the first batch and
    whenever there was any."""

    def __init__(self, wanted: Wanted, answer: Callable[[Read], None]) -> None:
        self.wanted = wanted
        self._answer = answer
        self._has_answered = False
        self.error: Exception | None = None

    def take(self, told: DataFrame, _number: int) -> None:
        """One batch, rows as reading.TOLD; for foreachBatch. The error that ends it is kept, as Spark tells only its
        text."""
        try:
            read = plans.take_in(self.wanted.tables, list(told_of(told)))
            if read.lines or not self._has_answered:
                self._answer(read)
                self._has_answered = True
        except Exception as error:
            self.error = error
            raise


def follow(
    spark: SparkSession, follower: Follower, checkpoint: Path, start: str, every_s: float = 10, *, once: bool = False
) -> StreamingQuery:
    """Start it: it looks every `every_s` seconds, or as soon as a batch is done; with `once` a single time.

    `checkpoint` is Spark's folder. It may be removed: which lines were read stands in the manifest. `start` is a name
    for this start, another one each time.
    """
    spark.dataSource.register(Logs)
    about = options(follower.wanted, start, spark.sparkContext.defaultParallelism)
    told = spark.readStream.format(Logs.name()).schema(struct(TOLD)).options(**about).load()
    writer = told.writeStream.foreachBatch(follower.take).option("checkpointLocation", str(checkpoint.absolute()))
    timed = (
        writer.trigger(availableNow=True)
        if once
        else writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds")
    )
    return timed.start()
