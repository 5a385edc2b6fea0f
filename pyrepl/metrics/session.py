"""A Spark session as the metrics want it: quiet, without a web page, its rough files removed with it."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
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
PARTITIONS: Final = 4
"""Of what is put together from all shares of the nodes."""
_INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""To make Java of each query, and compile it, takes seconds here; it pays for a million rows."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_CHOOSES: Final = re.compile(r"-XX:\+Use\w+GC")
"""Java refuses two collectors."""
_QUICK: Final = "-XX:TieredStopAtLevel=1"
"""Java's better compiler takes 15 s of processor time here, which pay only when Spark works for minutes."""


@contextmanager
def session(
    master: str = "local[*]",
    memory: str = "2g",
    *,
    quick: bool = False,
    interpreted: bool = False,
    java: str = "",
    daemon: str = "",
    theirs: Mapping[str, str] = _NOTHING,
    given: Mapping[str, str] = _NOTHING,
) -> Iterator[SparkSession]:
    """A session on `master`, stopped at the end. `memory` is that of a local driver. An empty `master` is the one that
    the user has told Spark.

    `theirs` is what the user has told Spark in other ways, which stays as it is; `given` is to be set besides. `quick`
    is for minutes and not for hours: Java compiles quickly and not well; `interpreted` is for less: Spark's queries are
    not compiled at all. `java` are further options for it, `daemon` is the module of the process that forks the Python
    workers of this machine (empty: Spark's own). Raises what Spark raises when there is no Java.
    """
    rough = tempfile.mkdtemp(prefix="pyrepl-metrics-")
    spark: SparkSession | None = None
    try:
        ours = settings(
            master,
            memory,
            rough,
            quick=quick,
            interpreted=interpreted,
            java=java,
            daemon=daemon,
            theirs={**theirs, **given},
        )
        spark = _build(master, {**ours, **given}, rough)
        spark.sparkContext.setLogLevel("OFF")
        # Spark sees to it that all processors are busy: a task is one of them.
        spark.sparkContext.environment["POLARS_MAX_THREADS"] = "1"
        # It would print a traceback when Java goes away, which others notice and tell.
        counters: Any = spark.sparkContext._accumulatorServer
        counters.handle_error = lambda *_: None
        if is_local(master):
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


def is_local(master: str) -> bool:
    """Does Spark run in one process here? `local-cluster` does not, though it begins like that."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def settings(
    master: str,
    memory: str,
    rough: str,
    *,
    quick: bool = False,
    interpreted: bool = False,
    java: str = "",
    daemon: str = "",
    theirs: Mapping[str, str] = _NOTHING,
) -> dict[str, str]:
    """What we set: nothing that the user has set. `rough` is the folder for Spark's temporary files."""
    collector = "" if _CHOOSES.search(theirs.get("spark.driver.extraJavaOptions", "")) else "-XX:+UseParallelGC"
    ours = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": f"{rough}/warehouse",
        "spark.sql.session.timeZone": "UTC",
        # What goes over a whole fleet comes to a few rows: to plan a query anew while it runs costs more than it saves.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        # What is handed out to tasks has the partitions that it is given (handing.py).
        "spark.sql.execution.arrow.localRelationThreshold": "0",
        **(_INTERPRETED if interpreted else {}),
        "spark.driver.memory": memory,
        # Those of the user, spark.driver.extraJavaOptions, come behind these.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile=file:{rough}/{_LOGGING} "
        f"-Djava.io.tmpdir={rough} {' '.join(filter(None, (collector, _QUICK if quick else '', java)))}",
        **({**_LOCAL, "spark.local.dir": rough} if is_local(master) else {}),
        # The workers of a cluster may not have it.
        **({"spark.python.daemon.module": daemon} if daemon and is_local(master) else {}),
    }
    return {name: value for name, value in ours.items() if name not in theirs}
