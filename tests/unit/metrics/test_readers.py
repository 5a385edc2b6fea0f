"""Which RDB version a server reads."""

from __future__ import annotations

import pytest

from pyrepl.metrics.readers import reads
from pyrepl.rdb.versions import WRITABLE_VERSIONS


@pytest.mark.parametrize(
    ("kind", "version", "number"),
    [
        ("redis", "6.2.6", 9), ("redis", "7.0.15", 10), ("redis", "7.2.4", 11), ("redis", "8.2.3", 12),
        ("redis", "8.6.0", 13), ("valkey", "8.0.1", 11), ("valkey", "9.1.0", 80), ("redis", "4.0.1", None),
        ("pyrepl", "0.1.0", None), (None, None, None),
    ],
)  # fmt: skip
def test_reads(kind: str | None, version: str | None, number: int | None) -> None:
    assert reads(kind, version) == number
    assert number is None or number in {one.number for one in WRITABLE_VERSIONS}
