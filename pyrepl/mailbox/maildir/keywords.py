"""dovecot-keywords: which keyword a lower case letter in a file's name stands for, in one mailbox.

    <index from 0> <name>

The letter is "a" + index, so 26 have one. Names are compared without regard to case (ASCII). A letter keeps its name
for ever: files carry it, so a line whose name is no keyword of IMAP is kept as it stands, and its letter is nobody
else's; of two lines with one index the last counts. From the 27th keyword on Dovecot keeps names in its index alone,
where nobody else sees them. Two mailboxes give one keyword different letters, so keywords pass between nodes by name.

Source: Dovecot 2.3, maildir-keywords.c.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final, final

from pyrepl.mailbox.words import is_keyword
from pyrepl.words import from_text, to_text

MOST: Final = 26
MOST_NAME_BYTES: Final = 255

_FIRST_LETTER: Final = ord("a")
_LINE: Final = re.compile(rb"([0-9]+) (.+)", re.DOTALL)
_ATOM: Final = re.compile(rb"[^\0-\x20\x7f(){%*\"\\\]]+")


@final
class Keywords:
    """The keywords of one mailbox. Never changed: `with_name` makes another."""

    __slots__ = ("_index_by_key", "_names", "_own")

    def __init__(self, names: dict[int, str] | None = None, own: dict[int, bytes] | None = None) -> None:
        """`names`: index -> name; `own`: index -> what stands there and is no keyword that nodes can tell each other.
        Each index is below MOST, and in one of them."""
        self._names: Final = dict(names or {})
        self._own: Final = dict(own or {})
        self._index_by_key: Final = {name.lower(): index for index, name in self._names.items()}
        assert all(0 <= index < MOST for index in (*self._names, *self._own)) and not self._names.keys() & self._own

    @property
    def names(self) -> dict[int, str]:
        """Index -> name, of those that have one."""
        return dict(self._names)

    @property
    def told(self) -> frozenset[str]:
        """The names."""
        return frozenset(self._names.values())

    @property
    def has_own(self) -> bool:
        """Are there letters that stand for what nodes cannot tell each other?"""
        return bool(self._own)

    @property
    def lines(self) -> dict[int, bytes]:
        """Index -> what stands there."""
        return dict(sorted((self._own | {index: from_text(name) for index, name in self._names.items()}).items()))

    def letter(self, name: str) -> int | None:
        """The letter of a keyword, as a byte; None if it has none here."""
        index = self._index_by_key.get(name.lower())
        return None if index is None else _FIRST_LETTER + index

    def name(self, letter: int) -> str | None:
        """The keyword of a letter; None if that has no name here."""
        return self._names.get(letter - _FIRST_LETTER)

    def with_name(self, name: str, carried: Set[int] = frozenset()) -> Keywords | None:
        """These and one more, under the least free letter; None when all letters are taken. `carried`: letters, as
        bytes, that files have: such as have no name here lost it, and mean something else."""
        assert self.letter(name) is None and why_not(name) is None
        taken = self._names.keys() | self._own.keys() | {letter - _FIRST_LETTER for letter in carried}
        free = next((index for index in range(MOST) if index not in taken), None)
        return None if free is None else Keywords(self._names | {free: name}, self._own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keywords) and (other._names, other._own) == (self._names, self._own)

    def __hash__(self) -> int:
        return hash(frozenset(self.lines.items()))

    def __repr__(self) -> str:
        return f"Keywords({self._names!r}{f', {self._own!r}' if self._own else ''})"


def why_not(name: str) -> str | None:
    """Why a keyword cannot stand in the file; None if it can: an IMAP atom, of at most 255 bytes."""
    if len(from_text(name)) > MOST_NAME_BYTES:
        return f"a keyword has at most {MOST_NAME_BYTES} bytes"
    if not _ATOM.fullmatch(from_text(name)) or not is_keyword(name):
        return f"{name!r} is no keyword of IMAP, or no UTF-8"
    return None


def parse(data: bytes) -> Keywords:
    """The file. As Dovecot does, lines without an index and something behind it are passed over. A second letter of one
    name has none, but is nobody else's."""
    names: dict[int, str] = {}
    own: dict[int, bytes] = {}
    for line in data.split(b"\n"):
        found = _LINE.fullmatch(line)
        index = MOST if found is None else _index(found[1])
        if found is None or index >= MOST:
            continue
        name = to_text(found[2])
        names.pop(index, None)
        own.pop(index, None)
        is_taken = name.lower() in {other.lower() for other in names.values()}
        if not is_taken and why_not(name) is None:
            names[index] = name
        else:
            own[index] = found[2]
    return Keywords(names, own)


def _index(digits: bytes) -> int:
    significant = digits.lstrip(b"0")
    return int(significant or b"0") if len(significant) <= 2 else MOST


def render(keywords: Keywords) -> bytes:
    """The file, by index."""
    return b"".join(b"%d %b\n" % line for line in keywords.lines.items())
