"""examples/metrics.ipynb runs over the results of a run as they are."""

from __future__ import annotations

import json

from tests.house.source import ROOT
from tests.unit.metrics.conftest import Row
from tests.unit.metrics.notebook import cells
from tests.unit.metrics.report.sample import report

NOTEBOOK = ROOT / "examples" / "metrics.ipynb"


def test_every_cell_shows_rows_of_the_results(seen: dict[str, list[Row]]) -> None:
    shown = [row["columns"] and row for row in seen["notebook"]]
    assert len(shown) == len(cells(NOTEBOOK))
    views, described, by_mode, by_day, replicas, advice, by_node = shown
    assert views is None
    assert described["columns"] == ["col_name", "data_type", "comment"]
    assert by_mode["columns"][:3] == ["mode", "syncs", "failed"]
    assert sum(row[1] for row in by_mode["rows"]) == len(report().rows("syncs"))
    fulls = [row for row in report().rows("syncs") if row["mode"] != "continue"]
    assert sum(row[2] for row in by_day["rows"]) == len(fulls)
    assert len(replicas["rows"]) == len(report().rows("availability"))
    assert len(advice["rows"]) == len(report().rows("advice"))
    assert len(by_node["rows"]) == len({row["node"] for row in report().rows("syncs")})


def test_it_is_kept_without_what_a_run_has_shown() -> None:
    found = json.loads(NOTEBOOK.read_text())
    assert found["nbformat"] == 4
    assert all(cell["outputs"] == [] for cell in found["cells"] if cell["cell_type"] == "code")
