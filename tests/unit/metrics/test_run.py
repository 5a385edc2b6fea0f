"""The report tells where it comes from; the whole run is tests/unit/cli/metrics/test_run.py's."""

from __future__ import annotations

from pathlib import Path

from pyrepl import VERSION
from pyrepl.metrics.run import answer
from pyrepl.metrics.wanted import Steps, Wanted
from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS


def test_a_report_has_all_tables_and_where_they_come_from(tmp_path: Path) -> None:
    logs, told = LOGS / "events" / "pyrepl-pair", list[str]()
    inline.read(logs, tmp_path)
    report = answer(inline.session(), Wanted((str(logs),), tmp_path), Steps(told.append, lambda: 0.0), 7)
    assert (report.sources, report.made_at_us, report.version) == ((str(logs),), 7, VERSION)
    assert told == list(report.seconds) == ["analyse", "collect"]
    assert {name: list(rows) for name, rows in report.tables.items()} == inline.told(tmp_path)
