"""Follows logs as they grow, by Spark's Structured Streaming: every batch reads what is new into the same tables.

The stream is a clock, Spark's source of one row per batch; what there is to read is found by the plan of a batch run
(plan.py), as Spark's own file sources see new files and not that files grow. A batch reads by ingest and answers by
whatever `answer` is, which is run.answer in the command: no transformation stands here.

Exactly once: the manifest is replaced as a whole, and names with one stroke the parts that count and how far each file
was read. Spark's checkpoint keeps the number of the batch alone.

    killed                                what the next start does
    while lines are read                  sweeps the parts that no manifest names, reads the lines again
    between the manifest and the commit   runs the batch again: nothing is new, the answers are written again
    after the commit                      goes on

The watermark tells what is final and drops nothing: a line that comes later than that corrects what it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyrepl.metrics.ingest import Read, Reading, ingest
from pyrepl.metrics.manifest import MERGE_BYTES
from pyrepl.metrics.run import Wanted

CLOCK: Final = "rate-micro-batch"


def watermark(nodes: Iterable[Mapping[str, Any]], late_us: int) -> int | None:
    """What ended before this (Unix us) is final if no line comes later than `late_us`; None while nothing is known.

    `nodes` are rows of the table NODES. As in Spark the newest of all lines counts, so a node that has fallen silent
    does not hold it back.
    """
    newest = [int(row["last_us"]) for row in nodes if row["last_us"] is not None]
    return max(newest) - late_us if newest else None


class Follower:
    """What a batch does: `reading` reads, `answer` is called with what was read, after the first batch and whenever
    there was any."""

    def __init__(self, reading: Reading, wanted: Wanted, answer: Callable[[Read], None]) -> None:
        self._reading = reading
        self._wanted = wanted
        self._answer = answer
        self._has_answered = False
        self.error: Exception | None = None

    def take(self, _clock: DataFrame, _number: int) -> None:
        """One batch; for foreachBatch. The error that ends it is kept, as Spark tells only its text."""
        try:
            wanted = self._wanted
            # A log may be away for a moment, while it is rotated or its folder is mounted anew.
            read = ingest(self._reading, wanted.logs, wanted.tables, wanted.zone, MERGE_BYTES, absent_ok=True)
            if read.lines or not self._has_answered:
                self._answer(read)
                self._has_answered = True
        except Exception as error:
            self.error = error
            raise


def follow(
    spark: SparkSession, follower: Follower, checkpoint: Path, every_s: float = 10, *, once: bool = False
) -> StreamingQuery:
    """Start it: a batch every `every_s` seconds, or as soon as the one before is done; with `once` a single batch.

    `checkpoint` is Spark's folder. It may be removed: which lines were read stands in the manifest.
    """
    clock = spark.readStream.format(CLOCK).option("rowsPerBatch", 1).load()
    writer = clock.writeStream.foreachBatch(follower.take).option("checkpointLocation", str(checkpoint.absolute()))
    timed = (
        writer.trigger(availableNow=True)
        if once
        else writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds")
    )
    return timed.start()
