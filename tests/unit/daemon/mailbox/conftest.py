"""Rows in a file of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[SqliteRows]:
    found = SqliteRows(tmp_path / "mailbox.db", 1 << 20, lambda: 1000.0)
    yield found
    found.close()
