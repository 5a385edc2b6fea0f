"""Logs that this machine does not see, but Spark does (hdfs:, s3a: and what else Hadoop has a file system for): copied.

    hdfs://namenode:8020/logs/a/redis.log    DIR/fetched/hdfs/namenode:8020/logs/a/redis.log

Hadoop's FileSystem lists and copies them, with the user's jars and settings, in the driver. All else then works as for
files: what was read is known, and only what is new is read. A file is copied again, as a whole, when its size or its
time has changed, as object stores cannot append; copies go when their files have gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyrepl.analysis.failures import CannotRun, cause_in
from pyrepl.metrics.given import has_pattern, is_elsewhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FETCHED: Final = "fetched"
"""The folder below that of --out."""
AT_ONCE: Final = 8
"""Copies under way: what takes time is mostly the other end's answer."""
_URL: Final = re.compile(r"([^:/]+):(?://([^/]*))?(/.*)")
_NO_SYSTEM: Final = ("No FileSystem for scheme", "ClassNotFoundException")


class _Far(NamedTuple):
    """A file elsewhere: Hadoop's path, its size in bytes, when it was written (Unix ms), where its copy is to be."""

    path: Any
    size: int
    at_ms: int
    copy: Path


def fetched(spark: SparkSession, logs: Sequence[str], folder: Path) -> list[str]:
    """The logs as files, folders and patterns of this machine; those that are elsewhere are copied below `folder`.

    Raises CannotRun, OSError.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    far: dict[Path, _Far] = {}
    for log in filter(is_elsewhere, logs):
        try:
            found = {one.copy: one for one in _found(spark, log, folder)}
            _copy([one for path, one in found.items() if path not in far], spark)
        except (Py4JJavaError, PySparkException) as error:
            raise CannotRun(f"{log}: {_why(spark, log, str(error))}") from None
        if not found:
            raise CannotRun(f"{log}: {'no file matches' if has_pattern(log) else 'no such file, or no log in it'}")
        far |= found
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in far]:
        path.unlink()
    return [str(_here(log, folder)) if is_elsewhere(log) else log for log in logs]


def _here(log: str, folder: Path) -> Path:
    """Where the copy of a URL, or of a pattern, is to be."""
    scheme, authority, path = _parts(log)
    return folder / scheme / (authority or "-") / path.lstrip("/")


def _parts(log: str) -> tuple[str, str, str]:
    match = _URL.fullmatch(log)
    if match is None:
        raise CannotRun(f"{log}: expected SCHEME://HOST/PATH")
    return match[1], match[2] or "", match[3]


def _found(spark: SparkSession, log: str, folder: Path) -> Iterator[_Far]:
    """What a log stands for; of a folder all that may be logs."""
    from pyrepl.metrics.plan import may_be_log

    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(log)
    system = path.getFileSystem(context._jsc.hadoopConfiguration())
    for status in system.globStatus(path) or ():
        if not status.isDirectory():
            yield _far(status, log, folder)
            continue
        base = _far(status, log, folder).copy
        files = system.listFiles(status.getPath(), True)
        while files.hasNext():
            one = _far(files.next(), log, folder)
            if may_be_log(one.copy, base):
                yield one


def _far(status: Any, log: str, folder: Path) -> _Far:
    scheme, authority, _ = _parts(log)
    path = status.getPath()
    copy = _here(f"{scheme}://{authority}{path.toUri().getPath()}", folder)
    if ".." in copy.relative_to(folder).parts:
        raise CannotRun(f"{path.toString()}: no such name can be copied")
    return _Far(path, status.getLen(), status.getModificationTime(), copy)


def _copy(files: Sequence[_Far], spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(_copy_one, one, context) for one in files if not _is_there(one)]:
            done.result()


def _is_there(one: _Far) -> bool:
    try:
        there = one.copy.stat()
    except FileNotFoundError:
        return False
    return there.st_size == one.size and there.st_mtime_ns == one.at_ms * 1_000_000


def _copy_one(one: _Far, context: Any) -> None:
    rough = one.copy.with_name(f".{one.copy.name}.rough")
    rough.parent.mkdir(parents=True, exist_ok=True)
    system = one.path.getFileSystem(context._jsc.hadoopConfiguration())
    # False: not moved; True: without Hadoop's checksums beside it.
    system.copyToLocalFile(False, one.path, context._jvm.org.apache.hadoop.fs.Path(str(rough)), True)
    os.utime(rough, ns=(one.at_ms * 1_000_000, one.at_ms * 1_000_000))
    rough.replace(one.copy)


def _why(spark: SparkSession, log: str, text: str) -> str:
    """What Hadoop has against it, and what to do if it does not know such files at all."""
    if not any(words in text for words in _NO_SYSTEM):
        return cause_in(text)
    context: Any = spark.sparkContext
    version = context._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return (
        f"Spark has no file system for {_parts(log)[0]}: give it one, as with --packages"
        f" org.apache.hadoop:hadoop-aws:{version} for s3a, or mount or copy the logs"
    )
