"""Rows of a fact as one text."""

from __future__ import annotations

import pytest

from pyrepl.changes.table import pack_rows, unpack_rows


@pytest.mark.parametrize("rows", [(), ("1",), ("1", "[2]", '{"a":\t3}')])
def test_both_ways(rows: tuple[str, ...]) -> None:
    assert unpack_rows(pack_rows(rows)) == rows


def test_a_row_stays_one_row() -> None:
    assert unpack_rows(pack_rows(["[1,\n2]", "3\r\n"])) == ("[1, 2]", "3  ")


@pytest.mark.parametrize("row", ["", "\n", "  "])
def test_nothing_is_no_row(row: str) -> None:
    with pytest.raises(ValueError, match="got nothing"):
        pack_rows(["1", row])
