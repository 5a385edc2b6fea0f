"""The rows of a stream on the screen: as the node sent them, as JSON records, or as a table for people.

What a row's parts are is pyrepl/capture/records.py's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Final, final

from pyrepl.capture.records import Column, columns_of, record_of
from pyrepl.changes.batches import Row
from pyrepl.changes.rows import Json, encode_row
from pyrepl.words import quote_word

LINES: Final = "lines"
JSON: Final = "json"
TABLE: Final = "table"

_NOT_SHOWN: Final = ("part", "key_base64", "words_base64")
_WIDTHS: Final = {"token": 16, "part": 4, "db": 3, "command": 12, "cache": 24}
_DEFAULT_WIDTH: Final = 40
_SCREENFUL: Final = 40
"""After so many rows a table repeats its heading."""


@final
class _Lines:
    """The token and the row as the node sent it."""

    def __init__(self, stream: str) -> None:
        pass

    def lines(self, row: Row) -> list[str]:
        return [f"{row.token} {encode_row(row.data)}"]


@final
class _JsonRecords:
    """One JSON object for each row, on a line of its own."""

    def __init__(self, stream: str) -> None:
        self._columns = columns_of(stream)

    def lines(self, row: Row) -> list[str]:
        return [json.dumps(record_of(row, self._columns))]


@final
class _Table:
    """Columns for people, with a heading every few rows. Control characters are escaped, as a key may hold any."""

    def __init__(self, stream: str) -> None:
        self._columns = [column for column in columns_of(stream) if column.name not in _NOT_SHOWN]
        self._binary = {
            column.name.removesuffix("_base64"): column.read
            for column in columns_of(stream)
            if column.name.endswith("_base64")
        }
        self._shown = 0

    def lines(self, row: Row) -> list[str]:
        self._shown += 1
        line = _aligned((column.name, self._shown_of(column, row)) for column in self._columns)
        if self._shown % _SCREENFUL != 1:
            return [line]
        return [_aligned((column.name, column.name) for column in self._columns), line]

    def _shown_of(self, column: Column, row: Row) -> str:
        """As redis-cli shows bytes that are no text: "\\xff"."""
        value = column.read(row)
        read = self._binary.get(column.name)
        other = read(row) if read is not None else None
        if isinstance(value, list) and read is not None:
            others = other if isinstance(other, list) else [None] * len(value)
            return " ".join(map(_cell, value, others))
        return _cell(value, other)


SCREENS: Final[dict[str, Callable[[str], _Lines | _JsonRecords | _Table]]] = {
    LINES: _Lines,
    JSON: _JsonRecords,
    TABLE: _Table,
}


def _aligned(cells: Iterable[tuple[str, str]]) -> str:
    return "  ".join(text.ljust(_WIDTHS.get(name, _DEFAULT_WIDTH)) for name, text in cells).rstrip()


def _cell(value: Json, other: Json) -> str:
    if isinstance(other, str):
        return quote_word(base64.b64decode(other)).decode()
    if value is None:
        return ""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in value)
    return encode_row(value)
