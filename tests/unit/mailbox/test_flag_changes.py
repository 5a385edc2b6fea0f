"""Flags that differ between store and rows."""

from __future__ import annotations

from pyrepl.mailbox.flag_changes import GUARD, FlagChanges, change, with_change, without
from pyrepl.mailbox.portions import MOST_IN_OP
from pyrepl.mailbox.rows import MessageRow
from pyrepl.mailbox.words import Dot, Register, Stamp, Token


def row(number: int, *flags: str) -> MessageRow:
    registers = tuple(Register(flag, True, Stamp(1, "a")) for flag in flags)
    return MessageRow("g1", f"G{number:04}", number, Token(1, 0), (Dot("a", number),), 1, 1, registers)


def test_what_was_added_and_removed() -> None:
    changes = FlagChanges(None)
    changes.note(row(1, "\\Seen", "Work"), ("\\Seen", "work"))
    assert list(changes.parts()) == [], "keywords have no case"
    changes.note(row(2, "\\Seen"), ("\\Flagged", "x"))
    changes.note(row(3, "\\Seen"), ("\\Flagged", "x"))
    assert list(changes.parts()) == [((("\\Flagged", "x"), ("\\Seen",)), ("G0002", "G0003"))]


def test_what_cannot_be_shown_was_not_removed() -> None:
    changes = FlagChanges(frozenset({"\\Seen", "known"}))
    changes.note(row(1, "Known", "other"), ())
    assert list(changes.parts()) == [(((), ("Known",)), ("G0001",))]


def test_many_are_an_accident_and_parts_are_small() -> None:
    changes = FlagChanges(None)
    for number in range(MOST_IN_OP + 1):
        changes.note(row(number), ("\\Seen",))
        assert changes.are_many(number + 1) == (number + 1 > GUARD) and not changes.are_many(10_000)
    assert [len(guids) for _, guids in changes.parts()] == [MOST_IN_OP, 1]
    assert len(found := changes.by_message()) == MOST_IN_OP + 1 and found["G0000"] == (("\\Seen",), ())


def test_what_changed_is_asked_whatever_the_case() -> None:
    assert change({"\\Seen", "NonJunk"}, {"nonjunk", "New"}, None) == (("New",), ("\\Seen",))
    assert change({"\\Seen", "A", "B"}, (), {"a"}) == ((), ("A", "\\Seen"))
    assert without((("A", "b"), ("C",)), (("B",), ("c",))) == (("A",), ())


def test_what_a_mail_program_changed_meanwhile_stays_changed() -> None:
    assert with_change({"nonjunk", "kept"}, ("NonJunk",), ()) == {"kept"}
    assert with_change({"nonjunk"}, ("NonJunk",), ("NonJunk",)) == {"nonjunk"}
    assert with_change({"nonjunk"}, (), ("NonJunk", "\\Seen")) == {"nonjunk", "\\Seen"}
    assert with_change((), ("\\Seen",), ("\\Seen", "New")) == {"New"}, "it took \\Seen away"
