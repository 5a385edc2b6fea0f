"""Attempts as attempts.py has them, of which a test names what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from pyrepl.metrics.answers import empty
from pyrepl.metrics.attempts import attempts

Told = dict[str, Any]


def frame(rows: Iterable[Told]) -> pl.DataFrame:
    """The attempts, in the order in which they are given; what a row does not name is null."""
    return shaped(attempts(pl.DataFrame(schema=empty("halves").schema), {})[0].clear(), rows)


def children(rows: Iterable[Told]) -> pl.DataFrame:
    """Snapshot children as rollup.py has them."""
    return shaped(empty("children"), rows)


def shaped(like: pl.DataFrame, rows: Iterable[Told]) -> pl.DataFrame:
    """Rows in the shape of a frame."""
    told = list(rows)
    unknown = {name for row in told for name in row} - set(like.columns)
    assert not unknown, f"there are no columns {unknown}"
    return pl.DataFrame([{name: row.get(name) for name in like.columns} for row in told], schema=like.schema)
