"""What was answered is not answered again, unless something that it is made of has changed."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pyrepl.metrics.base import Base
from pyrepl.metrics.keep import FOLDER, answer_kept, base_kept, forget, keep_answer, keep_base, key, sweep
from pyrepl.metrics.packing import Frames
from pyrepl.metrics.parts import Again, Sources

WANTED = Sources(
    marks=[{"node": "a", "count": 3, "edges": [["r", 1, 2, 3, 4, 5, 6]]}],
    kept=[("halves", ("halves/p1", "halves/p2"), frozenset({"a", "b", "c"}))],
    again=[Again("events", "a", ("events/day=x/node=a/p1",), True)],
    text={"d": ("events/day=x/node=d/p1",)},
    told_elsewhere=frozenset({("d", "7"), ("e", "8")}),
    samples={},
    named=(),
    nodes=("a", "b", "c", "d"),
)
ROWS = pl.DataFrame({"node": ["a", "b"], "count": [1, None]})
ANSWER = {"syncs": ROWS, "cuts": ROWS.clear()}
BASE = Base(
    frozenset({("halves", "halves/p1", frozenset({"a", "b"})), ("values", "values/p1", frozenset({"a"}))}), ANSWER
)
DAMAGES = [None, b"", b"PK\x03\x04 cut short"]


def same(found: Frames | None) -> bool:
    return found is not None and list(found) == list(ANSWER) and all(found[name].equals(ANSWER[name]) for name in found)


def damage(tables: Path, content: bytes | None) -> None:
    (path,) = (tables / FOLDER).iterdir()
    path.unlink() if content is None else path.write_bytes(content)


def test_an_answer_is_there_for_who_asks_the_same(tmp_path: Path) -> None:
    keep_answer(tmp_path, WANTED, ANSWER)
    assert same(answer_kept(tmp_path, WANTED))
    assert answer_kept(tmp_path, replace(WANTED, again=[])) is None


@pytest.mark.parametrize("content", DAMAGES)
def test_a_damaged_answer_is_none(tmp_path: Path, content: bytes | None) -> None:
    keep_answer(tmp_path, WANTED, ANSWER)
    damage(tmp_path, content)
    assert answer_kept(tmp_path, WANTED) is None
    keep_answer(tmp_path, WANTED, ANSWER)
    assert same(answer_kept(tmp_path, WANTED))


def test_a_base_is_there_for_whatever_is_asked_about_its_nodes(tmp_path: Path) -> None:
    keep_base(tmp_path, WANTED, BASE)
    found = base_kept(tmp_path, replace(WANTED, again=[]))
    assert found is not None and found.made_of == BASE.made_of and same(found.tables)
    assert base_kept(tmp_path, replace(WANTED, nodes=("a", "c"))) is None


@pytest.mark.parametrize("content", DAMAGES)
def test_a_damaged_base_is_none(tmp_path: Path, content: bytes | None) -> None:
    keep_base(tmp_path, WANTED, BASE)
    damage(tmp_path, content)
    assert base_kept(tmp_path, WANTED) is None


def test_frames_that_are_none_are_not_taken(tmp_path: Path) -> None:
    keep_answer(tmp_path, WANTED, ANSWER)
    (path,) = (tmp_path / FOLDER).iterdir()
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("syncs", b"no frame")
    assert answer_kept(tmp_path, WANTED) is None


def test_all_is_forgotten(tmp_path: Path) -> None:
    keep_answer(tmp_path, WANTED, ANSWER)
    keep_base(tmp_path, WANTED, BASE)
    forget(tmp_path)
    forget(tmp_path)
    assert (answer_kept(tmp_path, WANTED), base_kept(tmp_path, WANTED)) == (None, None)


def test_all_that_it_is_made_of_names_it() -> None:
    others = [
        replace(WANTED, marks=[{**WANTED.marks[0], "count": 4}]),
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
        keep_answer(tmp_path, one, ANSWER)
        keep_base(tmp_path, one, BASE)
    keep_base(tmp_path, replace(WANTED, nodes=("x",)), BASE)
    assert sweep(tmp_path, [WANTED]) == 2
    assert same(answer_kept(tmp_path, WANTED)) and base_kept(tmp_path, WANTED) is not None
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
