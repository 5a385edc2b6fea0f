"""Rows are values."""

from __future__ import annotations

from pyrepl.mailbox.rows import UNPLACED, MessageRow
from pyrepl.mailbox.words import Dot, Register, Stamp, Token


def test_a_message_has_the_flags_whose_registers_are_set() -> None:
    stamp = Stamp(3, "a")
    registers = (Register("\\Flagged", True, stamp), Register("\\Seen", False, stamp), Register("x", True, stamp))
    row = MessageRow("b1", "G1", UNPLACED, Token(1, 0), (Dot("a", 1),), 10, 20, registers)
    assert row.set_flags() == ("\\Flagged", "x")
    assert row._replace(uid=5) != row
