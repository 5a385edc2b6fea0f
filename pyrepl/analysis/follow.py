"""An analysis that goes on as the logs grow: the stream around the job, until a signal ends it; what a batch writes.

What a batch does is pyrepl.metrics.follow, Spark is spark.py.

A signal is noted and asked for, never raised: an exception in the middle of a word to Java would garble all that comes
after it. A batch that is under way is then dropped: nothing that it read counts before the manifest is replaced, and
what it answers is written again by the next start.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.failures import SPARK_IS_GONE, CannotRun, in_our_words
from pyrepl.analysis.files import library_of_charts, replace, write_all
from pyrepl.analysis.progress import Progress
from pyrepl.analysis.spark import SIGNALS, answers_by_spark, by_spark, reading, spark_for

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
_LOOK_S: Final = 0.5
_GRACE_S: Final = 1.0
"""Who ends a service may end Java with it, a moment before the signal comes to us."""


class Batch(NamedTuple):
    """What a batch came to: all results as they are now, files that had news, and when what is final ended (Unix us;
    None where nothing is)."""

    report: Report
    files: int
    final_us: int | None


def follow(
    asked: Asked, tables: Path, progress: Progress, begun: Callable[[], None], told: Callable[[Batch], None]
) -> None:
    """Until SIGINT or SIGTERM, which is a good end, or until a batch fails.

    `begun` is called once the stream is about to run, `told` behind each batch that had news, in a thread of Spark's.
    Raises CannotRun, ConfigError or OSError for what ended it.
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
    """Spark, and what is to be done in each batch."""
    from pyrepl.metrics.follow import Follower
    from pyrepl.metrics.run import Steps, Wanted, answer

    wanted = Wanted(asked.logs, tables, asked.since_us, asked.until_us, asked.zone)
    with ThreadPoolExecutor(1) as aside, reading(asked, progress) as readers:
        library = aside.submit(library_of_charts)
        with spark_for(asked, Steps(progress.step, time.monotonic)) as spark:

            def answered(read: Read) -> None:
                steps = Steps(progress.step, time.monotonic)
                report, results = answer(answers_by_spark(spark), wanted, steps, time.time_ns() // 1000)
                write_all(report, results, _out(asked), library)
                told(batch_of(report, read, asked))

            yield spark, Follower(readers or by_spark(spark), wanted, answered)


def _run(spark: SparkSession, follower: Follower, asked: Asked, signals: SimpleQueue[int]) -> None:
    """Batch by batch; returns when asked to end. Raises what ended the stream else."""
    from pyrepl.metrics import follow as job

    checkpoint = _out(asked) / CHECKPOINT
    try:
        query = job.follow(spark, follower, checkpoint, asked.every_s)
    except Exception as error:
        raise _of_spark(error, checkpoint) from None
    if _was_asked_to_end(query, signals):
        with contextlib.suppress(Exception):
            query.stop()
        return
    if follower.error is not None:
        raise follower.error
    ended = query.exception()
    if ended is None:
        raise CannotRun("Spark ended the stream and does not say why: start again")
    raise _of_spark(ended, checkpoint)


def _of_spark(error: Exception, checkpoint: Path) -> Exception:
    """What ended the stream, and none of our batches: but for a Java that is gone, its checkpoint."""
    told = in_our_words(error)
    if not told or told == SPARK_IS_GONE:
        return error
    return CannotRun(f"{told}\nIts own notes in {checkpoint} may be damaged: {REMOVE_IT}")


def _was_asked_to_end(query: StreamingQuery, signals: SimpleQueue[int]) -> bool:
    """Waits. False: the stream has ended without."""
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
    """The signals that came. A SimpleQueue, as its put may interrupt its get in the same thread."""
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
    """What a batch came to; the watermark also goes into a file for programs, which is written last."""
    from pyrepl.metrics.follow import watermark

    final_us = watermark(report.rows("nodes"), round(asked.late_s * 1_000_000))
    about = {"made_at_us": report.made_at_us, "final_before_us": final_us}
    replace(_out(asked) / STATE, (json.dumps(about) + "\n").encode())
    return Batch(report, read.files, final_us)


def _out(asked: Asked) -> Path:
    """Whoever asks sees to it that there is one."""
    assert asked.out is not None
    return asked.out
