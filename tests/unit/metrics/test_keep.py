"""What was answered is not answered again, unless something that it is made of has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyrepl.metrics.keep import FOLDER, Packed, kept, key, sweep
from pyrepl.metrics.parts import Again, Sources

WANTED = Sources(
    marks=[{"node": "a", "count": 3, "edges": [["r", 1, 2, 3, 4, 5, 6]]}],
    kept=[("halves", ("halves/p1", "halves/p2"), frozenset({"a", "b", "c"}))],
    again=[Again("events", "a", ("events/day=x/node=a/p1",), True)],
    text={"d": ("events/day=x/node=d/p1",)},
    told_elsewhere=frozenset({("d", "7"), ("e", "8")}),
    samples={},
    named=(),
)
ANSWER: Packed = {"syncs": b"\x00rows", "cuts": b""}


class Answers:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> Packed:
        self.asked += 1
        return ANSWER


def test_asked_once(tmp_path: Path) -> None:
    answer = Answers()
    assert [kept(tmp_path, WANTED, answer) for _ in range(3)] == [ANSWER] * 3
    assert answer.asked == 1


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut short"])
def test_what_is_damaged_is_answered_anew(tmp_path: Path, content: bytes | None) -> None:
    answer = Answers()
    kept(tmp_path, WANTED, answer)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.unlink() if content is None else path.write_bytes(content)
    assert kept(tmp_path, WANTED, answer) == kept(tmp_path, WANTED, answer) == ANSWER
    assert answer.asked == 2


def test_bounded_questions_are_not_kept(tmp_path: Path) -> None:
    answer = Answers()
    for _ in range(2):
        kept(tmp_path, replace(WANTED, bounds=(5, None)), answer)
    assert answer.asked == 2 and not (tmp_path / FOLDER).exists()


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
        kept(tmp_path, one, Answers())
    assert sweep(tmp_path, [WANTED]) == 1
    assert [path.stem for path in (tmp_path / FOLDER).iterdir()] == [key(WANTED)]
