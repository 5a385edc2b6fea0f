"""What a row of a stream becomes in a file or on the screen: a record of named, typed parts. Pure.

Every record has `token` and `part`, the row's number from 0 among the rows of that token. Streams whose rows have fixed
parts get a column for each; any other row stands in the one column `row`, as JSON.

Bytes that are no text (see pyrepl/changes/rows.py) would make a column of two types: such a key is null in `key`, and
stands in `key_base64`, which is null for every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.changes.batches import Row
from pyrepl.changes.rows import Json, encode_row

Record: TypeAlias = dict[str, Json]

_BASE64: Final = "base64"


@final
class Column(NamedTuple):
    """A named, typed part of a record; `read` takes its value from a row."""

    name: str
    kind: str
    """int32, int64, string, strings (a list), or json (any value)."""
    read: Callable[[Row], Json]


def _part(at: int) -> Callable[[Row], Json]:
    return lambda row: row.data[at] if isinstance(row.data, list) and len(row.data) > at else None


def _text(at: int) -> Callable[[Row], Json]:
    return lambda row: _text_of(_part(at)(row))


def _base64(at: int) -> Callable[[Row], Json]:
    return lambda row: _base64_of(_part(at)(row))


def _texts(at: int) -> Callable[[Row], Json]:
    return lambda row: [_text_of(word) for word in _words(row, at)]


def _base64s(at: int) -> Callable[[Row], Json]:
    def read(row: Row) -> Json:
        found: list[Json] = [_base64_of(word) for word in _words(row, at)]
        return found if any(found) else None

    return read


_PLACE: Final = (Column("token", "int64", lambda row: row.token), Column("part", "int32", lambda row: row.part))
_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "keys": (
        Column("db", "int32", _part(0)),
        Column("key", "string", _text(1)),
        Column("key_base64", "string", _base64(1)),
        Column("command", "string", _part(2)),
    ),
    "commands": (
        Column("db", "int32", _part(0)),
        Column("words", "strings", _texts(1)),
        Column("words_base64", "strings", _base64s(1)),
    ),
    "caches": (
        Column("cache", "string", _part(0)),
        Column("keys", "json", _part(1)),
        Column("at_ms", "int64", _part(2)),
    ),
}
_ANY: Final = (Column("row", "json", lambda row: row.data),)


def columns_of(stream: str) -> tuple[Column, ...]:
    """The columns of a stream's records, in order."""
    return _PLACE + _COLUMNS.get(stream, _ANY)


def record_of(row: Row, columns: Iterable[Column]) -> Record:
    """The row as a record of these columns."""
    return {column.name: column.read(row) for column in columns}


def names_in(row: Row) -> list[str]:
    """The texts that --match is compared with: of `keys` the key, of `commands` the words after the command's name, of
    `caches` the cache and its keys, of any other stream every text in the row."""
    data = row.data
    if isinstance(data, list):
        if row.stream == "keys":
            data = data[1:2]
        elif row.stream == "commands":
            data = list(_words(row, 1))[1:]
        elif row.stream == "caches":
            data = data[:2]
    return list(_texts_in(data))


def _words(row: Row, at: int) -> list[Json]:
    found = _part(at)(row)
    return found if isinstance(found, list) else []


def _text_of(value: Json) -> Json:
    if value is None or isinstance(value, str):
        return value
    return None if _base64_of(value) is not None else encode_row(value)


def _base64_of(value: Json) -> Json:
    return value[_BASE64] if isinstance(value, dict) and value.keys() == {_BASE64} else None


def _texts_in(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner)
