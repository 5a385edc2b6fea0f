"""Why an analysis cannot be done, and what to do about it, in words for people: errors of Spark, the disk and files."""

from __future__ import annotations

import re
from typing import Final

SPARK_IS_GONE: Final = (
    "Spark's Java process is gone: ended from outside, or killed for want of memory (see the kernel's log).\n"
    "Nothing that was read is lost: run it again, with --out it goes on from what is kept there"
)
WORKER_IS_GONE: Final = (
    "a process of Spark's that reads or computes has ended in the middle of it: killed from outside, or for want of"
    " memory (see the kernel's log).\nWhat earlier runs have read is kept; run it again"
)
WORKER_IS_LATE: Final = (
    "a process of Spark's has not started within 10 s: the machine is too busy.\n"
    "Nothing that was read is lost; run it again when there is less to do"
)
MAKE_ROOM: Final = "make room or see to its permissions, then run it again: nothing that was read before is lost"
NO_SPACE: Final = "No space left on device"
DISK_FULL: Final = (
    f"{NO_SPACE}: the disk of --out is full, or that of temporary files (TMPDIR).\n"
    "Make room and run it again: nothing that was read before is lost"
)
THERE: Final = "that they have, with pyarrow and polars"
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]+)"')
_OTHER_PYTHON: Final = re.compile(r"Python in worker has different version: ([\d.]+) than that in driver: (\d+\.\d+)")
_WORKER_ENDED: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure")
_DAMAGED: Final = ("polars.exceptions.", "pyarrow.lib.ArrowInvalid", "[FAILED_READ_FILE")
"""What begins the cause where a file of the tables is no Parquet."""
_UNWRITTEN: Final = "pyrepl.metrics.part.WriteError: "
"""What begins the error of a Spark task that cannot write its part."""
_LATE: Final = "Python worker failed to connect back"
_REFUSED: Final = "pyrepl.errors.ConfigError: "
"""What begins the error of a process of Spark's that plans what a stream reads, where that has words for people."""
_TRACE: Final = "Traceback (most recent call last):"
_CAUSED: Final = "Caused by: "
_RAISED: Final = re.compile(r"(\w+\.)*\w*(Error|Exception)\b")
"""Begins the last line of a Python traceback, in the first column."""


class CannotRun(Exception):
    """What is missing, and what to do about it."""


def in_our_words(error: Exception) -> str:
    """What an error of Spark's means, without Java's and Python's traces; empty for one that is not Spark's."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    if isinstance(error, (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)):
        return SPARK_IS_GONE
    if isinstance(error, (Py4JError, PySparkException)):
        # py4j has no cause to tell where it got no answer.
        cause = cause_in(str(error))
        if NO_SPACE in cause and _UNWRITTEN not in cause:
            return DISK_FULL
        if _UNWRITTEN in cause:
            return f"cannot write {cause.partition(_UNWRITTEN)[2]}: {MAKE_ROOM}"
        return _told(str(error), cause) if cause else SPARK_IS_GONE
    return ""


def is_of_python(error: Exception) -> bool:
    """Is it an error of a Python process of Spark's, and none of Spark itself?"""
    return _TRACE in str(error)


def is_late(error: Exception) -> bool:
    """Has a Python process not started in the time that Spark waits for it?"""
    return _LATE in str(error)


def _told(whole: str, cause: str) -> str:
    if any(words in whole for words in _WORKER_ENDED):
        return WORKER_IS_GONE
    if found := _NO_PROGRAM.search(whole):
        return f"the workers have no {found[1]}: set PYSPARK_PYTHON to a Python {THERE}"
    if found := _OTHER_PYTHON.search(whole):
        return (
            f"the workers' Python is {found[1]}, and ours {found[2]}: set PYSPARK_PYTHON to a Python {found[2]} {THERE}"
        )
    if _LATE in whole:
        return WORKER_IS_LATE
    if cause.startswith(_REFUSED):
        return cause.removeprefix(_REFUSED)
    if cause.startswith(_DAMAGED):
        return f"the folder tables of --out is damaged ({cause}): remove it, and all logs are read anew"
    return f"Spark failed: {cause}"


def cause_in(text: str) -> str:
    """The line of a Spark error that says why: the error under a Python worker's traceback, else the innermost cause,
    else its own first line."""
    _, found, trace = text.partition(_TRACE)
    lines = [line for line in trace.splitlines() if _RAISED.match(line)] if found else []
    lines += [line.removeprefix(_CAUSED) for line in reversed(text.splitlines()) if line.startswith(_CAUSED)]
    lines += [line.strip(" :") for line in text.splitlines() if not line.startswith("An error occurred while calling")]
    return next(filter(None, lines), "")


def in_plain_words(error: OSError) -> str:
    """Without `[Errno 13]`: the file, and what the system has against it."""
    why = error.strerror or str(error)
    return f"{error.filename}: {why}" if error.filename else why
