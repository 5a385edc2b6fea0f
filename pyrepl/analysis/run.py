"""Runs one analysis, from logs to a report: decides who reads the logs and who answers the questions.

Spark's start and end are in spark.py, an analysis that goes on as the logs grow is in follow.py; what is computed is in
pyrepl.metrics.run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.files import library_of_charts, write_all
from pyrepl.analysis.progress import Progress, tasks_of
from pyrepl.analysis.spark import answers_by_spark, by_spark, master_of, reading, spark_for

if TYPE_CHECKING:
    from pyrepl.analysis.readers import Readers
    from pyrepl.metrics.answers import Answering
    from pyrepl.metrics.ingest import News, Reading
    from pyrepl.metrics.report.model import Report
    from pyrepl.metrics.run import Steps, Wanted

MANIFEST: Final = "manifest.json"


class Analysed(NamedTuple):
    """The result of an analysis. `charts` is the library that draws the charts; None if it was not wanted."""

    report: Report
    charts: str | None


def run(asked: Asked, tables: Path, progress: Progress, *, draws: bool) -> Analysed:
    """Read what is new into the tables, answer, and write the files of the folder if there is one.

    `draws`: charts are wanted for something else than that folder. Raises CannotRun, ConfigError, OSError.
    """
    from pyrepl.metrics.run import Steps, Wanted, answer

    wanted = Wanted(asked.logs, tables, asked.since_us, asked.until_us, asked.zone)
    with ThreadPoolExecutor(2) as aside, reading(asked, progress) as readers:
        # The charts' library takes seconds to put together; Spark does not need this process meanwhile.
        library = aside.submit(library_of_charts) if asked.out is not None or draws else None
        steps = Steps(progress.step, time.monotonic)
        with _read(asked, wanted, aside, readers, steps, progress) as answering:
            report, results = answer(answering, wanted, steps, time.time_ns() // 1000)
            if asked.out is not None:
                steps.begin("write")
                write_all(report, results, asked.out, library)
                steps.end()
            progress.ask(None)
    return Analysed(report, None if library is None else library.result())


@contextlib.contextmanager
def _read(
    asked: Asked, wanted: Wanted, aside: ThreadPoolExecutor, readers: Readers | None, steps: Steps, progress: Progress
) -> Iterator[Answering]:
    """Read all that is new, and give whoever answers the questions: this process when there is little to read, else
    Spark, which starts while the logs are read."""
    from pyrepl.analysis.answers import here, is_little
    from pyrepl.analysis.readers import processes

    found = found_news(wanted) if readers is not None and (wanted.tables / MANIFEST).exists() else None
    if readers is not None and found is not None and is_little(found):
        steps.begin("read")
        read_logs(readers, wanted, found)
        yield here(processes(master_of(asked, os.environ)))
        return
    read = aside.submit(read_logs, readers, wanted, found) if readers is not None else None
    with spark_for(asked, steps, "start Spark" if read is None else "start Spark, read") as spark:
        progress.ask(partial(tasks_of, spark))
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
    """Read what is new into the tables. Imports nothing of Spark's, which starts at the same time in another thread."""
    from pyrepl.metrics.ingest import take_in

    take_in(reading, found or found_news(wanted), wanted.tables, wanted.zone)
