"""`pyrepl metrics --follow`: the stream around the job, until a signal ends it; what each batch tells and writes.

What a batch does is pyrepl.metrics.follow, Spark is spark.py.

A signal is noted and asked for, never raised: an exception in the middle of a word to Java would garble all that comes
after it. A batch that is under way is then dropped: nothing that it read counts before the manifest is replaced, and
what it answers is written again by the next start.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Final

from .results import library_of_charts, replace, write_all
from .spark import (
    SIGNALS,
    SPARK_IS_GONE,
    CannotRun,
    Options,
    answers_by_spark,
    by_spark,
    in_our_words,
    reading,
    spark_for,
)
from .watch import Watch

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


def follow(options: Options, tables: Path, watch: Watch) -> None:
    """Until SIGINT or SIGTERM, which is a good end, or until a batch fails.

    Raises CannotRun, ConfigError or OSError for what ended it.
    """
    with contextlib.ExitStack() as last:
        try:
            for number in SIGNALS:
                last.enter_context(_handled(number, signal.default_int_handler))
            with _follower(options, tables, watch) as (spark, follower):
                watch.stop()
                if not options.quiet:
                    sys.stderr.write("pyrepl metrics: follows the logs; a line tells of each batch that had news\n")
                # Holds until Spark is gone.
                asked = last.enter_context(_noted())
                _run(spark, follower, options, asked)
        except KeyboardInterrupt:
            pass
    if not options.quiet:
        sys.stderr.write("pyrepl metrics: stopped; the next start with this --out goes on from here\n")


@contextlib.contextmanager
def _follower(options: Options, tables: Path, watch: Watch) -> Iterator[tuple[SparkSession, Follower]]:
    """Spark, and what is to be done in each batch."""
    from pyrepl.metrics.follow import Follower
    from pyrepl.metrics.run import Steps, Wanted, answer

    wanted = Wanted(options.logs, tables, options.since_us, options.until_us, options.zone)
    with ThreadPoolExecutor(1) as aside, reading(options, watch) as readers:
        library = aside.submit(library_of_charts)
        with spark_for(options, Steps(watch.step, time.monotonic)) as spark:

            def answered(read: Read) -> None:
                steps = Steps(watch.step, time.monotonic)
                report, results = answer(answers_by_spark(spark), wanted, steps, time.time_ns() // 1000)
                write_all(report, results, _out(options), library)
                tell_batch(report, read, options)

            yield spark, Follower(readers or by_spark(spark), wanted, answered)


def _run(spark: SparkSession, follower: Follower, options: Options, asked: SimpleQueue[int]) -> None:
    """Batch by batch; returns when asked to end. Raises what ended the stream else."""
    from pyrepl.metrics import follow as job

    checkpoint = _out(options) / CHECKPOINT
    try:
        query = job.follow(spark, follower, checkpoint, options.every_s)
    except Exception as error:
        raise _of_spark(error, checkpoint) from None
    if _was_asked_to_end(query, asked):
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


def _was_asked_to_end(query: StreamingQuery, asked: SimpleQueue[int]) -> bool:
    """Waits. False: the stream has ended without."""
    while not _comes(asked, _LOOK_S):
        try:
            goes_on = query.isActive
        except Exception:
            goes_on = False  # Java is gone, and whatever is raised says just that
        if not goes_on:
            return _comes(asked, _GRACE_S)
    return True


def _comes(asked: SimpleQueue[int], within_s: float) -> bool:
    try:
        asked.get(timeout=within_s)
    except Empty:
        return False
    return True


@contextlib.contextmanager
def _noted() -> Iterator[SimpleQueue[int]]:
    """The signals that came. A SimpleQueue, as its put may interrupt its get in the same thread."""
    asked: SimpleQueue[int] = SimpleQueue()

    def note(number: int, _frame: FrameType | None) -> None:
        asked.put(number)

    with contextlib.ExitStack() as stack:
        for number in SIGNALS:
            stack.enter_context(_handled(number, note))
        yield asked


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def tell_batch(report: Report, read: Read, options: Options) -> None:
    """One line for whoever watches, and the watermark for programs, in a file that is written last."""
    from pyrepl.metrics.follow import watermark

    final_us = watermark(report.rows("nodes"), round(options.late_s * 1_000_000))
    about = {"made_at_us": report.made_at_us, "final_before_us": final_us}
    replace(_out(options) / STATE, (json.dumps(about) + "\n").encode())
    if options.quiet:
        return
    totals = report.rows("totals")[0]
    sys.stdout.write(
        f"{_shown(report.made_at_us)} files with news {read.files}, syncs {totals['syncs']}, "
        f"partial {totals['partial_ok']}, full {totals['full_ok']}, failed {totals['full_failed']}, "
        f"not understood {totals['unparsed_lines']}, final before {_shown(final_us)}\n"
    )
    sys.stdout.flush()


def _shown(at_us: int | None) -> str:
    """Unix us as 2026-11-21T10:56:24Z."""
    return "-" if at_us is None else datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _out(options: Options) -> Path:
    """The command line sees to it that there is one."""
    assert options.out is not None
    return options.out
