"""The canonical tables are declared whole."""

from __future__ import annotations

import pytest

from pyrepl.metrics.column import Table
from pyrepl.metrics.tables import EVENTS, FILES, UNPARSED


@pytest.mark.parametrize("table", [EVENTS, UNPARSED, FILES], ids=lambda table: table.name)
def test_each_column_has_its_rule_once(table: Table) -> None:
    assert len(set(table.names)) == len(table.names)
    assert all(column.rule for column in table.columns)
    assert table.grain.startswith("one row per ")


def test_events_are_partitioned_by_what_they_have() -> None:
    assert EVENTS.days
    assert {"day", "node"} <= set(EVENTS.names)
