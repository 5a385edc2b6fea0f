"""Entries: in the order of GUIDs, none missed, and their digests."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.entries import Known, digest, entries, entry, known_of
from pyrepl.mailbox.rows import UNPLACED, GoneRow, MessageRow
from pyrepl.mailbox.words import Dot, Register, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

BOX = "1" * 32
ROW = MessageRow(
    BOX,
    "G1",
    7,
    Token(2, 1),
    (Dot("a", 1), Dot("b", 9)),
    10,
    20,
    (Register("\\Seen", True, Stamp(3, "a")),),
    5,
    (1, 2),
)
GONE = GoneRow(BOX, 3, "G1", (Dot("c", 4),), 6, (Register("*", False, Stamp(2, "a")),))


def rows_of(there: dict[str, int], gone: dict[str, int]) -> MemoryRows:
    rows = MemoryRows()
    for guid, uid in there.items():
        rows.put_message(ROW._replace(guid=guid, uid=uid))
    for guid, uid in gone.items():
        rows.put_gone(GONE._replace(guid=guid, uid=uid))
    return rows


GUIDS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 10**6), max_size=12)


@given(GUIDS, GUIDS, st.integers(1, 5))
def test_pages_have_each_entry_once_in_order(there: dict[str, int], gone: dict[str, int], most: int) -> None:
    rows = rows_of(there, gone)
    found: list[Known] = []
    after = ""
    while True:
        page, after = entries(rows, BOX, after, "", most)
        assert len(page) <= most and (not after or page[-1].guid == after)
        found += page
        if not after:
            break
    assert [each.guid for each in found] == sorted(there.keys() | gone.keys())
    assert all(each == entry(rows, BOX, each.guid) for each in found)
    assert entries(rows, BOX, "", "b", 100)[0] == [each for each in found if each.guid <= "b"]


def test_a_digest_is_of_the_rows_and_of_nothing_else() -> None:
    one, other = rows_of({"G1": 1, "G2": 2}, {"G3": 3}), rows_of({"G2": 2, "G1": 1}, {"G3": 3})
    other.put_message(ROW._replace(guid="G4"))
    other.drop_message(BOX, "G4")
    assert digest(entries(one, BOX, "", "", 9)[0]) == digest(entries(other, BOX, "", "", 9)[0])


def test_a_digest_tells_of_every_change() -> None:
    changes: dict[str, Any] = {
        "uid": 8,
        "token": Token(2, 2),
        "dots": (Dot("a", 1),),
        "size": 11,
        "received": 21,
        "flags": (),
        "modseq": 6,
        "sums": (),
    }
    assert changes.keys() == set(MessageRow._fields) - {"box", "guid"}
    whole = Known("G1", ROW, GONE)
    changed = [whole._replace(row=ROW._replace(**{name: value})) for name, value in changes.items()]
    changed += [whole._replace(gone=GONE._replace(modseq=7)), whole._replace(gone=None), whole._replace(row=None)]
    digests = {each.digest() for each in (whole, *changed)}
    assert len(digests) == len(changed) + 1
    assert whole._replace(gone=GONE._replace(uid=4)).digest() == whole.digest(), "each node has the UID it has shown"


def test_an_entry_comes_back_from_its_words() -> None:
    for each in (
        Known("G1", ROW, GONE),
        Known("G1", ROW._replace(uid=UNPLACED), None),
        Known("G1", None, GONE),
        Known("G1", None, None),
    ):
        assert known_of("G1", each.messages("alice")) == each
    assert (Known("G1", ROW, GONE).uid, Known("G1", None, GONE).uid) == (7, UNPLACED)
