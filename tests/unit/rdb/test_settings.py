"""list-max-listpack-size: bytes by negative values, elements by others."""

from __future__ import annotations

import pytest

from pyrepl.rdb.settings import list_node_bytes, list_node_entries


@pytest.mark.parametrize(
    ("directive", "size_bytes", "entries"),
    [(-1, 4096, 1 << 31), (-2, 8192, 1 << 31), (-5, 65536, 1 << 31), (-9, 65536, 1 << 31), (0, 8192, 1), (7, 8192, 7)],
)
def test_limits(directive: int, size_bytes: int, entries: int) -> None:
    assert list_node_bytes(directive) == size_bytes
    assert list_node_entries(directive) == entries
