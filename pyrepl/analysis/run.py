"""Runs one analysis, from logs to a report: Spark reads what is new, answers, and the files are written. Where nothing
is new and the results of an earlier run stand, Spark is not started.

Spark's start and end are in spark.py, an analysis that goes on as the logs grow is in follow.py; what is computed is in
pyrepl.metrics.run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.charts import library_of_charts
from pyrepl.analysis.fetch import FETCHED, fetched
from pyrepl.analysis.files import RESULTS, still_stand, write_all, write_delta, write_files
from pyrepl.analysis.memory import giving_back
from pyrepl.analysis.progress import Progress, tasks_of
from pyrepl.analysis.queries import Answer, ask
from pyrepl.analysis.spark import by_spark, spark_for
from pyrepl.metrics.given import is_elsewhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.ingest import News
    from pyrepl.metrics.report.model import Report
    from pyrepl.metrics.wanted import Steps, Wanted


class Analysed(NamedTuple):
    """The result of an analysis. `charts` is the library that draws the charts; None if it was not wanted."""

    report: Report
    charts: str | None


def run(
    asked: Asked, tables: Path, progress: Progress, *, draws: bool, tell: Callable[[Answer], None] | None = None
) -> Analysed:
    """Read what is new into the tables, answer, and write the files of the folder if there is one. `tell` is called
    with the answer to each statement of asked.sql.

    `draws`: charts are wanted for something else than that folder. Raises CannotRun, ConfigError, OSError.
    """
    from pyrepl.metrics.wanted import Steps, Wanted

    wanted = Wanted(asked.logs, tables, asked.since_us, asked.until_us, asked.zone)
    with ThreadPoolExecutor(2) as aside:
        # The charts' library takes seconds to put together; nobody else needs this process meanwhile.
        library = aside.submit(library_of_charts, os.environ) if asked.out is not None or draws else None
        # Spark has to be asked for what is elsewhere.
        found = None if any(map(is_elsewhere, asked.logs)) else aside.submit(found_news, wanted)
        steps = Steps(giving_back(progress.step), time.monotonic)
        report = None if found is None else _standing(asked, wanted, found, steps, library)
        if report is None:
            report = _by_spark(asked, wanted, found, steps, progress, library, tell)
        elif tell is not None and asked.sql:
            query(asked, progress, tell)
        if asked.out is not None and asked.delta:
            steps.begin("write delta")
            write_delta(asked.out)
            steps.end()
    return Analysed(report, None if library is None else library.result())


def _standing(
    asked: Asked, wanted: Wanted, found: Future[News], steps: Steps, library: Future[str] | None
) -> Report | None:
    """The report of the results that there are, if all that they are made of is as it was, and its files where those
    are not as they were. Without results nothing is waited for: Spark starts while news are looked for."""
    if asked.out is None or not (asked.out / RESULTS).exists():
        return None
    from pyrepl.metrics.ingest import note
    from pyrepl.metrics.standing import made_of, standing

    steps.begin("look for news")
    news = found.result()
    if news.splits:
        return None
    report = standing(asked.out / RESULTS, news.manifest, wanted, steps, time.time_ns() // 1000)
    if report is None:
        return None
    if news.loaded is not None:
        note(news)
    digest = made_of(news.manifest, wanted)
    if not still_stand(asked.out, digest, asked.logs):
        steps.begin("write")
        write_files(report, asked.out, digest, library)
        steps.end()
    return report


def _by_spark(
    asked: Asked,
    wanted: Wanted,
    found: Future[News] | None,
    steps: Steps,
    progress: Progress,
    library: Future[str] | None,
    tell: Callable[[Answer], None] | None,
) -> Report:
    from pyrepl.metrics.ingest import take_in
    from pyrepl.metrics.run import answer
    from pyrepl.metrics.standing import made_of

    with spark_for(asked, steps, wanted.tables) as spark:
        progress.ask(partial(tasks_of, spark))
        if found is None:
            steps.begin("fetch")
        news = _news_of_elsewhere(spark, wanted) if found is None else found.result()
        steps.begin("read")
        take_in(by_spark(spark), news, wanted.tables, wanted.zone)
        # Those of a fleet are large, and not wanted while the report is made.
        news.loaded, news.ranges, news.tails = None, (), ()
        report = answer(spark, wanted, steps, time.time_ns() // 1000)
        if asked.out is not None:
            steps.begin("write")
            write_all(report, spark, asked.out, made_of(news.manifest, wanted), wanted.answers, library)
            steps.end()
        if tell is not None and asked.sql:
            steps.begin("query")
            ask(spark, _written(asked, report, spark, wanted), asked.sql, tell)
        progress.ask(None)
    return report


def _news_of_elsewhere(spark: SparkSession, wanted: Wanted) -> News:
    """What there is to read where logs have to be copied first."""
    logs = fetched(spark, wanted.logs, wanted.tables.parent / FETCHED)
    return found_news(replace(wanted, logs=tuple(logs)))


def _written(asked: Asked, report: Report, spark: SparkSession, wanted: Wanted) -> Path:
    """The result tables as files: those of --out, or such beside the tables, which go with them."""
    if asked.out is not None:
        return asked.out / RESULTS
    from pyrepl.metrics import parquet

    link = wanted.tables.parent / RESULTS
    parquet.write(report, spark, link, answers=wanted.answers)
    return link


def query(asked: Asked, progress: Progress, tell: Callable[[Answer], None]) -> None:
    """Ask the results of an earlier run, as they are; `tell` is called with each answer. Raises CannotRun."""
    from pyrepl.metrics.wanted import Steps

    assert asked.out is not None
    steps = Steps(progress.step, time.monotonic)
    with spark_for(asked, steps) as spark:
        steps.begin("query")
        progress.ask(partial(tasks_of, spark))
        ask(spark, asked.out / RESULTS, asked.sql, tell)
        progress.ask(None)


def found_news(wanted: Wanted) -> News:
    """What there is to read. Imports nothing of Spark's, which starts at the same time in another thread."""
    from pyrepl.metrics.ingest import news

    return news(wanted.logs, wanted.tables)
