"""The result tables are declared whole: every number has a unit or is a count, every column its rule."""

from __future__ import annotations

import pytest

from pyrepl.metrics.column import UNIX_US, Kind, Table
from pyrepl.metrics.results import RESULTS, SERIES
from pyrepl.metrics.tables import EVENTS, SAMPLES


@pytest.mark.parametrize("table", RESULTS, ids=lambda table: table.name)
def test_each_column_has_its_rule_once(table: Table) -> None:
    assert len(set(table.names)) == len(table.names)
    assert all(column.rule for column in table.columns)
    if table.days:
        assert {"day", "node"} <= set(table.names)


@pytest.mark.parametrize("table", RESULTS, ids=lambda table: table.name)
def test_the_unit_is_what_the_name_ends_in(table: Table) -> None:
    for column in table.columns:
        if column.kind is Kind.COUNT and column.name.endswith(("_bytes", "_us")):
            assert column.unit in ("bytes", "us", UNIX_US), column.name
        if column.name.endswith("_ms"):
            assert column.unit == "ms", column.name


def test_names_of_tables_are_their_own() -> None:
    assert len({table.name for table in RESULTS}) == len(RESULTS)


@pytest.mark.parametrize("table", [*RESULTS, SERIES, EVENTS, SAMPLES], ids=lambda table: table.name)
def test_points_in_time_are_told_from_spans(table: Table) -> None:
    for column in table.columns:
        is_point = column.name in ("at_us", "end_us", "first_us", "last_us")
        assert (column.unit == UNIX_US) == is_point, column.name
