"""A Spark session as the metrics want it: quiet, without a web page, its rough files removed with it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_QUIET: Final = (
    "rootLogger.level=error\nrootLogger.appenderRef.stderr.ref=stderr\n"
    "appender.stderr.type=Console\nappender.stderr.name=stderr\nappender.stderr.target=SYSTEM_ERR\n"
    "appender.stderr.layout.type=PatternLayout\nappender.stderr.layout.pattern=%p %c{1}: %m%n\n"
)


@contextmanager
def session(master: str = "local[*]", memory: str = "2g", partitions: int = 4) -> Iterator[SparkSession]:
    """A session on `master`, stopped at the end. `partitions` is that of shuffles; `memory` of a local driver.

    Raises what Spark raises when there is no Java.
    """
    rough = tempfile.mkdtemp(prefix="pyrepl-metrics-")
    spark: SparkSession | None = None
    try:
        spark = _build(master, memory, partitions, rough)
        spark.sparkContext.setLogLevel("OFF")
        if master.startswith("local"):
            spark.sparkContext.pythonExec = sys.executable
        yield spark
    finally:
        if spark is not None:
            spark.stop()
        shutil.rmtree(rough, ignore_errors=True)


def _build(master: str, memory: str, partitions: int, rough: str) -> SparkSession:
    quiet = f"{rough}/log4j2.properties"
    with open(quiet, "w", encoding="utf-8") as file:
        file.write(_QUIET)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.warehouse.dir": f"{rough}/warehouse",
        "spark.local.dir": rough,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{quiet} -Djava.io.tmpdir={rough} "
        "-XX:+UseParallelGC -XX:TieredStopAtLevel=4",
        "spark.driver.bindAddress": "127.0.0.1" if master.startswith("local") else "0.0.0.0",
    }
    builder = SparkSession.builder.master(master).appName("pyrepl metrics")
    if master.startswith("local"):
        settings["spark.driver.host"] = "127.0.0.1"
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
