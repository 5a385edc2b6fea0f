"""Spark's tasks answer in the order in which they were asked, whatever the order in which they are begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrepl.metrics.asking import answer_all, by_tasks
from pyrepl.metrics.keep import FOLDER
from pyrepl.metrics.parts import Bounds, Sources
from tests.unit.metrics.inline import Inline

MARK = {
    "table": "samples", "form": "json", "first_us": 1, "last_us": 2, "count": 1, "backlog_size": None, "sampled": False,
    "edges": [],
}  # fmt: skip


def of_node(name: str, bounds: Bounds = (None, None)) -> Sources:
    return Sources([{**MARK, "node": name}], [], [], {}, frozenset(), {}, (), bounds, (name,))


def asked(tables: Path, groups: list[Sources]) -> list[list[str]]:
    spark: Any = Inline()
    return [found["nodes"]["node"].to_list() for found in by_tasks(spark)(groups, tables)]


def test_in_the_order_of_the_groups(tmp_path: Path) -> None:
    assert asked(tmp_path, [of_node(name) for name in "bac"]) == [["b"], ["a"], ["c"]]


def test_what_is_kept_does_not_travel(tmp_path: Path) -> None:
    assert list(answer_all(iter([of_node("a")]), str(tmp_path))) == [None]


def test_what_is_not_kept_does(tmp_path: Path) -> None:
    (told,) = answer_all(iter([of_node("a", (0, None))]), str(tmp_path))
    assert told is not None and "nodes" in told
    assert asked(tmp_path, [of_node("a", (0, None))]) == [["a"]]
    assert not (tmp_path / FOLDER).exists()
