"""A Spark session as the metrics want it: quiet, without a web page, its rough files removed with it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

_LOGGING: Final = "log4j2.properties"
_QUIET: Final = """\
status=off
rootLogger.level=off
rootLogger.appenderRef.stderr.ref=stderr
appender.stderr.type=Console
appender.stderr.name=stderr
appender.stderr.target=SYSTEM_ERR
"""
"""Without an appender Spark would think that nothing was configured, and use its own."""
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_QUICK: Final = "-XX:TieredStopAtLevel=1"
"""Java's better compiler takes 15 s of processor time here, which pay only when Spark works for minutes."""


@contextmanager
def session(
    master: str = "local[*]", memory: str = "2g", *, quick: bool = False, java: str = ""
) -> Iterator[SparkSession]:
    """A session on `master`, stopped at the end. `memory` is that of a local driver. An empty `master` is the one that
    spark-submit has told Spark.

    `quick` is for minutes and not for hours: Java compiles quickly and not well. `java` are further options for it.
    Raises what Spark raises when there is no Java.
    """
    rough = tempfile.mkdtemp(prefix="pyrepl-metrics-")
    spark: SparkSession | None = None
    try:
        spark = _build(master, settings(master, memory, rough, quick=quick, java=java), rough)
        spark.sparkContext.setLogLevel("OFF")
        # Spark sees to it that all processors are busy: a task is one of them.
        spark.sparkContext.environment["POLARS_MAX_THREADS"] = "1"
        # It would print a traceback when Java goes away, which others notice and tell.
        counters: Any = spark.sparkContext._accumulatorServer
        counters.handle_error = lambda *_: None
        if master.startswith("local"):
            spark.sparkContext.pythonExec = sys.executable
        yield spark
    finally:
        if spark is not None:
            _stop(spark)
        shutil.rmtree(rough, ignore_errors=True)


def _stop(spark: SparkSession) -> None:
    """Also when Java has gone before: then there is nothing to stop, and what matters was said by what failed first."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        spark.stop()


def _build(master: str, settings: Mapping[str, str], rough: str) -> SparkSession:
    (Path(rough) / _LOGGING).write_text(_QUIET)
    builder = SparkSession.builder.appName("pyrepl metrics")
    if master:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def settings(master: str, memory: str, rough: str, *, quick: bool = False, java: str = "") -> dict[str, str]:
    """Spark's settings; `rough` is the folder for its temporary files."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": f"{rough}/warehouse",
        "spark.local.dir": rough,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{rough}/{_LOGGING} "
        f"-Djava.io.tmpdir={rough} {' '.join(filter(None, ('-XX:+UseParallelGC', _QUICK if quick else '', java)))}",
        **(_LOCAL if master.startswith("local") else {}),
    }
