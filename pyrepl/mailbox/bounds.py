"""How much may be known of one message: all of it has to fit into one line.

What is known of a message grows: each SAVE of it is one more reason for it to be there, and a flag that was ever set or
taken away stays known. A member that takes it by state gets all of that as one MESSAGE. A line that is too long would
end the connection each time, so that no member could take anything from this node any more. So what mail processes and
mail programs add ends at a bound, which leaves room for what other members add before they hear of it.

Not here: how long the line of an op may be (sayable.py), and what others may say (refusals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pyrepl.mailbox.rows import Rows
from pyrepl.mailbox.verbs import Store
from pyrepl.mailbox.words import FLOOR, Registers, escape

MOST_MEMBERS: Final = 7
"""So many may reach both bounds for one message while they are apart, and its MESSAGE is a line still."""
MOST_DOTS: Final = 50
"""SAVEs and COPYs that brought one message, where a mail process saves it once more."""
MOST_KEYWORD_BYTES: Final = 5 * 1024
"""Of what is known of a message's keywords, as a line has it, where one is added. System flags are few and not
counted."""
STAMP_BYTES: Final = 66
"""Of a keyword's register, besides its name, at most."""
MOST_CHAR_BYTES: Final = 12
"""Of a character, at most: four bytes, each escaped."""
WHY_MANY_DOTS: Final = f"this message was saved {MOST_DOTS} times in the mailbox already, which is as often as may be"
WHY_MANY_KEYWORDS: Final = (
    f"a message would have had too many keywords or too long ones: with those that were taken away, {STAMP_BYTES} bytes"
    f" more for each, they may have {MOST_KEYWORD_BYTES} bytes"
)


def has_room(known: Registers, flags: Iterable[str]) -> bool:
    """May these flags of a message be set, or taken away, of whose flags this is known?"""
    before = {register.flag for register in known if _is_keyword(register.flag)}
    names = before.union(flag for flag in flags if _is_keyword(flag))
    if len(names) == len(before):
        return True
    stamps = STAMP_BYTES * len(names)
    if stamps + MOST_CHAR_BYTES * sum(map(len, names)) <= MOST_KEYWORD_BYTES:
        return True
    return stamps + sum(len(escape(name)) for name in names) <= MOST_KEYWORD_BYTES


def _is_keyword(flag: str) -> bool:
    return flag != FLOOR and not flag.startswith("\\")


def fitting(flags: Iterable[str]) -> tuple[str, ...]:
    """The flags that a message comes with: those for which there is room, ascending."""
    found: list[str] = []
    for flag in sorted(flags):
        if has_room((), [*found, flag]):
            found.append(flag)
    return tuple(found)


def with_room(rows: Rows, stores: Iterable[Store], refused: Callable[[str, str, str], None]) -> list[Store]:
    """The STOREs without those messages that have no room for their flags; `refused` is told of these: whose they are,
    in which mailbox, and why."""
    found: list[Store] = []
    for store in stores:
        box = store.box.text
        known = [(guid, rows.message(box, guid)) for guid in store.guids]
        flags = (*store.add, *store.remove)
        guids = tuple(guid for guid, row in known if row is None or has_room(row.flags, flags))
        if len(guids) < len(store.guids):
            named = rows.box(box)
            refused(store.user, box if named is None else named.name, WHY_MANY_KEYWORDS)
        if guids:
            found.append(store.replaced(guids=guids))
    return found
