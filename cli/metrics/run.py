"""`pyrepl metrics` at work: who reads and who answers, progress, what is missing said plainly.

Its options are in command.py, `--follow` is follow.py, Spark spark.py, what goes out results.py; the job is
pyrepl.metrics.run, what it shows pyrepl.metrics.report.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .results import library_of_charts, print_report, write_all
from .spark import (
    DISK_FULL,
    CannotRun,
    Options,
    answers_by_spark,
    by_spark,
    master_of,
    reading,
    spark_for,
    why_not,
)
from .watch import Watch

if TYPE_CHECKING:
    from pyrepl.metrics.answers import Answering
    from pyrepl.metrics.ingest import News, Reading
    from pyrepl.metrics.run import Steps, Wanted

    from .readers import Readers

MANIFEST: Final = "manifest.json"
_AGO: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def show(options: Options) -> int:
    """Analyse the logs and print or write what was asked for; the exit code."""
    complaint = why_not() or why_not_there(options.logs)
    if complaint:
        return _fail(complaint)
    # What py4j, between Python and Java, would say of each error before we do: a traceback, on standard error.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        # First of all, as what has to be imported takes seconds.
        with Watch(quiet=options.quiet) as watch:
            watch.step("prepare")
            _work(options, watch)
    except BrokenPipeError:
        # Whoever read along (`| head`) has gone; Python must not stumble over that again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except CannotRun as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(DISK_FULL if error.errno == errno.ENOSPC else in_plain_words(error))
    except KeyboardInterrupt:
        sys.stderr.write("pyrepl metrics: interrupted; what was read before stays, the next run goes on from there\n")
        return 130
    return 0


def _work(options: Options, watch: Watch) -> None:
    """Raises CannotRun, OSError."""
    from pyrepl.errors import ConfigError

    from .follow import follow
    from .readers import ReadError

    try:
        with _store(options) as tables:
            (follow if options.follow else _run)(options, tables, watch)
    except (ConfigError, ReadError) as error:
        raise CannotRun(str(error)) from None


def in_plain_words(error: OSError) -> str:
    """Without `[Errno 13]`: the file, and what the system has against it."""
    why = error.strerror or str(error)
    return f"{error.filename}: {why}" if error.filename else why


def _fail(why: str) -> int:
    sys.stderr.write(f"pyrepl metrics: {why}\n")
    return 2


def why_not_there(logs: tuple[str, ...]) -> str:
    """Which of the logs are not there, or nothing. Asked before Spark starts, which takes its time."""
    missing = [path for path in logs if not Path(path).exists()]
    return f"{', '.join(missing)}: no such file or folder" if missing else ""


def moment(text: str, now_us: int) -> int:
    """Unix us of `2026-11-21`, `2026-11-21T10:56:24`, with or without a zone (else UTC), or `2h`, `7d` ago.

    Raises ValueError for anything else.
    """
    ago = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if ago is not None:
        return now_us - int(ago[1]) * _AGO[ago[2]] * 1_000_000
    at = datetime.fromisoformat(text.strip())
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1_000_000)


@contextlib.contextmanager
def _store(options: Options) -> Iterator[Path]:
    """Where the canonical tables go: below --out, where the next run goes on with them, or nowhere for long."""
    if options.out is not None:
        with _alone(options.out):
            yield options.out / "tables"
        return
    rough = tempfile.mkdtemp(prefix="pyrepl-metrics-")
    try:
        yield Path(rough) / "tables"
    finally:
        shutil.rmtree(rough, ignore_errors=True)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Two that write the same tables would remove each other's parts. The lock ends with the process.

    Raises CannotRun, also where the folder cannot be made or written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = (out / ".lock").open("a")
    except OSError as error:
        raise CannotRun(
            f"cannot write to the folder {out}: {error.strerror or error}. Give --out a folder that this user may make"
            " and write to"
        ) from None
    with held as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRun(f"another pyrepl metrics writes to {out}: end it first, or give another --out") from None
        yield


def _run(options: Options, tables: Path, watch: Watch) -> None:
    from pyrepl.metrics.run import Steps, Wanted, answer

    wanted = Wanted(options.logs, tables, options.since_us, options.until_us, options.zone)
    with ThreadPoolExecutor(2) as aside, reading(options, watch) as readers:
        # The charts' library takes seconds to put together; Spark does not need this process meanwhile.
        library = aside.submit(library_of_charts) if options.out is not None or options.format == "html" else None
        steps = Steps(watch.step, time.monotonic)
        with _read(options, wanted, aside, readers, steps, watch) as answering:
            report, results = answer(answering, wanted, steps, time.time_ns() // 1000)
            if options.out is not None:
                steps.begin("write")
                write_all(report, results, options.out, library)
                steps.end()
            watch.follow(None)
    watch.stop()
    print_report(report, options, library)


@contextlib.contextmanager
def _read(
    options: Options, wanted: Wanted, aside: ThreadPoolExecutor, readers: Readers | None, steps: Steps, watch: Watch
) -> Iterator[Answering]:
    """All that is new has been read; who answers. Spark starts meanwhile, unless there is too little for it."""
    from .answers import here, is_little
    from .readers import processes

    found = found_news(wanted) if readers is not None and (wanted.tables / MANIFEST).exists() else None
    if readers is not None and found is not None and is_little(found):
        steps.begin("read")
        read_logs(readers, wanted, found)
        yield here(processes(master_of(options, os.environ)))
        return
    read = aside.submit(read_logs, readers, wanted, found) if readers is not None else None
    with spark_for(options, steps, "start Spark" if read is None else "start Spark, read") as spark:
        watch.follow(spark)
        steps.begin("read")
        if read is None:
            read_logs(by_spark(spark), wanted)
        else:
            read.result()
        yield answers_by_spark(spark)


def found_news(wanted: Wanted) -> News:
    from pyrepl.metrics.ingest import news

    return news(wanted.logs, wanted.tables)


def read_logs(reading: Reading, wanted: Wanted, found: News | None = None) -> None:
    """What is new, into the tables. Imports nothing of Spark's, which starts meanwhile."""
    from pyrepl.metrics.ingest import take_in

    take_in(reading, found or found_news(wanted), wanted.tables, wanted.zone)
