"""Nodes are analysed together when they belong together, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyrepl.metrics.groups import groups
from pyrepl.metrics.parts import Piece


def piece(node: str, form: str = "json", masters: int = 0, labels: tuple[str, ...] = (), **rollups: str) -> Piece:
    mark: dict[str, Any] = {"table": "events", "form": form, "node": node, "masters": masters, "labels": list(labels)}
    return Piece(mark, rollups, ())


def halves(folder: Path, *rows: tuple[str, str, str]) -> None:
    (folder / "halves").mkdir()
    pl.DataFrame(rows, schema=["sync", "node", "end"], orient="row").write_parquet(folder / "halves" / "p")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], []),
        ([piece("a", masters=1), piece("b", masters=2), piece("a")], [("a",), ("b",)]),
        ([piece("a", labels=("m:1",)), piece("b", labels=("m:1",)), piece("c", labels=("n:1",))], [("a", "b"), ("c",)]),
        ([piece("a", labels=("b",)), piece("b")], [("a", "b")]),
        ([piece("a", "text"), piece("b", "text"), piece("c", masters=1), piece("d")], [("a", "b", "c"), ("d",)]),
    ],
)
def test_by_what_marks_tell(tmp_path: Path, found: list[Piece], expected: list[tuple[str, ...]]) -> None:
    assert groups(tmp_path, found) == expected


def test_ends_of_one_sync(tmp_path: Path) -> None:
    halves(tmp_path, ("1", "m", "master"), ("1", "r", "replica"), ("2", "n", "master"), ("2", "s", "replica"))
    found = [piece(name, masters=1, halves="halves/p") for name in ("m", "n")]
    found += [piece(name, labels=(label,), halves="halves/p") for name, label in (("r", "x:1"), ("s", "x:2"))]
    assert groups(tmp_path, found) == [("m", "r"), ("n", "s")]


def test_halves_that_are_left_over_may_fit(tmp_path: Path) -> None:
    halves(tmp_path, ("1", "m", "master"), ("2", "r", "replica"), ("3", "n", "master"), ("3", "s", "replica"))
    found = [piece(name, masters=1, halves="halves/p") for name in ("m", "n")]
    found += [piece(name, labels=(label,), halves="halves/p") for name, label in (("r", "x:1"), ("s", "x:2"))]
    assert groups(tmp_path, found) == [("m", "r"), ("n", "s")]
