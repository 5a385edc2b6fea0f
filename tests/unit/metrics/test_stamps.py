"""Times in words."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.ranges import UTC
from pyrepl.metrics.stamps import iso_us, local_us

AT_US = 1_795_259_381_858_000


@pytest.mark.parametrize(
    ("words", "us"),
    [
        ("2026-11-21T11:09:41.858Z", AT_US),
        ("2026-11-21 11:09:41.858123999+00:00", AT_US + 123),
        ("2026-11-21T13:09:41.858+0200", AT_US),
        ("2026-11-21T05:39:41.858-05:30", AT_US),
        ("2026-11-21T11:09:41Z", AT_US - 858_000),
        ("2026-13-41T11:09:41Z", None),
        ("yesterday", None),
    ],
)
def test_iso(words: str, us: int | None) -> None:
    assert iso_us(pa.array([words, None])).to_pylist() == [us, None]


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_iso_is_what_python_reads(at: datetime, east: int) -> None:
    words = f"{at.isoformat()}{'-' if east < 0 else '+'}{abs(east) // 60:02}:{abs(east) % 60:02}"
    assert iso_us(pa.array([words])).to_pylist() == [round(datetime.fromisoformat(words).timestamp() * 1_000_000)]


def test_a_zone() -> None:
    words, form = pa.array(["2026 Nov 21 11:09:41", "2026 Nov 41 11:09:41"]), "%Y %b %d %H:%M:%S"
    whole = AT_US - 858_000
    assert local_us(words, form, UTC).to_pylist() == [whole, None]
    assert local_us(words, form, "Europe/Berlin").to_pylist() == [whole - 3_600_000_000, None]
