"""Runs one analysis, from logs to a report: Spark reads what is new, answers, and the files are written.

Spark's start and end are in spark.py, an analysis that goes on as the logs grow is in follow.py; what is computed is in
pyrepl.metrics.run.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.files import library_of_charts, write_all
from pyrepl.analysis.progress import Progress, tasks_of
from pyrepl.analysis.spark import answers_by_spark, by_spark, spark_for

if TYPE_CHECKING:
    from pyrepl.metrics.ingest import News
    from pyrepl.metrics.report.model import Report
    from pyrepl.metrics.run import Wanted


class Analysed(NamedTuple):
    """The result of an analysis. `charts` is the library that draws the charts; None if it was not wanted."""

    report: Report
    charts: str | None


def run(asked: Asked, tables: Path, progress: Progress, *, draws: bool) -> Analysed:
    """Read what is new into the tables, answer, and write the files of the folder if there is one.

    `draws`: charts are wanted for something else than that folder. Raises CannotRun, ConfigError, OSError.
    """
    from pyrepl.metrics.ingest import take_in
    from pyrepl.metrics.run import Steps, Wanted, answer

    wanted = Wanted(asked.logs, tables, asked.since_us, asked.until_us, asked.zone)
    with ThreadPoolExecutor(2) as aside:
        # The charts' library takes seconds to put together; Spark does not need this process meanwhile.
        library = aside.submit(library_of_charts) if asked.out is not None or draws else None
        found = aside.submit(found_news, wanted)
        steps = Steps(progress.step, time.monotonic)
        with spark_for(asked, steps) as spark:
            progress.ask(partial(tasks_of, spark))
            steps.begin("read")
            take_in(by_spark(spark), found.result(), wanted.tables, wanted.zone)
            report, results = answer(answers_by_spark(spark), wanted, steps, time.time_ns() // 1000)
            if asked.out is not None:
                steps.begin("write")
                write_all(report, results, asked.out, library)
                steps.end()
            progress.ask(None)
    return Analysed(report, None if library is None else library.result())


def found_news(wanted: Wanted) -> News:
    """What there is to read. Imports nothing of Spark's, which starts at the same time in another thread."""
    from pyrepl.metrics.ingest import news

    return news(wanted.logs, wanted.tables)
