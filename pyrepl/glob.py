"""Redis's glob patterns (KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET), with the meaning of its stringmatchlen.

| in a pattern | matches |
|---|---|
| `*` | any bytes, also none |
| `?` | one byte |
| `[abc]`, `[a-z]`, `[^...]` | one byte of the class (or not of it); `\\` escapes inside; `[z-a]` is `[a-z]` |
| `\\x` | the byte x itself; a lone `\\` at the end stands for itself |
| any other byte | itself |

An unclosed class ends with the pattern. The empty text matches only the empty pattern and `*`. A pattern with more than
1,000 stars matches no text; stars in a row count as one, those at the end not at all (Redis 7.0 and 8.2).

Theory: every element but `*` consumes exactly one byte, so a pattern is a row of fixed-length pieces between stars. The
first piece stands at the start, the last one at the end, and taking each of the others at its leftmost place loses no
match. A piece after a star is therefore an atomic group for the regular expression engine: no backtracking into it,
time at most len(pattern) * len(text). A text that is shorter than all pieces together is turned down before anything
is compiled, so that a long pattern costs no more than reading it once.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final, final

_STAR: Final = 0x2A
_ANY: Final = 0x3F
_OPEN: Final = 0x5B
_CLOSE: Final = 0x5D
_BACKSLASH: Final = 0x5C
_CARET: Final = 0x5E
_DASH: Final = 0x2D
_SPECIAL: Final = re.compile(rb"[*?\[\\]")

_ALL: Final = 0
_LITERAL: Final = 1
_PREFIX: Final = 2
_SUFFIX: Final = 3
_INFIX: Final = 4
_GENERAL: Final = 5

_MOST_STARS: Final = 1000
_NEVER: Final = re.compile(b"(?!)")


@final
class Glob:
    """One compiled pattern.

    `literal` is the only text that matches, if the pattern has no special bytes and case counts, else None: a caller
    with a dict looks it up. `matches_all` is True for the pattern `*`.
    """

    __slots__ = ("_fixed", "_kind", "_nocase", "_parts", "_shortest", "literal", "matches_all", "pattern")

    def __init__(self, pattern: bytes, nocase: bool = False) -> None:
        """With `nocase`, ASCII letters match in either case."""
        self.pattern: Final = pattern
        self._kind = _GENERAL
        self._fixed = b""
        self._nocase = nocase
        self._shortest = 0
        """Bytes of the shortest text that can match, for the general kind."""
        self._parts: _Parts | None = None
        """From the first text on that is long enough."""
        if not nocase or pattern.lower() == pattern.upper():
            self._choose_fast_path()
        self.literal: Final = pattern if self._kind == _LITERAL else None
        self.matches_all: Final = self._kind == _ALL
        if self._kind == _GENERAL:
            self._shortest = _shortest_text(pattern)

    def _choose_fast_path(self) -> None:
        pattern = self.pattern
        inner = pattern.strip(b"*")
        if _SPECIAL.search(inner) is not None:
            return
        self._fixed = inner
        opened = pattern.startswith(b"*")
        closed = pattern.endswith(b"*")
        if not inner:
            self._kind = _ALL if pattern else _LITERAL
        elif opened and closed:
            self._kind = _INFIX
        elif opened:
            self._kind = _SUFFIX
        else:
            self._kind = _PREFIX if closed else _LITERAL

    def matches(self, text: bytes) -> bool:
        """Does the whole of `text` match?"""
        if not text:
            return self.pattern in (b"", b"*")
        kind = self._kind
        if kind == _ALL:
            return True
        if kind == _PREFIX:
            return text.startswith(self._fixed)
        if kind == _LITERAL:
            return text == self._fixed
        if kind == _INFIX:
            return self._fixed in text
        if kind == _SUFFIX:
            return text.endswith(self._fixed)
        if len(text) < self._shortest:
            return False
        if self._parts is None:
            self._parts = _Parts(self.pattern, self._nocase)
        return self._parts.match(text)


@final
class _Parts:
    """A pattern as regular expressions: `_head` for all up to the last star, `_tail` for the last piece, of fixed
    length; without a star `_tail` is all there is."""

    __slots__ = ("_head", "_tail", "_tail_size")

    def __init__(self, pattern: bytes, nocase: bool) -> None:
        pieces = _pieces(pattern, nocase)
        first, *others = [_piece_regex(piece) for piece in pieces]
        self._tail_size = len(pieces[-1])
        self._head: re.Pattern[bytes] | None = None
        if not others:
            self._tail = re.compile(first, re.DOTALL)
            return
        self._tail = re.compile(others.pop(), re.DOTALL)
        if len(pieces) - (1 if pieces[-1] else 2) > _MOST_STARS:
            self._head = _NEVER
        else:
            self._head = re.compile(first + b"".join([b"(?>.*?" + piece + b")" for piece in others]), re.DOTALL)

    def match(self, text: bytes) -> bool:
        """`text` is no shorter than all pieces together."""
        tail_at = len(text) - self._tail_size
        if self._head is None:
            return tail_at == 0 and self._tail.match(text) is not None
        return self._tail.match(text, tail_at) is not None and self._head.match(text, 0, tail_at) is not None


def _shortest_text(pattern: bytes) -> int:
    """How many bytes the elements of a pattern consume, stars left out."""
    count = 0
    at = 0
    end = len(pattern)
    while at < end:
        byte = pattern[at]
        if byte == _OPEN:
            at = _class_end(pattern, at + 1)
        elif byte == _BACKSLASH and at + 1 < end:
            at += 2
        else:
            at += 1
        if byte != _STAR:
            count += 1
    return count


def _pieces(pattern: bytes, nocase: bool) -> list[list[bytes]]:
    """What stands before, between and behind the stars, an expression for each byte it consumes."""
    pieces: list[list[bytes]] = [[]]
    at = 0
    end = len(pattern)
    while at < end:
        byte = pattern[at]
        at += 1
        if byte == _STAR:
            if pieces[-1] or len(pieces) == 1:
                pieces.append([])
        elif byte == _ANY:
            pieces[-1].append(b".")
        elif byte == _OPEN:
            members, at = _read_class(pattern, at, nocase)
            pieces[-1].append(_class_regex(members))
        else:
            if byte == _BACKSLASH and at < end:
                byte = pattern[at]
                at += 1
            pieces[-1].append(_class_regex(_both_cases(byte) if nocase else {byte}))
    return pieces


def _piece_regex(piece: list[bytes]) -> bytes:
    """Equal elements in a row become one with a count."""
    runs = [(element, len(list(run))) for element, run in groupby(piece)]
    return b"".join([element if count == 1 else b"%b{%d}" % (element, count) for element, count in runs])


def _class_end(pattern: bytes, at: int) -> int:
    """The position behind the class whose first byte after `[` is at `at`; the steps are those of `_read_class`."""
    end = len(pattern)
    if at < end and pattern[at] == _CARET:
        at += 1
    while at < end and pattern[at] != _CLOSE:
        if pattern[at] == _BACKSLASH and at + 1 < end:
            at += 2
        elif at + 2 < end and pattern[at + 1] == _DASH:
            at += 3
        else:
            at += 1
    return min(at + 1, end)


def _read_class(pattern: bytes, at: int, nocase: bool) -> tuple[set[int], int]:
    """The bytes that the class whose first byte after `[` is at `at` matches, and the position behind the class."""
    end = len(pattern)
    negated = at < end and pattern[at] == _CARET
    if negated:
        at += 1
    members: set[int] = set()
    while at < end:
        byte = pattern[at]
        if byte == _BACKSLASH and at + 1 < end:
            # Redis compares an escaped byte exactly, nocase or not.
            members.add(pattern[at + 1])
            at += 2
        elif byte == _CLOSE:
            at += 1
            break
        elif at + 2 < end and pattern[at + 1] == _DASH:
            members |= _range(byte, pattern[at + 2], nocase)
            at += 3
        else:
            members |= _both_cases(byte) if nocase else {byte}
            at += 1
    return (set(range(256)) - members if negated else members), at


def _range(first: int, last: int, nocase: bool) -> set[int]:
    low, high = (first, last) if first <= last else (last, first)
    if not nocase:
        return set(range(low, high + 1))
    low, high = _lower(low), _lower(high)
    return {byte for byte in range(256) if low <= _lower(byte) <= high}


def _lower(byte: int) -> int:
    return byte + 32 if 0x41 <= byte <= 0x5A else byte


def _both_cases(byte: int) -> set[int]:
    return {other for other in range(256) if _lower(other) == _lower(byte)} if chr(byte).isalpha() else {byte}


def _class_regex(members: set[int]) -> bytes:
    """A regular expression for one byte out of `members`."""
    if len(members) == 1:
        return b"\\x%02x" % next(iter(members))
    if not members:
        return b"[^\\x00-\\xff]"
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]"
