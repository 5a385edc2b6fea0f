"""Which RDB version a server reads at most, by its kind and version."""

from __future__ import annotations

from typing import Final

_READS: Final[dict[str, tuple[tuple[tuple[int, ...], int], ...]]] = {
    "redis": (((8, 6), 13), ((7, 4), 12), ((7, 2), 11), ((7, 0), 10), ((5, 0), 9)),
    "valkey": (((9,), 80), ((7, 2), 11)),
}
"""By maker: from this version on, this number; the newest first. Source: RDB_VERSION in each one's rdb.h; what a number
brought stands in rdb/versions.py. Of Redis's numbers above 11 Valkey reads none."""


def reads(kind: str | None, version: str | None) -> int | None:
    """The highest RDB version, as the directive `rdb-version` takes it; None when it is not known.

    `version` is the server's own, as `7.0.15`.
    """
    number = tuple(int(part) for part in (version or "").split(".") if part.isdigit())
    return next((rdb for since, rdb in _READS.get(kind or "", ()) if number >= since), None)
