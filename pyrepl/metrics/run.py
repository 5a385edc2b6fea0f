"""From what has been read to a report: asks all questions, collects what is shown.

    with session() as spark:
        ingest(reading.by_tasks(spark), wanted.logs, wanted.tables)
        report = answer(spark, wanted, steps, made_at_us)

Each step is told before it begins, so that somebody who watches knows what takes so long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl import VERSION
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.shown import shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.wanted import Steps, Wanted


def answer(spark: SparkSession, wanted: Wanted, steps: Steps, made_at_us: int) -> Report:
    """The report from what has been read so far. Tables of which it has not all rows are then views of the session, for
    who writes them down."""
    steps.begin("analyse")
    found = analyse(spark, wanted.tables, wanted.since_us, wanted.until_us)
    steps.begin("collect")
    tables, cut = shown(spark, found.sizes, few=found.few)
    steps.end()
    return Report(tables, wanted.logs, made_at_us, VERSION, steps.seconds, cut)
