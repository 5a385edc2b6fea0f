"""Nodes are analysed together when they belong together, and only then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyrepl.metrics.groups import groups
from pyrepl.metrics.parts import Piece
from tests.unit.metrics.inline import session

A, B, C = (letter * 40 for letter in "abc")


def piece(
    node: str, masters: int = 0, labels: tuple[str, ...] = (), replids: tuple[str, ...] = (), **kept: str
) -> Piece:
    """Of an event log."""
    told: dict[str, Any] = {"masters": masters, "labels": list(labels), "replids": list(replids)}
    return Piece(node, json.dumps({"table": "events", "form": "json", "node": node, **told}), kept, ())


def text(node: str, end: str, replids: tuple[str, ...] = (), **more: Any) -> Piece:
    """Of a text log of a node that was a master or a replica, at one time alone."""
    asks = {"master": [], "replica": []} | {end: [more.pop("at_us", 5)]}
    told: dict[str, Any] = {"labels": [], "followed": [], "port": None, "asks": asks, "replids": list(replids)}
    return Piece(node, json.dumps({"table": "events", "form": "text", "node": node, **told, **more}), {}, ())


def halves(folder: Path, *rows: tuple[str, str, str]) -> None:
    (folder / "halves").mkdir()
    found = pl.DataFrame(rows, schema=["sync", "node", "end"], orient="row")
    found.with_columns(asked_us=pl.lit(5, pl.Int64), decided_us=pl.lit(None, pl.Int64)).write_parquet(
        folder / "halves" / "p"
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], []),
        ([piece("a", masters=1), piece("b", masters=2), piece("a")], [("a",), ("b",)]),
        ([piece("a", labels=("m:1",)), piece("b", labels=("m:1",)), piece("c", labels=("n:1",))], [("a", "b"), ("c",)]),
        ([piece("a", labels=("b",)), piece("b")], [("a", "b")]),
        ([text("a", "master"), text("b", "replica"), text("c", "master"), piece("d")], [("a", "b", "c"), ("d",)]),
        ([text("a", "replica", labels=["m:1"]), text("b", "replica", labels=["m:1"])], [("a", "b")]),
    ],
)
def test_by_what_marks_tell(tmp_path: Path, found: list[Piece], expected: list[tuple[str, ...]]) -> None:
    assert groups(session(), tmp_path, found) == expected


def test_text_logs_by_the_ids_of_streams(tmp_path: Path) -> None:
    zeros = "0" * 40
    pairs = [text("m", "master", (A, zeros)), text("r", "replica", (A,)), text("n", "master", (B, zeros))]
    assert groups(session(), tmp_path, [*pairs, text("s", "replica", (B,))]) == [("m", "r"), ("n", "s")]
    assert groups(session(), tmp_path, [*pairs, text("s", "replica", followed=[B])]) == [("m", "r"), ("n", "s")]
    assert groups(session(), tmp_path, [*pairs, text("s", "replica", (C,))]) == [("m", "r"), ("n",), ("s",)]


def test_a_replica_that_followed_two_masters_joins_them(tmp_path: Path) -> None:
    found = [text("m", "master", (A,)), text("r", "replica", (A, B)), text("n", "master", (B,))]
    assert groups(session(), tmp_path, found) == [("m", "n", "r")]


def test_a_log_that_names_no_stream_may_fit_any(tmp_path: Path) -> None:
    pairs = [text("m", "master", (A,)), text("r", "replica", (A,)), text("n", "master", (B,))]
    assert groups(session(), tmp_path, [*pairs, text("s", "replica", port=1)]) == [("m", "n", "r", "s")]
    silent = text("s", "replica", labels=["x:1"])
    ports = [text("m", "master", (A,), port=2), text("r", "replica", (A,)), text("n", "master", (B,), port=1)]
    assert groups(session(), tmp_path, [*ports, silent]) == [("m", "r"), ("n", "s")]


def test_ends_of_one_sync(tmp_path: Path) -> None:
    halves(tmp_path, ("1", "m", "master"), ("1", "r", "replica"), ("2", "n", "master"), ("2", "s", "replica"))
    found = [piece(name, masters=1, halves="halves/p") for name in ("m", "n")]
    found += [piece(name, labels=(label,), halves="halves/p") for name, label in (("r", "x:1"), ("s", "x:2"))]
    assert groups(session(), tmp_path, found) == [("m", "r"), ("n", "s")]


def test_halves_that_are_left_over_may_fit(tmp_path: Path) -> None:
    halves(tmp_path, ("1", "m", "master"), ("2", "r", "replica"), ("3", "n", "master"), ("3", "s", "replica"))
    found = [piece(name, masters=1, halves="halves/p") for name in ("m", "n")]
    found += [piece(name, labels=(label,), halves="halves/p") for name, label in (("r", "x:1"), ("s", "x:2"))]
    assert groups(session(), tmp_path, found) == [("m", "r"), ("n", "s")]


def test_an_event_log_and_a_text_log_by_the_id_of_their_stream(tmp_path: Path) -> None:
    halves(tmp_path, ("1", "m", "master"), ("2", "n", "master"))
    found = [piece(name, masters=1, replids=(stream,), halves="halves/p") for name, stream in (("m", A), ("n", B))]
    assert groups(session(), tmp_path, [*found, text("r", "replica", (A,))]) == [("m", "r"), ("n",)]
