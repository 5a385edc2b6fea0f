"""What is known of a message fits into a line, whatever members add to it while they are apart."""

from __future__ import annotations

from pyrepl.mailbox.bounds import (
    MOST_CHAR_BYTES,
    MOST_DOTS,
    MOST_KEYWORD_BYTES,
    MOST_MEMBERS,
    WHY_MANY_KEYWORDS,
    fitting,
    has_room,
    with_room,
)
from pyrepl.mailbox.codec import LINE_LIMIT, Decoder, Line, encode
from pyrepl.mailbox.flags import from_set
from pyrepl.mailbox.modseqs import MOST_MODSEQ
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.verbs import Message, Side, Store
from pyrepl.mailbox.words import LAST_UID, SYSTEM_FLAGS, Box, Dot, Register, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

GUID = "1" * 32
SYSTEM = tuple(SYSTEM_FLAGS.values())
KNOWN = from_set(SYSTEM, Stamp(1, "a"))


def filled(name: str, length: int = 200) -> list[str]:
    """Keywords for which there is just room."""
    found: list[str] = []
    while has_room(KNOWN, [*found, f"{name}{len(found):03d}".ljust(length, "y")]):
        found.append(f"{name}{len(found):03d}".ljust(length, "y"))
    return found


def test_members_that_all_reach_the_bound_while_apart_can_still_tell_it() -> None:
    names = [f"{number}".ljust(32, "n") + "~999999999" for number in range(MOST_MEMBERS)]
    stamps = [
        Register(flag, False, Stamp(MOST_MODSEQ, name))
        for place, name in enumerate(names)
        for flag in [*filled(f"k{place}", 10), *(SYSTEM if not place else ())]
    ]
    message = Message(
        user="\U0001f4e7" * 255,
        box=Box(GUID, True),
        guid="\xe9" * 64,
        uid=LAST_UID,
        token=Token(MOST_MODSEQ, MOST_MODSEQ),
        dots=tuple(Dot(name, MOST_MODSEQ - number) for name in names for number in range(MOST_DOTS)),
        stamps=tuple(stamps),
        modseq=MOST_MODSEQ,
        size=2**40,
        received=2**40,
        sum=(2**32 - 1, 2**32 - 1),
    )
    line = encode(message, "p" * 16)
    assert LINE_LIMIT * 3 // 4 < len(line) <= LINE_LIMIT
    assert list(Decoder(Side.NODE).feed(line)) == [Line("p" * 16, message)]


def test_keywords_count_as_a_line_has_them_those_too_that_were_taken_away() -> None:
    long = "\U0001f4e7" * (MOST_KEYWORD_BYTES // MOST_CHAR_BYTES)
    assert has_room(KNOWN, [long[:-10]]) and not has_room(KNOWN, [long])
    keywords = filled("k")
    taken = tuple(Register(name, False, Stamp(2, "a")) for name in keywords)
    assert has_room(taken, keywords) and not has_room(taken, ["k" * 200])
    assert has_room(taken, SYSTEM), "these are few, and always have room"


def test_what_is_known_already_may_change_on_and_on() -> None:
    """Members may have passed the bound together."""
    known = from_set([*filled("k"), *filled("m")], Stamp(1, "a"))
    assert has_room(known, filled("m")) and not has_room(known, ["n"])


def test_a_message_comes_with_the_flags_for_which_there_is_room() -> None:
    keywords = filled("k")
    assert set(fitting([*keywords, "k999" + "y" * 200, *SYSTEM])) == {*keywords, *SYSTEM}


def test_messages_without_room_are_left_out_and_told() -> None:
    rows = MemoryRows()
    rows.put_box(BoxRow(GUID, "alice", "Work", Stamp(1, "a"), 7))
    for uid, keywords in enumerate(([], filled("k")), start=1):
        flags = from_set(keywords, Stamp(1, "a"))
        rows.put_message(MessageRow(GUID, f"G{uid}", uid, Token(1, 0), (Dot("a", uid),), 4, 7, flags))
    store = Store(user="alice", box=Box(GUID, True), guids=("G1", "G2"), add=("k" * 200,))
    told: list[tuple[str, ...]] = []
    assert with_room(rows, [store], lambda *about: told.append(about)) == [store.replaced(guids=("G1",))]
    assert with_room(rows, [store.replaced(guids=("G2",))], lambda *about: told.append(about)) == []
    assert told == [("alice", "Work", WHY_MANY_KEYWORDS)] * 2
