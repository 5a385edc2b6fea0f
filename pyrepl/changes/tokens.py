"""The words of the line protocol that say where a subscriber stands: stream names, writers and tokens.

Not here: the commands they stand in (verbs.py) and what a token means to a stream (sources).

| word | is |
|---|---|
| token | decimal digits, at most 24, from 0: everything up to and including it is known |
| `batch` | in RDATA in place of a token: more rows of the same token follow |
| `NOW` | in REPLICATE in place of a token: what comes from now on |
| `ALL` | in REPLICATE in place of a stream: all of them; only with NOW |
| stream, writer | any other word; a writer may look like no token, or the two forms of RDATA could not be told apart |

A person types NOW and ALL in any case, so no case of them is a name.
"""

from __future__ import annotations

from typing import Final

from pyrepl.errors import PeerError

BATCH: Final = "batch"
NOW: Final = "NOW"
ALL: Final = "ALL"

MAX_ID: Final = 2**63 - 1
"""Ids of facts are signed 64-bit integers to databases, as offsets are to Redis."""

MAX_TOKEN: Final = MAX_ID * 10**5 + 99_999
"""An offset with the digits of its history behind it (history_digits.py)."""

MAX_TOKEN_DIGITS: Final = len(str(MAX_TOKEN))

MAX_WORD_LENGTH: Final = 128
"""Characters of a stream's or writer's name."""


def is_token(word: str) -> bool:
    """Is `word` shaped like a token? A replication id, even one of digits alone, is longer."""
    return word.isascii() and word.isdigit() and len(word) <= MAX_TOKEN_DIGITS


def is_now(word: str) -> bool:
    """Does `word` mean "what comes from now on"?"""
    return word.upper() == NOW


def is_all(word: str) -> bool:
    """Does `word` stand for every stream?"""
    return word.upper() == ALL


def parse_token(word: str) -> int:
    """The token that `word` states. Raises PeerError if it is none, or beyond MAX_TOKEN."""
    if not is_token(word) or int(word) > MAX_TOKEN:
        raise PeerError(f"expected a token (a number from 0 to {MAX_TOKEN}), got {shown(word)}")
    return int(word)


def why_not_stream(word: str) -> str | None:
    """Why `word` cannot name a stream; None if it can."""
    if is_all(word):
        return f"{ALL} stands for every stream and names none"
    return _why_not_name(word)


def why_not_writer(word: str) -> str | None:
    """Why `word` cannot name a writer; None if it can."""
    if is_token(word) or word == BATCH or is_now(word):
        return f"{shown(word)} would be read as a token"
    return _why_not_name(word)


def shown(text: str, most: int = 64) -> str:
    """`text` in quotes for an error line: escaped, and at most so many characters of it."""
    return ascii(text if len(text) <= most else text[:most] + "...")


def _why_not_name(word: str) -> str | None:
    if not word:
        return "a name has at least one character"
    if len(word) > MAX_WORD_LENGTH:
        return f"a name has at most {MAX_WORD_LENGTH} characters, this one {len(word)}"
    if not word.isprintable() or " " in word:
        return f"a name has no spaces or control characters, {shown(word)} has"
    return None
