"""What other sizes would have done, from what happened."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.results import SYNCS
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.what_if import what_if
from tests.unit.metrics.conftest import Analysed


def test_what_is_saved_is_estimated_or_not_told() -> None:
    rows = [
        {"node": node, "cause": "out_of_backlog", "behind_bytes": 10, "total_ms": 5.0, "bytes": size,
         "bytes_estimate": estimate}
        for node, size, estimate in (("known", 100, 100), ("known", None, 90), ("silent", None, None))
    ]  # fmt: skip
    found = what_if(pl.DataFrame(rows, schema=schema(SYNCS)))
    assert dict(found.select("node", "saved_bytes").rows()) == {"known": 170, "silent": None}


def test_where_there_was_no_backlog_no_size_would_have_done() -> None:
    rows = [{"node": "m", "cause": cause, "behind_bytes": size} for cause, size in (
        ("no_backlog", 10), ("out_of_backlog", 20), ("first", 30)
    )]  # fmt: skip
    found = what_if(pl.DataFrame(rows, schema=schema(SYNCS)))
    assert found.select("backlog_size", "avoided", "avoidable").rows() == [(20, 1, 1)]


def test_the_smallest_backlog_that_would_have_done(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["text"].rows("backlog_what_if", "redis7-disk")
    assert (row["backlog_size"], row["avoided"], row["avoidable"], row["share"]) == (52690, 1, 1, 1.0)
