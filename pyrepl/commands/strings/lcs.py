"""LCS: the longest common subsequence of two strings. Other commands on strings are in `strings`.

Theory: L(i, j) is the length of the longest common subsequence of the first i bytes of a and the first j bytes of b. In
a row of L the numbers grow by 0 or 1 from left to right, so row i is kept as bits: bit j - 1 is 1 when
L(i, j) == L(i, j - 1). A few operations on whole rows make row i from row i - 1 (Hyyrö 2004), where matches[byte] has a
1 at each position of b that holds the byte:

    u = row & matches[a[i - 1]];  row = (row + u) | (row - u)

Then the subsequence is read by walking back from (len(a), len(b)). Where the two bytes differ, the walk drops the last
byte of a if that leaves a longer subsequence than dropping the last byte of b, else the last byte of b. Redis walks the
same way, so of several subsequences of equal length both find the same one.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FIRST_TWO, READONLY, command
from pyrepl.errors import CommandError
from pyrepl.resp.reply import Reply

_CELL_BYTES: Final = 4
"""The bytes that Redis needs for each pair of positions. It refuses strings by that number, so pyrepl does too."""


class Match(NamedTuple):
    """A run of equal bytes: first and last position in a and in b, both inclusive."""

    a_first: int
    a_last: int
    b_first: int
    b_last: int

    @property
    def size(self) -> int:
        return self.a_last - self.a_first + 1


@command("LCS", arity=-3, flags=READONLY, keys=FIRST_TWO, group="string", since="7.0.0")
def lcs(call: Call, first: bytes, second: bytes, *arguments: bytes) -> Reply:
    """The longest common subsequence of two strings, its length, or where it lies."""
    a, b = call.db.read(first), call.db.read(second)
    if not isinstance(a, bytes | None) or not isinstance(b, bytes | None):
        raise CommandError("ERR The specified keys must contain string values")
    options = _Options(arguments)
    if options.positions and options.length:
        raise CommandError("ERR If you want both the length and indexes, please just use IDX.")
    table = _table(call, a or b"", b or b"")
    if options.length:
        return table.length
    matches = table.matches()
    if options.positions:
        return {
            b"matches": [_shown(match, options) for match in matches if match.size >= options.min_size],
            b"len": table.length,
        }
    return b"".join(table.a[match.a_first : match.a_last + 1] for match in reversed(matches))


def _shown(match: Match, options: _Options) -> list[Reply]:
    """A match as IDX shows it: its range in a, its range in b, and its length with WITHMATCHLEN."""
    shown: list[Reply] = [[match.a_first, match.a_last], [match.b_first, match.b_last]]
    if options.sizes:
        shown.append(match.size)
    return shown


def _table(call: Call, a: bytes, b: bytes) -> Table:
    """The table of two strings. Raises CommandError when Redis would need more memory than proto-max-bulk-len."""
    if (len(a) + 1) * (len(b) + 1) * _CELL_BYTES > call.node.settings.proto_max_bulk_len:
        raise CommandError("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
    return Table(a, b)


@final
class _Options:
    """The options of LCS: LEN (`length`), IDX (`positions`), WITHMATCHLEN (`sizes`), MINMATCHLEN n (`min_size`).

    Raises CommandError.
    """

    __slots__ = ("length", "min_size", "positions", "sizes")

    def __init__(self, arguments: tuple[bytes, ...]) -> None:
        self.length = self.positions = self.sizes = False
        self.min_size = 0
        words = iter(arguments)
        for option in words:
            word = option.upper()
            if word == b"IDX":
                self.positions = True
            elif word == b"LEN":
                self.length = True
            elif word == b"WITHMATCHLEN":
                self.sizes = True
            elif word == b"MINMATCHLEN" and (size := next(words, None)) is not None:
                self.min_size = integer_argument(size)
            else:
                raise syntax_error()


@final
class Table:
    """All rows of L for two strings, in len(a) * len(b) / 8 bytes. `length` is that of the longest subsequence."""

    __slots__ = ("_rows", "_stride", "a", "b", "length")

    def __init__(self, a: bytes, b: bytes) -> None:
        self.a = a
        self.b = b
        self._stride = (len(b) + 7) // 8
        self._rows = bytearray(self._stride * (len(a) + 1))
        self.length = self._fill()

    def _fill(self) -> int:
        """Compute all rows, and return L(len(a), len(b))."""
        everything = (1 << len(self.b)) - 1
        matches = _positions(self.b)
        stride = self._stride
        row = everything
        self._rows[:stride] = row.to_bytes(stride, "little")
        for i, byte in enumerate(self.a, 1):
            found = matches.get(byte)
            if found is not None:
                u = row & found
                row = ((row + u) | (row - u)) & everything
            self._rows[i * stride : (i + 1) * stride] = row.to_bytes(stride, "little")
        return len(self.b) - row.bit_count()

    def matches(self) -> list[Match]:
        """The runs of equal bytes that make up one longest common subsequence, the last run first."""
        a, b = self.a, self.b
        i, j = len(a), len(b)
        found: list[Match] = []
        here, above = self.length, self._length(i - 1, j)
        end_i = i
        while i and j:
            if a[i - 1] == b[j - 1]:
                i, j = i - 1, j - 1
                here, above = here - 1, self._length(i - 1, j)
                continue
            if end_i > i:
                found.append(Match(i, end_i - 1, j, j + end_i - i - 1))
            left = here - self._step(i, j)
            if above > left:
                i -= 1
                here, above = above, self._length(i - 1, j)
            else:
                above -= self._step(i - 1, j)
                here = left
                j -= 1
            end_i = i
        if end_i > i:
            found.append(Match(i, end_i - 1, j, j + end_i - i - 1))
        return found

    def _step(self, i: int, j: int) -> int:
        """L(i, j) - L(i, j - 1), which is 0 or 1; j is at least 1."""
        return 1 - (self._rows[i * self._stride + ((j - 1) >> 3)] >> ((j - 1) & 7) & 1)

    def _length(self, i: int, j: int) -> int:
        """L(i, j). For i < 0 it is 0; `matches` asks for that after the last step, and does not use it."""
        if i < 0:
            return 0
        row = int.from_bytes(self._rows[i * self._stride : (i + 1) * self._stride], "little")
        return j - (row & ((1 << j) - 1)).bit_count()


def _positions(text: bytes) -> dict[int, int]:
    """For each byte value in `text` a number whose bit n is 1 when the byte at position n has that value."""
    masks = {byte: bytearray((len(text) + 7) // 8) for byte in set(text)}
    for at, byte in enumerate(text):
        masks[byte][at >> 3] |= 1 << (at & 7)
    return {byte: int.from_bytes(mask, "little") for byte, mask in masks.items()}
