"""Answers travel as they are; those about no nodes are empty tables of the right shape."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.answers import answer_all, answers, empty, packed, unpacked
from pyrepl.metrics.parts import Sources, sources
from pyrepl.metrics.results import RESULTS
from pyrepl.metrics.rollup import NAMES

NOTHING: Sources = sources([], (None, None), frozenset())


def test_of_no_nodes(tmp_path: Path) -> None:
    found = answers(tmp_path, NOTHING)
    for table in RESULTS:
        if table.name in found:
            assert tuple(found[table.name].columns) == table.names and found[table.name].is_empty()
    assert found["counts"].rows() == [(0, None, None)]


def test_there_and_back(tmp_path: Path) -> None:
    found = answers(tmp_path, NOTHING)
    back = unpacked(packed(found))
    assert all(back[name].equals(rows) and back[name].schema == rows.schema for name, rows in found.items())
    (told,) = answer_all(iter([NOTHING]), str(tmp_path))
    assert sorted(told) == sorted(found)


def test_every_rollup_has_a_shape() -> None:
    assert all(empty(name).is_empty() and empty(name).columns for name in NAMES)
