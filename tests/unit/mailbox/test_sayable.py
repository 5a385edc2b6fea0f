"""What no node could read of an op is refused before it is made."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.sayable import MOST_BYTES, sayable, why_unsayable
from pyrepl.mailbox.verbs import Op, Save, Store
from pyrepl.mailbox.words import Box, Dot
from pyrepl.words import to_text

BOX = Box("1" * 32, True)
GOOD = Store(user="alice", box=BOX, guids=("G1", "höst", "a b"), add=("\\Seen", "kw"))
SAVE = Save(user="alice", box=BOX, uid=1, guid="G1", size=1, received=1)


@pytest.mark.parametrize(
    "op",
    [
        SAVE.replaced(received=-1800),
        SAVE.replaced(guid=to_text(b"h\xf6st")),
        SAVE.replaced(guid="x" * 129),
        SAVE.replaced(uid=2**32),
        GOOD.replaced(add=(to_text(b"ge\xf6scht"),)),
        GOOD.replaced(add=("my label",)),
        GOOD.replaced(guids=tuple(f"{number:0128}" for number in range(MOST_BYTES // 128))),
    ],
)
def test_what_cannot_be_read(op: Op) -> None:
    assert why_unsayable(op)
    whys: list[str] = []
    assert sayable([GOOD, op, SAVE], whys.append) == [GOOD, SAVE] and whys == [why_unsayable(op)]


def test_one_without_a_number_has_room_for_it() -> None:
    """What may be made is so by the journal as well, which knows the number."""
    op = GOOD
    while why_unsayable(op) is None:
        op = op.replaced(add=(*op.add, f"k{len(op.add):0250}"))
    for cut in range(250):
        shorter = op.replaced(add=(*op.add[:-1], op.add[-1][: 250 - cut]))
        if why_unsayable(shorter) is None:
            numbered = shorter.replaced(at=Dot("a" * 32 + "~9", 2**63 - 1), modseq=2**63 - 1, left=9)
            assert why_unsayable(numbered) is None
            return
    raise AssertionError


def test_what_can() -> None:
    assert why_unsayable(GOOD) is None and why_unsayable(SAVE) is None
