"""Connections that fetch a snapshot and are no replicas, `redis-cli --rdb` and its like: they have no port.

A replica says where it listens before it asks to sync; a tool that fetches a snapshot, or looks at the stream, listens
nowhere, and its master logs it without a port. Such a tool comes and goes as its user likes: what became of it says
nothing of how replicas are kept, so it is counted and left out of all else.
"""

from __future__ import annotations

from typing import Final

import polars as pl

_NO_PORT: Final = r":(?:0|<unknown-(?:replica|slave)-port>)$"
"""How the peer of such a connection ends, in logs of Redis, Valkey and pyrepl of all versions."""


def is_portless(peer: str) -> pl.Expr:
    """Does the column `peer` name somebody who listens nowhere? False where it is null."""
    return pl.col(peer).str.contains(_NO_PORT).fill_null(False)


def without_dumps(halves: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The halves (ends.py) of syncs of replicas, and how many dumps there were besides.

    A sync that a replica's own log tells of too is a replica's, whatever its master calls it.
    """
    dump = (pl.col("end") == "master") & is_portless("peer") & ~pl.col("sync").is_duplicated()
    asked = pl.coalesce("asked_us", "decided_us").is_not_null()
    count = halves.select((dump & asked).sum()).item()
    return halves.filter(~dump), int(count)
