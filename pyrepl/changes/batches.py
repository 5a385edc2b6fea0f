"""What a subscriber hands to the application: the rows of one token together, or row by row with their place. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

from pyrepl.changes.rows import Json


@final
class Row(NamedTuple):
    """One row of a stream."""

    stream: str
    writer: str
    """Who wrote the row. Empty where the stream has one writer, or is read as if it had one."""
    token: int
    part: int
    """The row's number, from 0, among the rows of this token."""
    data: Json
    """As the stream defines it, for example [0, "user:7", "hset"]; bytes that are no text as in rows.py."""


@final
class Batch(NamedTuple):
    """All rows of one token; none where only the position has moved."""

    stream: str
    writer: str
    token: int
    rows: tuple[Json, ...]
    size_bytes: int
    """The size of the rows as they came on the wire."""
    history: str
    """The replid under which the token is valid; empty if the node keeps none."""

    def each(self) -> Iterator[Row]:
        """Row by row."""
        return (Row(self.stream, self.writer, self.token, part, data) for part, data in enumerate(self.rows))
