# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, annotation_typing=False
"""Lines of the event log as the daemon writes them, read byte by byte into columns.

Compiled by Cython with the types of scan.pxd, where an index is a pointer's; as it is written it does the same, but
slower than Arrow's JSON reader, so `part` uses it in the compiled form alone. A line unusual in any way (spaces,
nested values, escapes, a field twice, a number that its column has not, nothing but a damaged line) ends the scan, and
is that reader's (jsonlines.py). What is made of the cells is quicklines.py's.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy

IS_COMPILED: Final = __file__.rpartition(".")[2] != "py"

TEXT: Final = 0
COUNT: Final = 1
NUMBER: Final = 2
FLAG: Final = 3

MOST_WORDS: Final = 256
_ROOM: Final = 2048
_plain = array("B", [32 <= byte < 127 and byte not in (34, 92) for byte in range(256)])
"""Bytes of a text that stand for themselves."""
_tens = array("d", [float(10**power) for power in range(20)])


class Words:
    """Known words, each by its place among them. Few slots are taken, so that a word is found or missed at once."""

    def __init__(self, words: Sequence[bytes]) -> None:
        assert len(words) <= MOST_WORDS
        self._slots = array("i", [-1] * _ROOM)
        self._starts = array("i", [0, *accumulate(map(len, words))])
        self._text = b"".join(words)
        for place, word in enumerate(words):
            slot = hash_of(word)
            while self._slots[slot] >= 0:
                slot = (slot + 1) & (_ROOM - 1)
            self._slots[slot] = place

    def find(self, data: bytes, pos: int, size: int, slot: int) -> int:
        """The place of the word of `size` bytes at `pos`, whose hash is `slot`; -1 if it is none."""
        text = data
        known = self._text
        while True:
            place = self._slots[slot]
            if place < 0:
                return -1
            start = self._starts[place]
            if self._starts[place + 1] - start == size:
                i = 0
                while i < size and text[pos + i] == known[start + i]:
                    i += 1
                if i == size:
                    return place
            slot = (slot + 1) & (_ROOM - 1)


def hash_of(word: bytes) -> int:
    """The slot where a word is looked for first: [0, 2048)."""
    hashed = 0
    for byte in word:
        hashed = (hashed * 31 + byte) & 0xFFFFFF
    return hashed & (_ROOM - 1)


class Rows:
    """Rows of one table, a column behind the other: cells [column, row] of what a field is.

    `numbers` has whole numbers, flags as 0 and 1, and of texts where they stand in the block: the position << 32 | the
    size. `fractions` has the other numbers; it may be the same memory. What `valid` has no 1 for is null, and its cell
    has no meaning. `columns` has for each field its column, or -1.
    """

    def __init__(self, columns: Any, numbers: Any, fractions: Any, valid: Any) -> None:
        self._columns = columns
        self._numbers = numbers
        self._fractions = fractions
        self._valid = valid
        self.room = len(columns) and numbers.shape[1]
        """The rows that there can be."""
        self.count = 0


class Scanner:
    """`fields` are the names of known fields, of the kinds `kinds`; the first `required` stand on every line, the first
    of them is the time and the second the event. `events` are the known events, of which the first `samples` go into
    the samples.
    """

    def __init__(
        self, fields: Sequence[bytes], kinds: Sequence[int], required: int, events: Sequence[bytes], samples: int
    ) -> None:
        self._fields = Words(fields)
        self._kinds = array("i", kinds)
        self._required = required
        self._events = Words(events)
        self._samples = samples
        self._cells = array("q", [0] * len(fields))
        self._reals = array("d", [0.0] * len(fields))
        self._seen = array("q", [0] * len(fields))
        self._touched = array("i", [0] * len(fields))
        self._line = 0

    def scan(self, data: bytes, pos: int, latest_us: int, events: Rows, samples: Rows) -> int:
        """Read whole lines from `pos` on, of a block that ends in a line end; the position of the first line that is
        unusual, or for which one of the tables has no room, or the block's size. `latest_us` is the last time that
        a clock may show.
        """
        text = data
        end = len(data)
        while pos < end and events.count < events.room and samples.count < samples.room:
            begin = pos
            if text[pos] != 123:
                return begin
            pos += 1
            self._line += 1
            touched = 0
            required = 0
            event = -1
            while True:
                if text[pos] != 34:
                    return begin
                pos += 1
                first = pos
                hashed = 0
                while _plain[text[pos]]:
                    hashed = (hashed * 31 + text[pos]) & 0xFFFFFF
                    pos += 1
                if text[pos] != 34 or text[pos + 1] != 58:
                    return begin
                field = self._fields.find(text, first, pos - first, hashed & 2047)
                kind = -1
                if field >= 0:
                    if self._seen[field] == self._line:
                        return begin
                    self._seen[field] = self._line
                    kind = self._kinds[field]
                    self._touched[touched] = field
                    touched += 1
                    if field < self._required:
                        required += 1
                pos += 2
                byte = text[pos]
                if byte == 34:
                    pos += 1
                    first = pos
                    while _plain[text[pos]]:
                        pos += 1
                    if text[pos] != 34 or kind > 0:
                        return begin
                    if kind == 0:
                        self._cells[field] = first << 32 | (pos - first)
                        if field == 1:
                            hashed = 0
                            i = first
                            while i < pos:
                                hashed = (hashed * 31 + text[i]) & 0xFFFFFF
                                i += 1
                            event = self._events.find(text, first, pos - first, hashed & 2047)
                    pos += 1
                elif byte == 45 or 48 <= byte <= 57:
                    if byte == 45:
                        pos += 1
                    first = pos
                    whole = 0
                    while 48 <= text[pos] <= 57 and pos - first < 19:
                        whole = whole * 10 + (text[pos] - 48)
                        pos += 1
                    digits = pos - first
                    if digits == 0 or digits > 18 or (digits > 1 and text[first] == 48):
                        return begin
                    decimals = 0
                    if text[pos] == 46:
                        pos += 1
                        first = pos
                        while 48 <= text[pos] <= 57 and pos - first + digits < 19:
                            whole = whole * 10 + (text[pos] - 48)
                            pos += 1
                        decimals = pos - first
                        if decimals == 0 or digits + decimals > 18 or kind == 1:
                            return begin
                    if kind == 1:
                        self._cells[field] = -whole if byte == 45 else whole
                    elif kind == 2:
                        # Both are exact as floating-point numbers, so their ratio is the nearest one there is.
                        if whole > 9007199254740992:
                            return begin
                        real = whole / _tens[decimals]
                        self._reals[field] = -real if byte == 45 else real
                    elif kind >= 0:
                        return begin
                elif byte == 116 and text[pos + 1] == 114 and text[pos + 2] == 117 and text[pos + 3] == 101:
                    if kind != 3 and kind >= 0:
                        return begin
                    if kind == 3:
                        self._cells[field] = 1
                    pos += 4
                elif (
                    byte == 102 and text[pos + 1] == 97 and text[pos + 2] == 108
                    and text[pos + 3] == 115 and text[pos + 4] == 101
                ):  # fmt: skip
                    if kind != 3 and kind >= 0:
                        return begin
                    if kind == 3:
                        self._cells[field] = 0
                    pos += 5
                else:
                    return begin
                byte = text[pos]
                pos += 1
                if byte != 44:
                    break
            if byte != 125 or text[pos] != 10 or required != self._required:
                return begin
            pos += 1
            if self._cells[0] < 0 or self._cells[0] > latest_us:
                return begin
            # Of an event that is none of those known nothing is kept.
            if event >= self._samples:
                self._store(events, touched)
            elif event >= 0:
                self._store(samples, touched)
        return pos

    def _store(self, rows: Rows, touched: int) -> None:
        row = rows.count
        i = 0
        while i < touched:
            field = self._touched[i]
            column = rows._columns[field]
            if column >= 0:
                if self._kinds[field] == 2:
                    rows._fractions[column, row] = self._reals[field]
                else:
                    rows._numbers[column, row] = self._cells[field]
                rows._valid[column, row] = 1
            i += 1
        rows.count = row + 1


def gather(data: bytes, places: Any, ends: Any, count: int, out: Any) -> int:
    """The texts of `count` places in `data`, each to `out`, where it ends at its `ends`; a size of 0 is nothing.
    Returns the bytes written."""
    text = data
    at = 0
    i = 0
    while i < count:
        first = places[i] >> 32
        size = ends[i] - at
        if cython.compiled:
            if size > 0:
                memcpy(cython.address(out[at]), text + first, size)
        else:
            out[at : at + size] = memoryview(text)[first : first + size]
        at += size
        i += 1
    return at
