"""Memory sizes as redis.conf writes them and as INFO prints them."""

from __future__ import annotations

import pytest

from pyrepl.units import NO_REPLID, format_memory, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1048576", 1048576),
        ("1b", 1),
        ("1k", 1000),
        ("1kb", 1024),
        ("5m", 5_000_000),
        ("64MB", 64 * 1024**2),
        ("1g", 10**9),
        ("1Gb", 1024**3),
        (" 2kb ", 2048),
    ],
)
def test_memory_with_units(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "kb", "-1", "1.5gb", "1tb", "10%", "1 kb", "1kbb", "0x10", "١", "1e3", "+1"])
def test_no_memory_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a memory size such as"):
        parse_memory(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.00K"),
        (1536 * 1024, "1.50M"),
        (10 * 1024**3, "10.00G"),
        (1024**4, "1.00T"),
        (2 * 1024**5, "2.00P"),
    ],
)
def test_memory_for_people(size: int, text: str) -> None:
    assert format_memory(size) == text


def test_the_absent_replication_id_is_forty_zeros() -> None:
    assert NO_REPLID == "0" * 40
