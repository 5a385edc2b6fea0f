"""Amounts in advice: sizes with headroom, as configuration files and sentences have them."""

from __future__ import annotations

from math import ceil
from typing import Final

SPARE: Final = 1.2
"""What happened is met with a fifth to spare: the next time is never the same to the byte."""
HEADROOM: Final = 2
"""What is advised survives so many times what happened."""
_KB: Final = 1 << 10
_MB: Final = 1 << 20


def least(size: float) -> int:
    """The least setting for what needed `size` bytes: a fifth above, in whole megabytes (below one, kilobytes)."""
    unit = _MB if size * SPARE >= _MB else _KB
    return ceil(size * SPARE / unit) * unit


def roomy(size: float) -> int:
    """The setting that survives twice `size` bytes: the next step above, of which each power of two has four."""
    wanted = max(ceil(size * HEADROOM), 4 * _KB)
    step = 1 << (wanted.bit_length() - 3)
    return -(-wanted // step) * step


def setting(size: float) -> str:
    """Bytes as the configuration file has them, rounded up to whole megabytes (or kilobytes, below one)."""
    return f"{ceil(size / _KB)}kb" if size < _MB else f"{ceil(size / _MB)}mb"


def shown(size: float) -> str:
    """Bytes in a sentence, decimal: `1.5 MB`."""
    if size >= 10_000_000_000:
        return f"{size / 1e9:,.1f} GB"
    if size >= 100_000:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e3:,.1f} kB" if size >= 1000 else f"{size:.0f} bytes"


def span(seconds: float) -> str:
    """Seconds in a sentence: `12.5 s`, below one `40 ms`."""
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def times(count: int) -> str:
    """`once`, `2 times`."""
    return "once" if count == 1 else f"{count:,} times"
