"""LOLWUT: a drawing within its bounds, and the version line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl import VERSION
from pyrepl.commands.node.lolwut import MOST_COLUMNS, MOST_ROWS, drawing
from pyrepl.resp.reply import Verbatim
from tests.unit.commands.rig import Dice, Rig


def text(line: str) -> str:
    reply = Rig().say(line)
    assert isinstance(reply, Verbatim)
    return reply.text.decode()


@given(columns=st.integers(1, 100), rows=st.integers(1, 30))
def test_a_drawing_has_one_master_and_some_replicas(columns: int, rows: int) -> None:
    lines = drawing(columns, rows, Dice())
    assert len(lines) == rows + 2
    assert max(map(len, lines)) <= columns
    assert lines[0].strip() == "@"
    assert set(lines[-1]) <= {"o", " "} and "o" in lines[-1]
    assert all(line.strip(" /|\\^") == "" for line in lines[1:-1])


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("LOLWUT", 14),
        ("LOLWUT 20 3", 5),
        ("LOLWUT VERSION 1", 14),
        ("LOLWUT VERSION 1 20 3", 5),
        (f"LOLWUT {MOST_COLUMNS + 1} {MOST_ROWS + 1}", MOST_ROWS + 2),
        ("LOLWUT 0 -5", 3),
    ],
)
def test_the_drawing_comes_before_the_version(line: str, drawn: int) -> None:
    picture, last = text(line).split("\n\n")
    assert len(picture.split("\n")) == drawn
    assert last.endswith(f"pyrepl ver. {VERSION}\n")


def test_a_version_without_a_drawing() -> None:
    assert text("LOLWUT VERSION 99") == f"pyrepl ver. {VERSION}\n"


@pytest.mark.parametrize("line", ["LOLWUT VERSION x", "LOLWUT x", "LOLWUT 5 x", "LOLWUT VERSION"])
def test_what_is_no_number(line: str) -> None:
    assert Rig().error(line) == "ERR value is not an integer or out of range"
