"""Result tables have the columns and types that are declared."""

from __future__ import annotations

import pytest

from pyrepl.metrics.column import Kind, Table
from pyrepl.metrics.results import RESULTS
from pyrepl.metrics.tables import FILES, UNPARSED
from tests.unit.metrics.conftest import Analysed

TYPES = {Kind.TEXT: str, Kind.COUNT: int, Kind.NUMBER: float, Kind.FLAG: bool}


@pytest.mark.parametrize("table", [*RESULTS, FILES, UNPARSED], ids=lambda table: table.name)
def test_columns_and_types(corpora: dict[str, Analysed], table: Table) -> None:
    for corpus in corpora.values():
        for row in corpus.tables[table.name]:
            assert tuple(row) == table.names
            for column in table.columns:
                value = row[column.name]
                assert value is None or isinstance(value, TYPES[column.kind]), (column.name, value)
