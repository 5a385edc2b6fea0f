"""`pyrepl metrics` at work: Spark around the job, progress, what is missing said plainly, and where results go.

Its options are in metrics_command.py, the job is pyrepl.metrics.run, what it shows pyrepl.metrics.report.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyrepl.metrics.ingest import Read
    from pyrepl.metrics.report.model import Report
    from pyrepl.metrics.run import Steps

NEEDED: Final = ("pyspark", "pyarrow", "jinja2", "prometheus_client", "vl_convert")
"""Modules of the extra `metrics`, which the daemon does without."""
INSTALL: Final = "pip install 'pyrepl-server[metrics]'"
NO_JAVA: Final = (
    "Spark runs on Java, 17 or later, and there is none here. Install it:\n"
    "  Debian, Ubuntu   apt-get install default-jre-headless\n"
    "  Fedora, RHEL     dnf install java-21-openjdk-headless\n"
    "  macOS            brew install openjdk@21\n"
    "or set JAVA_HOME to where it is."
)
LEAST_JAVA: Final = 17
SMALL_BYTES: Final = 256 << 20
"""Below so much log Spark takes longer to compile a question than to answer it."""
PARTITIONS: Final = 4
_TELLING: Final = re.compile(r"\bERROR\b|Exception|^Error")
"""Lines of Java's that say why it did not start."""
_LOOK_S: Final = 0.2
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
    complaint = why_not()
    if complaint:
        sys.stderr.write(f"pyrepl metrics: {complaint}\n")
        return 2
    from pyrepl.errors import ConfigError

    try:
        with _store(options) as tables:
            if options.follow:
                _follow(options, tables)
            else:
                _run(options, tables)
    except (CannotRun, ConfigError, OSError) as error:
        sys.stderr.write(f"pyrepl metrics: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("pyrepl metrics: interrupted; what was read before stays, the next run goes on from there\n")
        return 130
    return 0


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
        options.out.mkdir(parents=True, exist_ok=True)
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
    """Two that write the same tables would remove each other's parts. The lock ends with the process."""
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRun(f"another pyrepl metrics writes to {out}: end it first, or give another --out") from None
        yield


def _follow(options: Options, tables: Path) -> None:
    """Until it is stopped, by Ctrl-C or SIGTERM, or a batch fails."""
    from pyrepl.metrics.follow import Follower, follow
    from pyrepl.metrics.run import Steps, Wanted, answer

    out = options.out
    assert out is not None
    wanted = Wanted(options.logs, tables, options.since_us, options.until_us, options.zone)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(1) as aside, Watch(quiet=True) as watch:
        library = aside.submit(_library)
        with _spark(options, Steps(watch.step, time.monotonic)) as spark:

            def answered(read: Read) -> None:
                steps = Steps(watch.step, time.monotonic)
                report, results = answer(spark, wanted, steps, time.time_ns() // 1000)
                _write_all(report, results, out, library)
                _tell_batch(report, read, options)

            follower = Follower(spark, wanted, answered)
            query = follow(spark, follower, out / "checkpoint", options.every_s)
            try:
                query.awaitTermination()
            except KeyboardInterrupt:
                sys.stderr.write("pyrepl metrics: stopped; the next start with this --out goes on from here\n")
            except Exception as error:
                raise (follower.error or CannotRun(f"Spark ended the stream: {error}")) from None
            finally:
                with contextlib.suppress(Exception):
                    query.stop()


def _tell_batch(report: Report, read: Read, options: Options) -> None:
    """One line for whoever watches, and the watermark for programs, in a file that is written last."""
    from pyrepl.metrics.follow import watermark

    assert options.out is not None
    final_us = watermark(report.rows("nodes"), round(options.late_s * 1_000_000))
    about = {"made_at_us": report.made_at_us, "final_before_us": final_us}
    _replace(options.out / "follow.json", (json.dumps(about) + "\n").encode())
    if options.quiet:
        return
    totals = report.rows("totals")[0]
    final = "-" if final_us is None else datetime.fromtimestamp(final_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    sys.stdout.write(
        f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} files with news {read.files}, syncs {totals['syncs']}, "
        f"partial {totals['partial_ok']}, full {totals['full_ok']}, failed {totals['full_failed']}, "
        f"not understood {totals['unparsed_lines']}, final before {final}\n"
    )
    sys.stdout.flush()


def _run(options: Options, tables: Path) -> None:
    from pyrepl.metrics.run import Steps, Wanted, run

    wanted = Wanted(options.logs, tables, options.since_us, options.until_us, options.zone)
    with ThreadPoolExecutor(1) as aside, Watch(quiet=options.quiet) as watch:
        # The charts' library takes seconds to put together; Spark does not need this process meanwhile.
        library = aside.submit(_library) if options.out is not None or options.format == "html" else None
        steps = Steps(watch.step, time.monotonic)
        with _spark(options, steps) as spark:
            watch.follow(spark)
            report, results = run(spark, wanted, steps, time.time_ns() // 1000)
            if options.out is not None:
                steps.begin("write")
                _write_all(report, results, options.out, library)
                steps.end()
            watch.follow(None)
    _print(report, options, library)


def _library() -> str:
    from pyrepl.metrics.report.library import bundle

    return bundle()


@contextlib.contextmanager
def _spark(options: Options, steps: Steps) -> Iterator[SparkSession]:
    """A session; what goes wrong at its start is told in our words, what Java has to say stays aside."""
    from pyrepl.metrics.session import session

    steps.begin("start Spark")
    master = master_of(options, os.environ)
    with contextlib.ExitStack() as stack:
        with _hushed() as chatter:
            try:
                small = bytes_in(options.logs) < SMALL_BYTES
                spark = stack.enter_context(session(master, partitions=1 if small else PARTITIONS, small=small))
            except Exception as error:
                raise CannotRun(_why_no_start(master, error, chatter())) from None
        yield spark


def bytes_in(logs: tuple[str, ...]) -> int:
    """How much there is to read, packed files as they are; what cannot be seen counts nothing."""
    total = 0
    for path in map(Path, logs):
        for one in path.rglob("*") if path.is_dir() else (path,):
            with contextlib.suppress(OSError):
                total += one.stat().st_size if one.is_file() else 0
    return total


@contextlib.contextmanager
def _hushed() -> Iterator[Callable[[], str]]:
    """What is started meanwhile writes its errors into a file that goes with it; the caller can ask what it said."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


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


def _write_all(report: Report, results: Mapping[str, DataFrame], out: Path, library: Future[str] | None) -> None:
    from pyrepl.metrics import parquet

    parquet.write(report, results, out / "results")
    _write_files(report, out, library)


def _write_files(report: Report, out: Path, library: Future[str] | None) -> None:
    from pyrepl.metrics.report.as_json import as_json
    from pyrepl.metrics.report.openmetrics import openmetrics
    from pyrepl.metrics.report.page import page

    assert library is not None
    _replace(out / "report.html", page(report, library.result()).encode())
    _replace(out / "metrics.json", as_json(report).encode())
    _replace(out / "metrics.prom", openmetrics(report))


def _replace(path: Path, content: bytes) -> None:
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


class Watch:
    """Shows on standard error what is being done: the step, and the tasks of Spark's present stages."""

    def __init__(self, *, quiet: bool) -> None:
        # A line of its own to the terminal, as standard error is turned aside while Spark starts.
        console = Console(file=os.fdopen(os.dup(2), "w"))
        self._console = console
        self._shown = console.is_terminal and not quiet
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tasks]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self._shown,
        )
        self._task: TaskID | None = None
        self._spark: SparkSession | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="metrics-progress", daemon=True)

    def __enter__(self) -> Watch:
        self._progress.start()
        if self._shown:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._progress.stop()
        self._console.file.close()

    def step(self, name: str) -> None:
        """Another step begins."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=None, tasks="")

    def follow(self, spark: SparkSession | None) -> None:
        """Ask this session for its stages from now on."""
        self._spark = spark

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            spark, task = self._spark, self._task
            if spark is None or task is None:
                continue
            with contextlib.suppress(Exception):
                # A session that is just being stopped answers with whatever error it likes.
                done, total, stages = tasks_of(spark.sparkContext.statusTracker())
                if total:
                    shown = f"{done}/{total} tasks in {stages} stage{'' if stages == 1 else 's'}"
                    self._progress.update(task, completed=done, total=total, tasks=shown)


def tasks_of(tracker: Any) -> tuple[int, int, int]:
    """Tasks done, tasks in all, and stages, of what Spark does right now."""
    stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    return sum(one.numCompletedTasks for one in stages), sum(one.numTasks for one in stages), len(stages)
