"""dovecot-keywords: which keyword a lower case letter in a file's name stands for, in one mailbox.

    <index from 0> <name>

The letter is "a" + index, so 26 have one. Names are compared without regard to case (ASCII). A letter keeps its name
for ever: files carry it. From the 27th keyword on Dovecot keeps names in its index alone, where nobody else sees them.
Two mailboxes give one keyword different letters, so keywords pass between nodes by name.

Source: Dovecot 2.3, maildir-keywords.c.
"""

from __future__ import annotations

import re
from typing import Final, final

from pyrepl.words import from_text, to_text

MOST: Final = 26
MOST_NAME_BYTES: Final = 255

_FIRST_LETTER: Final = ord("a")
_LINE: Final = re.compile(rb"([0-9]{1,4}) ([^\0-\x20\x7f(){%*\"\\\]]+)")


@final
class Keywords:
    """The keywords of one mailbox. Never changed: `with_name` makes another."""

    __slots__ = ("_index_by_key", "_names")

    def __init__(self, names: dict[int, str] | None = None) -> None:
        """`names`: index -> name, each index below MOST."""
        self._names: Final = dict(names or {})
        self._index_by_key: Final = {name.lower(): index for index, name in self._names.items()}
        assert all(0 <= index < MOST for index in self._names)

    @property
    def names(self) -> dict[int, str]:
        """Index -> name."""
        return dict(self._names)

    def letter(self, name: str) -> int | None:
        """The letter of a keyword, as a byte; None if it has none here."""
        index = self._index_by_key.get(name.lower())
        return None if index is None else _FIRST_LETTER + index

    def name(self, letter: int) -> str | None:
        """The keyword of a letter; None if that has no name here."""
        return self._names.get(letter - _FIRST_LETTER)

    def with_name(self, name: str) -> Keywords | None:
        """These and one more, under the least free letter; None when all letters are taken."""
        assert self.letter(name) is None and why_not(name) is None
        free = next((index for index in range(MOST) if index not in self._names), None)
        return None if free is None else Keywords(self._names | {free: name})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keywords) and other._names == self._names

    def __hash__(self) -> int:
        return hash(frozenset(self._names.items()))

    def __repr__(self) -> str:
        return f"Keywords({self._names!r})"


def why_not(name: str) -> str | None:
    """Why a keyword cannot stand in the file; None if it can: an IMAP atom, of at most 255 bytes."""
    if len(from_text(name)) > MOST_NAME_BYTES:
        return f"a keyword has at most {MOST_NAME_BYTES} bytes"
    if not _LINE.fullmatch(b"0 " + from_text(name)):
        return f"{name!r} is no keyword of IMAP"
    return None


def parse(data: bytes) -> Keywords:
    """The file. As Dovecot does, lines that say nothing are passed over: a keyword is less than the mailbox."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for line in data.split(b"\n"):
        found = _LINE.fullmatch(line)
        if not found or len(found[2]) > MOST_NAME_BYTES:
            continue
        index, name = int(found[1]), to_text(found[2])
        if index < MOST and index not in names and name.lower() not in taken:
            names[index] = name
            taken.add(name.lower())
    return Keywords(names)


def render(keywords: Keywords) -> bytes:
    """The file, by index."""
    return b"".join(b"%d %b\n" % (index, from_text(name)) for index, name in sorted(keywords.names.items()))
