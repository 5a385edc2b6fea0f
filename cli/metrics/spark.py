"""Spark as `pyrepl metrics` uses it: which Java, where it runs, how it starts and ends, its errors in our words.

What is asked of it is run.py's, and with `--follow` follow.py's.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from .watch import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.answers import Answering
    from pyrepl.metrics.ingest import Reading
    from pyrepl.metrics.run import Steps

    from .readers import Readers

NEEDED: Final = ("pyspark", "pyarrow", "polars", "jinja2", "prometheus_client", "vl_convert")
"""Modules of the extra `metrics`, which the daemon does without."""
INSTALL: Final = "pip install 'pyrepl-server[metrics]'"
NO_JAVA: Final = (
    "Spark runs on Java, 17 or later, and there is none here. Install it:\n"
    "  Debian, Ubuntu   apt-get install default-jre-headless\n"
    "  Fedora, RHEL     dnf install java-21-openjdk-headless\n"
    "  macOS            brew install openjdk@21\n"
    "or set JAVA_HOME to where it is."
)
SPARK_IS_GONE: Final = (
    "Spark's Java process is gone: ended from outside, or killed for want of memory (see the kernel's log).\n"
    "Nothing that was read is lost: run it again, with --out it goes on from what is kept there"
)
LEAST_JAVA: Final = 17
QUICK_BYTES: Final = 4 << 30
"""Below so much Java takes longer to compile well than it gains by it."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_TELLING: Final = re.compile(r"\bERROR\b|Exception|^Error")
"""Lines of Java's that say why it did not start."""
_RAISED: Final = re.compile(r"(\w+\.)*\w*(Error|Exception)\b")
"""Begins the last line of a Python traceback, in the first column."""
NO_SPACE: Final = "No space left on device"
DISK_FULL: Final = (
    f"{NO_SPACE}: the disk of --out is full, or that of temporary files (TMPDIR).\n"
    "Make room and run it again: nothing that was read before is lost"
)
_UNWRITTEN: Final = "pyrepl.metrics.part.WriteError: "
"""What begins the error of a Spark task that cannot write its part."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. Times are Unix us; `master` empty: what spark-submit says, else this machine."""

    logs: tuple[str, ...]
    out: Path | None = None
    master: str = ""
    since_us: int | None = None
    until_us: int | None = None
    format: str = "text"
    zone: str = "UTC"
    quiet: bool = False
    follow: bool = False
    every_s: float = 10.0
    late_s: float = 60.0


class CannotRun(Exception):
    """What is missing, and what to do about it."""


def why_not() -> str:
    """What this machine lacks, or nothing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"needs more than the daemon does, {', '.join(missing)} is missing here. Install it: {INSTALL}"
    return "" if java() else NO_JAVA


def java() -> str:
    """The Java that Spark would run; empty if there is none."""
    home = os.environ.get("JAVA_HOME", "")
    if home:
        program = Path(home) / "bin" / "java"
        return str(program) if os.access(program, os.X_OK) else ""
    return shutil.which("java") or ""


def java_version(program: str) -> int:
    """Its major version, 0 if it does not say."""
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(match[1]) if match else 0


def answers_by_spark(spark: SparkSession) -> Answering:
    from pyrepl.metrics.asking import by_tasks

    return by_tasks(spark)


def by_spark(spark: SparkSession) -> Reading:
    from pyrepl.metrics.ingest import by_tasks

    return by_tasks(spark)


def reading(options: Options, watch: Watch) -> contextlib.AbstractContextManager[Readers | None]:
    """Processes of this machine that read, or None on a cluster: its nodes do that themselves."""
    from .readers import Readers, processes

    master = master_of(options, os.environ)
    if not master.startswith("local"):
        return contextlib.nullcontext()
    return Readers(processes(master), watch.read)


@contextlib.contextmanager
def spark_for(options: Options, steps: Steps, step: str = "start Spark") -> Iterator[SparkSession]:
    """A session; what goes wrong in it is told in our words, what Java has to say stays aside. `step` is its start.

    Raises CannotRun for errors of Spark's.
    """
    from pyrepl.metrics.session import session

    from .archive import java_options

    steps.begin(step)
    master = master_of(options, os.environ)
    with contextlib.ExitStack() as stack:
        with _held_back(), _hushed() as chatter:
            try:
                quick = bytes_in(options.logs) < QUICK_BYTES
                ready = java_options(java(), os.environ)
                spark = stack.enter_context(session(master, quick=quick, java=ready))
            except Exception as error:
                raise CannotRun(_why_no_start(master, error, chatter())) from None
        try:
            yield spark
        except Exception as error:
            told = in_our_words(error)
            if not told:
                raise
            raise CannotRun(told) from None


def bytes_in(logs: tuple[str, ...]) -> int:
    """How much there is to read, packed files as they are; what cannot be seen counts nothing."""
    total = 0
    for path in map(Path, logs):
        for one in path.rglob("*") if path.is_dir() else (path,):
            with contextlib.suppress(OSError):
                total += one.stat().st_size if one.is_file() else 0
    return total


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """SIGINT and SIGTERM come afterwards: a Java that is broken off while it starts is one that nobody ends.

    Spark takes SIGINT for itself when it starts; that is undone as well.
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
    """What is started meanwhile writes into a file that goes with it; the caller can ask what it said.

    So who waits for the end of our output does not wait for Java's end, which comes later.
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


def master_of(options: Options, environment: Mapping[str, str]) -> str:
    """Where Spark runs; empty under spark-submit, which has told Spark already (we reach it through a gateway)."""
    return options.master or ("" if "PYSPARK_GATEWAY_PORT" in environment else "local[*]")


def _why_no_start(master: str, error: Exception, chatter: str) -> str:
    found = java_version(java())
    if 0 < found < LEAST_JAVA:
        return f"Spark needs Java {LEAST_JAVA} or later, and this is Java {found}.\n{NO_JAVA}"
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    on = f" on {master}" if master else ""
    heard = [line for line in chatter.splitlines() if _TELLING.search(line)]
    return "\n  ".join([f"Spark did not start{on}: {first}", *heard[:5]])


def in_our_words(error: Exception) -> str:
    """What an error of Spark's means, without Java's and Python's traces; empty for one that is not Spark's."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    from .readers import MAKE_ROOM

    if isinstance(error, (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)):
        return SPARK_IS_GONE
    if isinstance(error, (Py4JError, PySparkException)):
        # py4j has no cause to tell where it got no answer.
        cause = cause_in(str(error))
        if NO_SPACE in cause and _UNWRITTEN not in cause:
            return DISK_FULL
        if _UNWRITTEN in cause:
            return f"cannot write {cause.partition(_UNWRITTEN)[2]}: {MAKE_ROOM}"
        return f"Spark failed: {cause}" if cause else SPARK_IS_GONE
    return ""


def cause_in(text: str) -> str:
    """The line of a Spark error that says why: the error under a Python worker's traceback, else its own first line."""
    _, found, trace = text.partition("Traceback (most recent call last):")
    lines = [line for line in trace.splitlines() if _RAISED.match(line)] if found else []
    lines += [line.strip(" :") for line in text.splitlines() if not line.startswith("An error occurred while calling")]
    return next(filter(None, lines), "")
