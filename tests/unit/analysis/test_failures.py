"""Why an analysis failed, in words for people."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from pyrepl.analysis.failures import (
    DISK_FULL,
    MAKE_ROOM,
    SPARK_IS_GONE,
    THERE,
    WORKER_IS_GONE,
    WORKER_IS_LATE,
    cause_in,
    in_our_words,
    is_late,
    is_of_python,
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "part.py", line 5, in put\n    raise\nOSError: [Errno 28] No space left on device\n\n'
            "JVM stacktrace:\norg.apache.spark.SparkException: gone\n\tat a.b.C",
            "OSError: [Errno 28] No space left on device",
        ),
        (
            "An error occurred while calling o47.collect.\n: org.apache.spark.SparkException: Job aborted\n\tat a.b.C",
            "org.apache.spark.SparkException: Job aborted",
        ),
        (
            "An error occurred while calling o1.getResult.\n: org.apache.spark.SparkException: awaited\n\tat a.b\n"
            "Caused by: org.apache.spark.SparkException: Job aborted\n\tat a.b.C\nCaused by: java.io.IOException: gone",
            "java.io.IOException: gone",
        ),
        ("", ""),
    ],
)
def test_why_spark_failed_is_one_line(text: str, cause: str) -> None:
    assert cause_in(text) == cause


def test_errors_of_spark_are_told_and_others_are_not() -> None:
    assert in_our_words(Py4JError("An error occurred while calling o1.x.\n: java.lang.Oh: no\n\tat a")) == (
        "Spark failed: java.lang.Oh: no"
    )
    unwritten = (
        "Traceback (most recent call last):\n  at\npyrepl.metrics.part.WriteError: /out/a (No space left)\n\nJVM"
    )
    assert in_our_words(Py4JError(unwritten)) == f"cannot write /out/a (No space left): {MAKE_ROOM}"
    full = "Traceback (most recent call last):\n  at\nOSError: [Errno 28] No space left on device\n\nJVM"
    assert in_our_words(Py4JError(full)) == DISK_FULL
    no_answer = Py4JError("An error occurred while calling o57.collectToPython")
    killed = Py4JError(
        "An error occurred.\nCaused by: java.io.EOFException\nPython worker exited unexpectedly (crashed)"
    )
    assert in_our_words(killed) == WORKER_IS_GONE
    damaged = Py4JError("Traceback (most recent call last):\n  at\npolars.exceptions.ComputeError: no magic\n\nJVM")
    assert in_our_words(damaged) == (
        "the folder tables of --out is damaged (polars.exceptions.ComputeError: no magic): "
        "remove it, and all logs are read anew"
    )
    no_program = Py4JError(
        'An error.\n: java.io.IOException: Cannot run program "/opt/python3" (in directory "/w"): error=2\n'
        "\tat a.b\nCaused by: java.io.IOException: error=2, No such file or directory"
    )
    assert in_our_words(no_program) == f"the workers have no /opt/python3: set PYSPARK_PYTHON to a Python {THERE}"
    other = Py4JError(
        "Traceback (most recent call last):\n  at\npyspark.errors.exceptions.base.PySparkRuntimeError: "
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11, PySpark"
    )
    assert in_our_words(other) == (
        f"the workers' Python is 3.9, and ours 3.11: set PYSPARK_PYTHON to a Python 3.11 {THERE}"
    )
    refused = Py4JError(
        "Traceback (most recent call last):\n  at\npyrepl.errors.ConfigError: /out/tables: remove it\n\nJVM"
    )
    assert in_our_words(refused) == "/out/tables: remove it"
    late = Py4JError("An error.\nCaused by: org.apache.spark.SparkException: Python worker failed to connect back.")
    assert in_our_words(late) == WORKER_IS_LATE and is_late(late) and not is_late(refused)
    assert is_of_python(refused) and not is_of_python(no_answer)
    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(), no_answer):
        assert in_our_words(error) == SPARK_IS_GONE
    assert in_our_words(ValueError("ours")) == ""
