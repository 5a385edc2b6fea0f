"""Runs an analysis that goes on as the logs grow: batch after batch in a stream of Spark's, until a signal ends it.

What a batch computes is in pyrepl.metrics.follow, Spark's start in spark.py.

A signal is noted and looked for, never raised as an exception: one in the middle of a message to Java would garble all
messages after it. The batch under way is then dropped. That loses nothing: what a batch read does not count before
the manifest is replaced, and its results are written again by the next start.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.charts import library_of_charts
from pyrepl.analysis.failures import SPARK_IS_GONE, CannotRun, in_our_words, is_late, is_of_python
from pyrepl.analysis.files import replace, write_all, write_delta
from pyrepl.analysis.memory import giving_back
from pyrepl.analysis.progress import Progress
from pyrepl.analysis.spark import SIGNALS, spark_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from pyrepl.metrics.follow import Follower
    from pyrepl.metrics.ingest import Read
    from pyrepl.metrics.report.model import Report

STATE: Final = "follow.json"
CHECKPOINT: Final = "checkpoint"
REMOVE_IT: Final = (
    "remove that folder and start again.\nNothing is lost and nothing counts twice: what was read stands in tables/"
)
_STARTS: Final = 10
"""Of the stream, Spark waits 10 s for its source each time."""
_LOOK_S: Final = 0.5
_GRACE_S: Final = 1.0
"""So long a signal is waited for after Java has gone: whoever ends a service may end Java a moment before us."""


class Batch(NamedTuple):
    """The outcome of a batch: all results as they are now, how many files had new lines, and the time before which
    results are final (Unix us; None if none are)."""

    report: Report
    files: int
    final_us: int | None


def follow(
    asked: Asked, tables: Path, progress: Progress, begun: Callable[[], None], told: Callable[[Batch], None]
) -> None:
    """Follow the logs until SIGINT or SIGTERM, after which it returns, or until a batch fails.

    `begun` is called when the stream is about to run; `told` is called after each batch that found new lines, in a
    thread of Spark's. Raises CannotRun, ConfigError or OSError when a batch or Spark fails.
    """
    with contextlib.ExitStack() as last:
        try:
            for number in SIGNALS:
                last.enter_context(_handled(number, signal.default_int_handler))
            with _follower(asked, tables, progress, told) as (spark, follower):
                begun()
                # Holds until Spark is gone.
                signals = last.enter_context(_noted())
                _run(spark, follower, asked, signals)
        except KeyboardInterrupt:
            pass


@contextlib.contextmanager
def _follower(
    asked: Asked, tables: Path, progress: Progress, told: Callable[[Batch], None]
) -> Iterator[tuple[SparkSession, Follower]]:
    """Start Spark; the session, and the follower that says what is done in each batch."""
    from pyrepl.metrics.follow import Follower
    from pyrepl.metrics.manifest import in_force
    from pyrepl.metrics.run import answer
    from pyrepl.metrics.standing import made_of
    from pyrepl.metrics.wanted import Steps, Wanted

    wanted = Wanted(asked.logs, tables, asked.since_us, asked.until_us, asked.zone)
    with ThreadPoolExecutor(1) as aside:
        library = aside.submit(library_of_charts, os.environ)
        with spark_for(asked, Steps(progress.step, time.monotonic), tables) as spark:

            def answered(read: Read) -> None:
                steps = Steps(giving_back(progress.step), time.monotonic)
                report = answer(spark, wanted, steps, time.time_ns() // 1000)
                write_all(report, spark, _out(asked), made_of(in_force(tables), wanted), wanted.answers, library)
                if asked.delta:
                    write_delta(_out(asked))
                told(batch_of(report, read, asked))

            yield spark, Follower(wanted, answered)


def _run(spark: SparkSession, follower: Follower, asked: Asked, signals: SimpleQueue[int]) -> None:
    """Run batch after batch. Returns when a signal asked for the end; raises the error that ended the stream
    otherwise. A stream whose source did not start in time, on a machine that is busy, is started again."""
    checkpoint = _out(asked) / CHECKPOINT
    for left in reversed(range(_STARTS)):
        ended = _streamed(spark, follower, asked, checkpoint, signals)
        if ended is None:
            return
        if follower.error is not None:
            raise follower.error
        if not left or not is_late(ended):
            raise _of_spark(ended, checkpoint) from None


def _streamed(
    spark: SparkSession, follower: Follower, asked: Asked, checkpoint: Path, signals: SimpleQueue[int]
) -> Exception | None:
    """Run the stream until it ends; what has ended it, None if a signal asked for that."""
    from pyrepl.metrics import follow as job

    try:
        query = job.follow(spark, follower, checkpoint, str(time.time_ns()), asked.every_s)
    except Exception as error:
        return error
    if _was_asked_to_end(query, signals):
        with contextlib.suppress(Exception):
            query.stop()
        return None
    ended: Exception | None = query.exception()
    return ended or CannotRun("Spark ended the stream and does not say why: start again")


def _of_spark(error: Exception, checkpoint: Path) -> Exception:
    """The error for a stream that ended though no batch of ours failed: unless Java is gone, or the source failed, its
    checkpoint is blamed."""
    told = in_our_words(error)
    if not told or told == SPARK_IS_GONE or is_of_python(error) or is_late(error):
        return error
    return CannotRun(f"{told}\nIts own notes in {checkpoint} may be damaged: {REMOVE_IT}")


def _was_asked_to_end(query: StreamingQuery, signals: SimpleQueue[int]) -> bool:
    """Wait for the end of the stream: True if a signal asked for it, False if the stream ended by itself."""
    while not _comes(signals, _LOOK_S):
        try:
            goes_on = query.isActive
        except Exception:
            goes_on = False  # Java is gone, and whatever is raised says just that
        if not goes_on:
            return _comes(signals, _GRACE_S)
    return True


def _comes(signals: SimpleQueue[int], within_s: float) -> bool:
    try:
        signals.get(timeout=within_s)
    except Empty:
        return False
    return True


@contextlib.contextmanager
def _noted() -> Iterator[SimpleQueue[int]]:
    """Note signals instead of raising them; the queue of those that came.

    It is a SimpleQueue, as a handler's put may interrupt a get in the same thread.
    """
    signals: SimpleQueue[int] = SimpleQueue()

    def note(number: int, _frame: FrameType | None) -> None:
        signals.put(number)

    with contextlib.ExitStack() as stack:
        for number in SIGNALS:
            stack.enter_context(_handled(number, note))
        yield signals


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def batch_of(report: Report, read: Read, asked: Asked) -> Batch:
    """The outcome of a batch. The watermark is also written into a file for programs, last of all files of the
    batch."""
    from pyrepl.metrics.follow import watermark

    final_us = watermark(report.rows("nodes"), round(asked.late_s * 1_000_000))
    about = {"made_at_us": report.made_at_us, "final_before_us": final_us}
    replace(_out(asked) / STATE, [json.dumps(about), "\n"])
    return Batch(report, read.files, final_us)


def _out(asked: Asked) -> Path:
    """The folder of --out, which the command line demands together with --follow."""
    assert asked.out is not None
    return asked.out
