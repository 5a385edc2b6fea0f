"""Answers about no nodes are empty tables of the right shape; those of a run before are taken, or gone on from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.metrics import answers as module
from pyrepl.metrics.answers import answers, empty, kept_or_made
from pyrepl.metrics.keep import key
from pyrepl.metrics.parts import Sources, sources
from pyrepl.metrics.places import FOLDER
from pyrepl.metrics.results import RESULTS
from pyrepl.metrics.tables import ROLLUPS

NOTHING: Sources = sources([], (None, None), frozenset())


def test_of_no_nodes(tmp_path: Path) -> None:
    found, _ = answers(tmp_path, NOTHING)
    for table in RESULTS:
        if table.name in found:
            assert tuple(found[table.name].columns) == table.names and found[table.name].is_empty()
    assert found["counts"].rows() == [(0, 0, None, None, [], [], [], [])]


def test_asked_twice_worked_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept_or_made(tmp_path, NOTHING)
    monkeypatch.delattr(module, "answers")
    assert kept_or_made(tmp_path, NOTHING) == made == key(NOTHING)


def test_no_base_is_kept_of_questions_with_bounds(tmp_path: Path) -> None:
    kept_or_made(tmp_path, sources([], (1, None), frozenset()))
    assert not (tmp_path / FOLDER).exists()


def test_every_rollup_has_a_shape() -> None:
    assert all(empty(name).is_empty() and empty(name).columns for name in ROLLUPS)
