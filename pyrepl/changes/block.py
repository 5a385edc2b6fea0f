"""Facts of one stream that follow each other, on their way to subscribers: rendered once, sent to many.

Not here: where they come from (sources) and who gets them (subscription.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

Fact: TypeAlias = tuple[int, Sequence[str]]
"""(the fact's place in the stream, its rows as JSON text). A fact without rows only moves the position."""


@final
class Block:
    """The facts of `stream` in (previous, upto], in order; `writer` is whose they are.

    All three count what the stream counts in, offsets or ids; a token has `digits` behind it (history_digits.py), which
    are empty where ids are tokens.

    Invariants: previous <= upto; the facts ascend. `upto` may lie behind the last fact: nothing is between.
    """

    __slots__ = ("_lines", "_writer_lines", "digits", "facts", "previous", "rows", "stream", "upto", "writer")

    def __init__(
        self, stream: str, writer: str, previous: int, upto: int, facts: Sequence[Fact], digits: str = ""
    ) -> None:
        assert 0 <= previous <= upto
        assert not facts or previous < facts[0][0] <= facts[-1][0] <= upto
        self.stream: Final = stream
        self.writer: Final = writer
        self.previous: Final = previous
        self.upto: Final = upto
        self.facts: Final = facts
        self.digits: Final = digits
        self.rows: Final = sum(len(rows) for _, rows in facts)
        self._lines: bytes | None = None
        self._writer_lines: bytes | None = None

    def lines(self, *, named: bool) -> bytes:
        """The RDATA lines, the same object for every subscriber; `named` ones state the writer."""
        if named:
            if self._writer_lines is None:
                self._writer_lines = self._render(f"RDATA {self.stream} {self.writer} ")
            return self._writer_lines
        if self._lines is None:
            self._lines = self._render(f"RDATA {self.stream} ")
        return self._lines

    def _render(self, head: str) -> bytes:
        lines: list[str] = []
        digits = self.digits
        for at, rows in self.facts:
            for row in rows[:-1]:
                lines.append(f"{head}batch {row}\n")
            if rows:
                lines.append(f"{head}{at}{digits} {rows[-1]}\n")
        return "".join(lines).encode("utf-8", "backslashreplace")

    def longest_line(self, *, named: bool) -> int:
        """Bytes of the longest line, its end included; 0 without rows."""
        return max(map(len, self.lines(named=named).splitlines(keepends=True)), default=0)
