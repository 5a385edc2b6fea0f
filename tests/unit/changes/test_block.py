"""A block renders its facts once, in both forms."""

from __future__ import annotations

from pyrepl.changes.block import Block


def test_several_rows_of_one_token_are_a_batch() -> None:
    block = Block("keys", "w", 10, 25, [(12, ["[1]"]), (20, ["[2]", "[3]", "[4]"]), (21, [])])
    assert block.lines(named=False) == (
        b"RDATA keys 12 [1]\nRDATA keys batch [2]\nRDATA keys batch [3]\nRDATA keys 20 [4]\n"
    )
    assert block.lines(named=True).splitlines()[0] == b"RDATA keys w 12 [1]"
    assert block.rows == 4


def test_everybody_gets_the_same_object() -> None:
    block = Block("keys", "w", 0, 1, [(1, ["[]"])])
    assert block.lines(named=False) is block.lines(named=False)
    assert block.lines(named=True) is block.lines(named=True)


def test_longest_line() -> None:
    block = Block("s", "w", 0, 2, [(1, ["[1]"]), (2, ["[22]"])])
    assert block.longest_line(named=False) == len(b"RDATA s 2 [22]\n")
    assert Block("s", "w", 0, 2, []).longest_line(named=False) == 0
