"""Prints what `pyrepl metrics` found, in the format that the command line asked for."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from .options import Options

if TYPE_CHECKING:
    from pyrepl.analysis.follow import Batch
    from pyrepl.metrics.report.model import Report


def print_report(report: Report, options: Options, charts: str | None) -> None:
    """Print the report to standard output. `charts` is the library that draws them, needed for HTML alone."""
    # Each where it is wanted: what some of them need takes long to be imported.
    if options.format == "json":
        from pyrepl.metrics.report.as_json import as_json

        sys.stdout.writelines(as_json(report))
    elif options.format == "openmetrics":
        from pyrepl.metrics.report.openmetrics import openmetrics

        sys.stdout.writelines(openmetrics(report))
    elif options.format == "prometheus":
        from pyrepl.metrics.report.openmetrics import prometheus

        sys.stdout.writelines(prometheus(report))
    elif options.format == "otlp":
        from pyrepl.metrics.report.otlp import otlp

        sys.stdout.write(otlp(report))
    elif options.format == "html":
        from pyrepl.metrics.report.page import page

        assert charts is not None
        sys.stdout.write(page(report, charts))
    else:
        from pyrepl.metrics.report.terminal import show as summarise

        summarise(report, Console())
        if options.asked.out is not None:
            written = "report.html, metrics.json, metrics.prom, metrics.openmetrics, results/ (Parquet)"
            written += ", delta/" if options.asked.delta else ""
            sys.stdout.write(f"Written to {options.asked.out}: {written}\n")


def print_batch(batch: Batch) -> None:
    """Print one line about a batch of --follow, for a person who watches."""
    report = batch.report
    totals = report.rows("totals")[0]
    sys.stdout.write(
        f"{_shown(report.made_at_us)} files with news {batch.files}, syncs {totals['syncs']}, "
        f"partial {totals['partial_ok']}, full {totals['full_ok']}, failed {totals['full_failed']}, "
        f"not understood {totals['unparsed_lines']}, final before {_shown(batch.final_us)}\n"
    )
    sys.stdout.flush()


def _shown(at_us: int | None) -> str:
    """Unix us as 2026-11-21T10:56:24Z."""
    return "-" if at_us is None else datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
