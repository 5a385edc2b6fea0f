"""The process that Spark's Python workers are forked from."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyrepl.analysis import forks
from pyrepl.analysis.spark import FORKS


@contextmanager
def daemon(module: str) -> Iterator[subprocess.Popen[bytes]]:
    """As Spark starts it; it has told its port, so that all is imported."""
    started = subprocess.Popen(
        [sys.executable, "-m", FORKS, module],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert started.stdin is not None and started.stdout is not None
    with started:
        assert struct.unpack("!i", started.stdout.read(4))[0] > 0
        yield started
        started.stdin.close()
        started.wait(30)


def libraries(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/maps").read_text()


def test_workers_are_born_with_what_tasks_import() -> None:
    with daemon(forks.TASKS) as started:
        assert {name for name in ("pandas", "pyarrow", "polars") if f"/{name}/" in libraries(started)} == {
            "pandas", "pyarrow"
        }  # fmt: skip
        assert len(list(Path(f"/proc/{started.pid}/task").iterdir())) == 1, "a child would lack the other threads"


def test_others_do_not_wait_for_that() -> None:
    with daemon("pyspark.sql.worker.plan_data_source_read") as started:
        assert "/pyarrow/" not in libraries(started)


def test_an_installed_spark_is_not_taken_from_its_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped = tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip"
    assert not forks.is_there_unpacked(zipped), "it is nowhere else"
    monkeypatch.setattr(sys, "path", [str(zipped), str(tmp_path)])
    assert forks.is_there_unpacked(zipped)
    assert not forks.is_there_unpacked(tmp_path / "jobs" / "code.zip")


def test_spark_is_told_its_name() -> None:
    assert forks.__name__ == FORKS
