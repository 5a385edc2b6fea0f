"""What masters cost and what other settings would have done for them: the SQL of it, as Polars and DuckDB understand
it."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

from pyrepl.metrics.results import (
    AVAILABILITY,
    BUFFER_WHAT_IF,
    COSTS,
    CUTS,
    DELAY_WHAT_IF,
    FORKS,
    STORMS,
    SYNCS,
)  # fmt: skip
from pyrepl.metrics.schemas import conform, schema
from pyrepl.metrics.what_if_sql import READS, STATEMENTS

MB = 1 << 20
Row = dict[str, Any]
TABLES = {table.name: table for table in (AVAILABILITY, CUTS, FORKS, STORMS, SYNCS)}
MADE = {table.name: table for table in (COSTS, BUFFER_WHAT_IF, DELAY_WHAT_IF)}


@pytest.fixture(params=["polars", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def told(engine: str, name: str, **tables: list[Row]) -> list[Row]:
    """The rows of a table, made of these and of nothing else."""
    found = {one: pl.DataFrame(tables.get(one, []), schema=schema(TABLES[one])) for one in READS}
    rows = conform(asked(engine, STATEMENTS[name], found), MADE[name])
    return rows.sort(rows.columns[:2]).to_dicts()


def asked(engine: str, statement: str, found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    if engine == "polars":
        return pl.SQLContext(found, eager=True).execute(statement)
    with duckdb.connect() as database:
        for name, rows in found.items():
            database.register(name, rows.to_arrow())
        return pl.DataFrame(database.sql(statement).to_arrow_table())


def cut(node: str, lacked: int | None, waited: int | None = None, **more: object) -> Row:
    row = {"node": node, "cause": "output_buffer", "phase": "stream", "back_s": 1.0, "lacked_bytes": lacked,
           "output_buffer_bytes": waited, "down_s": 2.0}  # fmt: skip
    return row | more


PAIRS = [{"node": "m", "replica": name} for name in "ab"] + [{"node": "n", "replica": "c"}]


def test_limits(engine: str) -> None:
    cuts = [
        cut("m", 30 * MB), cut("m", 10 * MB, 3 * MB), cut("m", None, 10 * MB), cut("n", 5 * MB),
        cut("m", None), cut("m", 90 * MB, cause="timeout"),
        cut("m", 90 * MB, back_s=10.0), cut("m", 90 * MB, back_s=None), cut("n", 7 * MB, back_s=60.0, phase="transfer"),
    ]  # fmt: skip
    rows = told(engine, "buffer_what_if", cuts=cuts, availability=PAIRS)
    counted = [
        (row["node"], row["limit_bytes"] // MB, row["avoided"], row["avoidable"], row["saved_s"]) for row in rows
    ]
    assert counted == [
        ("m", 10, 2, 3, 4.0), ("m", 30, 3, 3, 6.0), ("n", 5, 1, 2, 2.0), ("n", 7, 2, 2, 4.0),
    ]  # fmt: skip
    assert [row["memory_bytes"] // MB for row in rows] == [20, 60, 5, 7]
    assert rows[0]["share"] == pytest.approx(2 / 3)


def test_delays(engine: str) -> None:
    storms = [
        {"node": "m", "snapshots": 3, "delay_s": 4.0, "on_disk": 0},
        {"node": "m", "snapshots": 2, "delay_s": 1.5, "on_disk": 0},
        {"node": "m", "snapshots": 9, "delay_s": 0.5, "on_disk": 2},
    ]  # fmt: skip
    forks = [{"node": "m", "why": why} for why in ("sync", "sync", "sync", "sync", "sync", "sync", "save")]
    syncs = [{"node": "m", "mode": mode} for mode in ("full_diskless", "rdb_channel", "continue")]
    rows = told(engine, "delay_what_if", storms=storms, forks=forks, syncs=syncs)
    assert [(row["delay_s"], row["saved"], row["forks"], row["waited_s"]) for row in rows] == [
        (1.5, 1, 6, 3.0), (4.0, 3, 6, 8.0)
    ]  # fmt: skip
    assert rows[1]["share"] == 0.5


def test_costs(engine: str) -> None:
    pairs = [
        one | {"observed_s": 100.0, "online_s": 90.0, "open_outage_s": out}
        for one, out in zip(PAIRS, (None, 4.0, None))
    ]

    def full(cause: str | None, size: int | None, ok: bool | None = True, failure: str | None = None) -> Row:
        return {"node": "m", "mode": "full_disk", "cause": cause, "bytes_estimate": size, "ok": ok, "failure": failure}

    syncs = [
        full("first", 7), full("first", 5, False, "timeout"), full("out_of_backlog", 11), full("id_mismatch", None),
        full("forced", 3, False, "shutdown"), full("first", 9, None), full(None, 2) | {"mode": "continue"},
    ]  # fmt: skip
    forks = [
        {"node": "m", "why": why, "private_bytes": size} for why, size in (("sync", 5), ("sync", None), ("save", 9))
    ]
    first, second = told(engine, "costs", availability=pairs, syncs=syncs, forks=forks)
    assert first == {"node": "m", "replicas": 2, "out_now": 1, "out_s": 20.0, "fulls": 6, "avoidable": 2,
                     "resent_bytes": 5 + 11 + 3, "unknown": 1, "forks": 2, "private_bytes": 5}  # fmt: skip
    assert (second["node"], second["fulls"], second["out_s"], second["private_bytes"]) == ("n", 0, 10.0, None)


def test_of_nothing(engine: str) -> None:
    assert all(told(engine, name) == [] for name in STATEMENTS)
