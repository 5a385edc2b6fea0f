"""Types that keep numbers of different kinds apart, and the suffixes people write behind numbers."""

from __future__ import annotations

from typing import Final, NewType

Offset = NewType("Offset", int)
"""A cut in a replication stream: how many of its bytes lie to the left. Never negative."""

ReplId = NewType("ReplId", str)
"""A replication id: 40 lowercase hexadecimal digits."""

DbIndex = NewType("DbIndex", int)
"""Number of a database, from 0."""

UnixMs = NewType("UnixMs", int)
"""A point in time: milliseconds since 1970-01-01 UTC."""

NO_REPLID: Final = ReplId("0" * 40)
"""What Redis prints where there is no second replication id."""

MEMORY_UNITS: Final[dict[str, int]] = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1024,
    "m": 1000**2,
    "mb": 1024**2,
    "g": 1000**3,
    "gb": 1024**3,
}
"""redis.conf's memory suffixes (case-insensitive), in bytes: `k` is decimal, `kb` binary."""


def parse_memory(text: str) -> int:
    """Bytes meant by a redis.conf memory value such as `64mb` or `1048576`.

    Raises ValueError for anything else, negative numbers and fractions included, as Redis does.
    """
    lowered = text.strip().lower()
    digits = lowered.rstrip("bkmg")
    unit = lowered[len(digits) :]
    if not (digits.isascii() and digits.isdigit()) or unit not in MEMORY_UNITS:
        raise ValueError(f"{text!r} is not a memory size such as 1048576, 64kb, 64mb or 1gb")
    return int(digits) * MEMORY_UNITS[unit]


def format_memory(size_bytes: int) -> str:
    """A size for people, as INFO's *_human fields print it: `1.50M`, `512B`."""
    if size_bytes < 1024:
        return f"{size_bytes}B"
    value = float(size_bytes)
    for suffix in "KMGT":
        value /= 1024
        if value < 1024:
            return f"{value:.2f}{suffix}"
    return f"{value / 1024:.2f}P"
