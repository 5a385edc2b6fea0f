"""What `pyrepl metrics` found, as it goes out: files below --out, or text for whoever asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from .spark import Options

if TYPE_CHECKING:
    import polars as pl

    from pyrepl.metrics.report.model import Report


def library_of_charts() -> str:
    from pyrepl.metrics.report.library import bundle

    return bundle()


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


def print_report(report: Report, options: Options, library: Future[str] | None) -> None:
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
