"""What is printed of results; of a whole report, see test_run.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.metrics.options import Options
from cli.metrics.results import print_batch, print_report
from pyrepl.analysis.asked import Asked
from pyrepl.analysis.follow import Batch
from pyrepl.metrics.report.model import Report
from tests.unit.metrics.report.sample import report


def batch(files: int, final_us: int | None) -> Batch:
    totals = {"syncs": 3, "partial_ok": 1, "full_ok": 1, "full_failed": 1, "unparsed_lines": 7}
    return Batch(Report({"totals": [totals]}, ("log",), 1795258584000000, "0", {}, frozenset()), files, final_us)


def test_what_a_batch_tells(capsys: pytest.CaptureFixture[str]) -> None:
    print_batch(batch(2, 1795258530000000))
    print_batch(batch(0, None))
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "2026-11-21T10:56:24Z files with news 2, syncs 3, partial 1, full 1, failed 1, not understood 7, "
        "final before 2026-11-21T10:55:30Z"
    )
    assert second.endswith("final before -")


def test_what_has_been_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for delta, end in ((False, "results/ (Parquet)"), (True, "results/ (Parquet), delta/")):
        print_report(report(), Options(Asked(("log",), Path("out"), delta=delta)), None)
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith("Written to out: report.html, ") and last.endswith(end)
