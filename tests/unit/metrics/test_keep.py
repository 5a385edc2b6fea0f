"""What was answered is not answered again, unless something that it is made of has changed."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pyrepl.metrics.base import Base
from pyrepl.metrics.keep import (
    base_kept,
    is_kept,
    keep_answer,
    keep_base,
    keep_telling,
    key,
    sweep,
    telling_kept,
)  # fmt: skip
from pyrepl.metrics.parts import Again, Sources
from pyrepl.metrics.places import DONE, FOLDER, of_answer, place
from pyrepl.metrics.story import Stand
from pyrepl.metrics.telling import Place, Telling

WANTED = Sources(
    marks=['{"node": "a", "count": 3, "edges": [["r", 1, 2, 3, 4, 5, 6]]}'],
    kept=[("halves", ("halves/p1", "halves/p2"), frozenset({"a", "b", "c"}))],
    again=[Again("events", "a", ("events/day=x/node=a/p1",), True)],
    text={"d": ("events/day=x/node=d/p1",)},
    told_elsewhere=frozenset({("d", "7"), ("e", "8")}),
    samples={},
    named=(),
    groups=(("a", "b"), ("c", "d")),
)
KEY = key(WANTED)
ROWS = pl.DataFrame({"node": ["a", "b"], "count": [1, None]})
TABLES = {"syncs": ROWS, "cuts": ROWS.clear()}
ANSWER = {DONE: ROWS, **TABLES}
BASE = Base(
    frozenset({("halves", "halves/p1", "a"), ("halves", "halves/p1", "b"), ("values", "values/p1", "a")}), TABLES
)
DAMAGES = [None, b"", b"PK\x03\x04 cut short"]


def same(found: Mapping[str, pl.DataFrame] | None) -> bool:
    return found is not None and list(found) == list(TABLES) and all(found[name].equals(TABLES[name]) for name in found)


def damage(tables: Path, content: bytes | None) -> None:
    (path,) = (path for path in (tables / FOLDER).rglob("*") if path.is_file())
    path.unlink() if content is None else path.write_bytes(content)


def test_an_answer_is_there_for_who_asks_the_same(tmp_path: Path) -> None:
    keep_answer(tmp_path / FOLDER, KEY, ANSWER)
    assert is_kept(tmp_path / FOLDER, KEY) and not is_kept(tmp_path / FOLDER, key(replace(WANTED, again=[])))
    for name, rows in ANSWER.items():
        path = of_answer(tmp_path / FOLDER, KEY, name)
        assert pl.read_parquet(path).equals(rows) and path.parent == tmp_path / FOLDER / name


def test_an_answer_that_was_not_finished_is_none(tmp_path: Path) -> None:
    keep_answer(tmp_path / FOLDER, KEY, {"syncs": ROWS})
    assert not is_kept(tmp_path / FOLDER, KEY)


@pytest.mark.parametrize("content", [None, b"", b"PAR1 cut short"])
def test_an_answer_of_which_a_file_is_damaged_is_none(tmp_path: Path, content: bytes | None) -> None:
    keep_answer(tmp_path / FOLDER, KEY, ANSWER)
    assert is_kept(tmp_path / FOLDER, KEY, TABLES)
    path = of_answer(tmp_path / FOLDER, KEY, "syncs")
    path.unlink() if content is None else path.write_bytes(content)
    assert not is_kept(tmp_path / FOLDER, KEY, TABLES)


def test_answers_with_bounds_stand_apart_until_the_next_question(tmp_path: Path) -> None:
    bounded = replace(WANTED, bounds=(1, None))
    folder = place(tmp_path, bounded.bounds)
    assert folder != place(tmp_path, WANTED.bounds) == tmp_path / FOLDER
    keep_answer(tmp_path / FOLDER, KEY, ANSWER)
    keep_answer(folder, key(bounded), ANSWER)
    assert sweep(tmp_path, [bounded], [key(bounded)]) == 0
    assert is_kept(tmp_path / FOLDER, KEY) and is_kept(folder, key(bounded))
    assert sweep(tmp_path, [WANTED], [KEY]) == 3
    assert is_kept(tmp_path / FOLDER, KEY) and not is_kept(folder, key(bounded))


def test_a_base_is_there_for_whatever_is_asked_about_its_nodes(tmp_path: Path) -> None:
    keep_base(tmp_path, WANTED, BASE)
    found = base_kept(tmp_path, replace(WANTED, again=[]))
    assert found is not None and found.made_of == BASE.made_of and same(found.tables)
    assert base_kept(tmp_path, replace(WANTED, groups=(("a", "c"),))) is None


@pytest.mark.parametrize("content", DAMAGES)
def test_a_damaged_base_is_none(tmp_path: Path, content: bytes | None) -> None:
    keep_base(tmp_path, WANTED, BASE)
    damage(tmp_path, content)
    assert base_kept(tmp_path, WANTED) is None


TOLD = Telling(
    {
        "d": Place(
            frozenset({"events/p1"}), ("7",), Stand(5, [{"at_us": 5, "sync": None}], {"link": None, "replicas": []})
        )
    },
    TABLES,
    ({"node": "d", "count": 3, "backlog_size": [5, 7]},),
)


def test_what_was_told_is_there_for_whatever_is_asked_about_its_nodes(tmp_path: Path) -> None:
    keep_telling(tmp_path, WANTED, TOLD)
    found = telling_kept(tmp_path, replace(WANTED, again=[]))
    assert found is not None and (found.places, found.marks) == (TOLD.places, TOLD.marks) and same(found.tables)
    assert telling_kept(tmp_path, replace(WANTED, groups=(("a", "c"),))) is None
    assert sweep(tmp_path, [WANTED], [KEY]) == 0
    assert sweep(tmp_path, [replace(WANTED, groups=(("a", "c"),))], [KEY]) == 1


def test_what_was_told_by_another_version_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_telling(tmp_path, WANTED, TOLD)
    monkeypatch.setattr("pyrepl.metrics.keep.SHAPE", 0)
    assert telling_kept(tmp_path, WANTED) is None


@pytest.mark.parametrize("content", DAMAGES)
def test_what_was_told_and_is_damaged_is_none(tmp_path: Path, content: bytes | None) -> None:
    keep_telling(tmp_path, WANTED, TOLD)
    damage(tmp_path, content)
    assert telling_kept(tmp_path, WANTED) is None


@pytest.mark.parametrize("told", [{"made_of": b"[]", "syncs": b"no frame"}, {"syncs": b""}])
def test_what_is_no_base_is_not_taken(tmp_path: Path, told: dict[str, bytes]) -> None:
    keep_base(tmp_path, WANTED, BASE)
    (path,) = (path for path in (tmp_path / FOLDER).rglob("*.zip"))
    with zipfile.ZipFile(path, "w") as file:
        for name, data in told.items():
            file.writestr(name, data)
    assert base_kept(tmp_path, WANTED) is None


def test_all_that_it_is_made_of_names_it() -> None:
    others = [
        replace(WANTED, marks=[WANTED.marks[0].replace("3", "4", 1)]),
        replace(WANTED, kept=[("halves", ("halves/p1",), frozenset({"a", "b", "c"}))]),
        replace(WANTED, again=[]),
        replace(WANTED, text={}),
        replace(WANTED, told_elsewhere=frozenset()),
    ]
    assert len({key(one) for one in (WANTED, *others)}) == 1 + len(others)
    assert key(replace(WANTED, told_elsewhere=frozenset({("e", "8"), ("d", "7")}))) == key(WANTED)


def test_what_is_asked_no_more_is_removed(tmp_path: Path) -> None:
    other = replace(WANTED, again=[])
    for one in (WANTED, other):
        keep_answer(tmp_path / FOLDER, key(one), ANSWER)
        keep_base(tmp_path, one, BASE)
    keep_base(tmp_path, replace(WANTED, groups=(("x",),)), BASE)
    assert sweep(tmp_path, [WANTED], [KEY]) == 4
    assert is_kept(tmp_path / FOLDER, KEY) and base_kept(tmp_path, WANTED) is not None
    assert not is_kept(tmp_path / FOLDER, key(other))
