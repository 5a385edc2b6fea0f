"""Writes what an analysis found into the files of its folder, where they are not there as they would be."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyrepl.temporary import SHARED, replacing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.report.model import Report


RESULTS: Final = "results"
"""The link to the result tables, below --out."""

FILES: Final = ("report.html", "metrics.json", "metrics.prom", "metrics.openmetrics")
"""Of the report."""

WRITTEN: Final = ".written.json"
"""What these files were made of, and their digests."""

DELTA: Final = "delta"
"""The folder of the same as tables of Delta Lake."""


def write_all(
    report: Report, spark: SparkSession, out: Path, digest: str, answers: Path, library: Future[str] | None
) -> None:
    """Write results/ and all files of the report below `out`. Result tables that the report has not whole are below
    `answers` or views of `spark`, `digest` is that of all that they are made of, `library` what `library_of_charts`
    will return. Raises OSError.
    """
    from pyrepl.metrics import parquet

    parquet.write(report, spark, out / RESULTS, digest, answers)
    write_files(report, out, digest, library)


def write_delta(out: Path) -> None:
    """Make the tables below `out`/delta what the results are. Raises ConfigError, OSError."""
    from pyrepl.metrics import delta

    delta.write((out / RESULTS).resolve(), out / DELTA)


def write_files(report: Report, out: Path, digest: str, library: Future[str] | None) -> None:
    """Write the files of the report, of results that are made of what `digest` names. Raises OSError."""
    from pyrepl.metrics.report.as_json import as_json
    from pyrepl.metrics.report.page import page

    assert library is not None
    replace(out / "report.html", [page(report, library.result())])
    replace(out / "metrics.json", as_json(report))
    _write_metrics(report, out / "metrics.prom", out / "metrics.openmetrics")
    replace(out / WRITTEN, [json.dumps(_written(out, digest, report.sources))])


def _write_metrics(report: Report, prom: Path, openmetrics: Path) -> None:
    """Both files at once: of a fleet, to make a metric takes about as long as to write it down."""
    from pyrepl.metrics.report.openmetrics import END, families, in_openmetrics, in_prometheus

    with replacing(prom, SHARED) as one, replacing(openmetrics, SHARED) as other:
        for family in families(report):
            one.write(in_prometheus(family).encode())
            other.write(in_openmetrics(family).encode())
        other.write(END.encode())


def still_stand(out: Path, digest: str, sources: Sequence[str]) -> bool:
    """Are the files of the report just those that were written for such results and logs? Their times are then of now:
    who watches how old they are is told that they hold."""
    try:
        if json.loads((out / WRITTEN).read_bytes()) != _written(out, digest, sources):
            return False
        for name in FILES:
            os.utime(out / name)
    except (OSError, ValueError):
        return False
    return True


def _written(out: Path, digest: str, sources: Sequence[str]) -> dict[str, Any]:
    """What the files are made of, and what is in them, by digests."""
    return {"made_of": digest, "sources": list(sources), "files": {name: _digest(out / name) for name in FILES}}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace(path: Path, content: Iterable[str]) -> None:
    """Write a file in one step, of pieces: whoever reads it meanwhile gets the old content or the new, never half of
    it. Raises OSError."""
    with replacing(path, SHARED) as file:
        for piece in content:
            file.write(piece.encode())
