"""The letters of a file's name as flags, and back: D F R S T are IMAP's own, a to z are keywords (keywords.py).

P (passed on), letters of programs that nobody here knows, and a lower case letter without a name are no flags: they
stay in the name as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyrepl.mailbox.maildir.filename import sorted_letters
from pyrepl.mailbox.maildir.keywords import Keywords

SYSTEM: Final = {
    "\\Draft": ord("D"),
    "\\Flagged": ord("F"),
    "\\Answered": ord("R"),
    "\\Seen": ord("S"),
    "\\Deleted": ord("T"),
}
_FLAGS: Final = {letter: flag for flag, letter in SYSTEM.items()}


def flags_of(letters: bytes, keywords: Keywords) -> frozenset[str]:
    """The flags of a name."""
    found = (_FLAGS.get(letter) or keywords.name(letter) for letter in letters)
    return frozenset(flag for flag in found if flag is not None)


def letters_of(flags: Iterable[str], keywords: Keywords, had: bytes = b"") -> bytes:
    """The letters of these flags, and of `had` those that are no flags. A keyword without a letter has none."""
    wanted = [letter for flag in flags if (letter := letter_of(flag, keywords)) is not None]
    others = [letter for letter in had if letter not in _FLAGS and keywords.name(letter) is None]
    return sorted_letters(bytes([*wanted, *others]))


def letter_of(flag: str, keywords: Keywords) -> int | None:
    """The letter of one flag, as a byte; None for a keyword that has none here, and for a system flag that no file
    carries (\\Recent)."""
    return SYSTEM.get(flag) if flag.startswith("\\") else keywords.letter(flag)
