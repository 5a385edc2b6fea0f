"""`pyrepl metrics` at work: Spark around the job, progress, what is missing said plainly, and where results go.

Its options are in metrics_command.py, `--follow` is metrics_follow.py, the job is pyrepl.metrics.run, what it shows
pyrepl.metrics.report.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from rich.console import Console

from .metrics_watch import Watch

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import SparkSession

    from pyrepl.metrics.answers import Answering
    from pyrepl.metrics.ingest import News, Reading
    from pyrepl.metrics.report.model import Report
    from pyrepl.metrics.run import Steps, Wanted

    from .metrics_readers import Readers

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
MANIFEST: Final = "manifest.json"
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
_AGO: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


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

    from .metrics_follow import follow
    from .metrics_readers import ReadError

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


def why_not() -> str:
    """What this machine lacks, or nothing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"needs more than the daemon does, {', '.join(missing)} is missing here. Install it: {INSTALL}"
    return "" if java() else NO_JAVA


def why_not_there(logs: tuple[str, ...]) -> str:
    """Which of the logs are not there, or nothing. Asked before Spark starts, which takes its time."""
    missing = [path for path in logs if not Path(path).exists()]
    return f"{', '.join(missing)}: no such file or folder" if missing else ""


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
    _print(report, options, library)


@contextlib.contextmanager
def _read(
    options: Options, wanted: Wanted, aside: ThreadPoolExecutor, readers: Readers | None, steps: Steps, watch: Watch
) -> Iterator[Answering]:
    """All that is new has been read; who answers. Spark starts meanwhile, unless there is too little for it."""
    from .metrics_answers import here, is_little
    from .metrics_readers import processes

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


def answers_by_spark(spark: SparkSession) -> Answering:
    from pyrepl.metrics.asking import by_tasks

    return by_tasks(spark)


def by_spark(spark: SparkSession) -> Reading:
    from pyrepl.metrics.ingest import by_tasks

    return by_tasks(spark)


def reading(options: Options, watch: Watch) -> contextlib.AbstractContextManager[Readers | None]:
    """Processes of this machine that read, or None on a cluster: its nodes do that themselves."""
    from .metrics_readers import Readers, processes

    master = master_of(options, os.environ)
    if not master.startswith("local"):
        return contextlib.nullcontext()
    return Readers(processes(master), watch.read)


def library_of_charts() -> str:
    from pyrepl.metrics.report.library import bundle

    return bundle()


@contextlib.contextmanager
def spark_for(options: Options, steps: Steps, step: str = "start Spark") -> Iterator[SparkSession]:
    """A session; what goes wrong in it is told in our words, what Java has to say stays aside. `step` is its start.

    Raises CannotRun for errors of Spark's.
    """
    from pyrepl.metrics.session import session

    from .metrics_archive import java_options

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

    from .metrics_readers import MAKE_ROOM

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


def write_all(report: Report, results: Mapping[str, pl.LazyFrame], out: Path, library: Future[str] | None) -> None:
    from pyrepl.metrics import parquet

    parquet.write(report, results, out / "results")
    _write_files(report, out, library)


def _write_files(report: Report, out: Path, library: Future[str] | None) -> None:
    from pyrepl.metrics.report.as_json import as_json
    from pyrepl.metrics.report.openmetrics import openmetrics
    from pyrepl.metrics.report.page import page

    assert library is not None
    replace(out / "report.html", page(report, library.result()).encode())
    replace(out / "metrics.json", as_json(report).encode())
    replace(out / "metrics.prom", openmetrics(report))


def replace(path: Path, content: bytes) -> None:
    """Whoever reads the file meanwhile has the old one or the new one, never half of it."""
    rough = path.with_name(f".{path.name}.{os.getpid()}")
    rough.write_bytes(content)
    rough.replace(path)


def _print(report: Report, options: Options, library: Future[str] | None) -> None:
    from pyrepl.metrics.report.as_json import as_json
    from pyrepl.metrics.report.openmetrics import openmetrics
    from pyrepl.metrics.report.page import page
    from pyrepl.metrics.report.terminal import show as summarise

    if options.format == "json":
        sys.stdout.write(as_json(report))
    elif options.format == "openmetrics":
        sys.stdout.write(openmetrics(report).decode())
    elif options.format == "html":
        assert library is not None
        sys.stdout.write(page(report, library.result()))
    else:
        summarise(report, Console())
        if options.out is not None:
            sys.stdout.write(f"Written to {options.out}: report.html, metrics.json, metrics.prom, results/ (Parquet)\n")
