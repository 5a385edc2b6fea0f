"""Starts and ends Spark for an analysis, and decides where it runs.

What Spark computes is decided in run.py, and for a stream in follow.py. Its errors are told in the words of
failures.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from pyrepl.analysis.asked import Asked
from pyrepl.analysis.failures import CannotRun, in_our_words
from pyrepl.analysis.memory import keep_none
from pyrepl.analysis.needs import LEAST_JAVA, NO_JAVA, java, java_version
from pyrepl.analysis.told import GATEWAY, MASTER, PACKAGES, pairs, told
from pyrepl.analysis.workers import fitted
from pyrepl.metrics.given import place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.ingest import Reading
    from pyrepl.metrics.wanted import Steps

QUICK_BYTES: Final = 4 << 30
"""With fewer bytes of logs, Java spends more time compiling its code well than that saves."""
INTERPRETED_BYTES: Final = 1 << 30
"""The same of Spark's queries, and compiling them at all."""
FORKS: Final = "pyrepl.analysis.forks"
"""forks.py, as a module to be run."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_TELLING: Final = re.compile(r"\bERROR\b|Exception|^Error")
"""Lines of Java's that say why it did not start."""


def by_spark(spark: SparkSession) -> Reading:
    from pyrepl.metrics.reading import by_tasks

    return by_tasks(spark)


@contextlib.contextmanager
def spark_for(asked: Asked, steps: Steps, tables: Path | None = None) -> Iterator[SparkSession]:
    """A Spark session. Its errors are told in our words, and what Java prints while it starts is not shown.

    `tables` is the folder that its workers are to write to; None: they only read results. Raises CannotRun for errors
    of Spark's.
    """
    from pyrepl.analysis.archive import java_options
    from pyrepl.metrics.session import is_local, session

    steps.begin("start Spark")
    keep_none()
    theirs, given = _settings(asked)
    master = master_of(asked, {**theirs, **given})
    with contextlib.ExitStack() as stack:
        with _held_back(), _hushed() as chatter:
            try:
                size = bytes_in(asked.logs)
                quick, interpreted = size < QUICK_BYTES, size < INTERPRETED_BYTES
                ready = java_options(java(), os.environ)
                spark = stack.enter_context(
                    session(
                        master,
                        quick=quick,
                        interpreted=interpreted,
                        java=ready,
                        daemon=FORKS,
                        theirs=theirs,
                        given=given,
                    )
                )
            except Exception as error:
                raise CannotRun(_why_no_start(master, error, chatter())) from None
        try:
            if tables is not None and not is_local(spark.sparkContext.master or ""):
                steps.begin("look at the workers")
                logs = [path for log in asked.logs for path in place(log).paths]
                stack.enter_context(fitted(spark, logs, tables))
            yield spark
        except Exception as error:
            told = in_our_words(error)
            if not told:
                raise
            raise CannotRun(told) from None


def bytes_in(logs: tuple[str, ...]) -> int:
    """How many bytes `logs` hold, packed files as they are; files that cannot be seen count 0."""
    total = 0
    for path in (path for log in logs for path in place(log).paths):
        for one in path.rglob("*") if path.is_dir() else (path,):
            with contextlib.suppress(OSError):
                total += one.stat().st_size if one.is_file() else 0
    return total


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back until the end of the `with`: were the start of Java broken off, nobody would end it.

    Spark sets its own handler of SIGINT when it starts; that is undone as well.
    """
    came: SimpleQueue[int] = SimpleQueue()
    before = {number: signal.signal(number, lambda got, _: came.put(got)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if not came.empty():
        signal.raise_signal(came.get())


@contextlib.contextmanager
def _hushed() -> Iterator[Callable[[], str]]:
    """Whatever is started within the `with` prints into a temporary file; the function given returns what it printed.

    Java ends later than we do. As it does not have our output open, a program that reads our output does not wait for
    it.
    """
    with tempfile.TemporaryFile() as file, contextlib.ExitStack() as back:
        sys.stdout.flush()
        for number in (1, 2):
            kept = os.dup(number)
            back.callback(os.close, kept)
            back.callback(os.dup2, kept, number)
            os.dup2(file.fileno(), number)

        def said() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        yield said


def _settings(asked: Asked) -> tuple[dict[str, str], dict[str, str]]:
    """What the user has told Spark in other ways, and by the command line. Raises CannotRun."""
    import pyspark

    given = pairs(asked.conf) | ({PACKAGES: asked.packages} if asked.packages else {})
    if GATEWAY in os.environ:
        return _of_gateway(), given
    return told(os.environ, Path(pyspark.__file__).parent), given


def _of_gateway() -> dict[str, str]:
    """What spark-submit has set in the Java that it has started."""
    from pyspark import SparkConf, SparkContext

    context: Any = SparkContext
    context._ensure_initialized()
    return dict(SparkConf(_jvm=context._jvm).getAll())


def master_of(asked: Asked, settings: Mapping[str, str]) -> str:
    """Where Spark runs; empty where its settings say it."""
    return asked.master or ("" if MASTER in settings else "local[*]")


def _why_no_start(master: str, error: Exception, chatter: str) -> str:
    found = java_version(java())
    if 0 < found < LEAST_JAVA:
        return f"Spark needs Java {LEAST_JAVA} or later, and this is Java {found}.\n{NO_JAVA}"
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    on = f" on {master}" if master else ""
    heard = [line for line in chatter.splitlines() if _TELLING.search(line)]
    return "\n  ".join([f"Spark did not start{on}: {first}", *heard[:5]])
