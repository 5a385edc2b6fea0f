"""What keeps the facts that applications write: the interface of a table, and how rows stand in it.

Not here: the kinds of table (sqlite_table.py, postgres_table.py, the daemon's keyspace_table), and ids (ids.py).

    facts        stream, id, writer, rows    a fact that is complete; without rows if it failed
    positions    stream, writer, position    everything of the writer up to there is complete, or never will be

A fact and its completion are one: it is written in one transaction. A writer appears in `positions` before it draws
its first id, so who reads the positions knows all writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, final

from pyrepl.errors import PyreplError

StoredFact: TypeAlias = tuple[int, str, tuple[str, ...]]
"""(id, writer, rows as JSON text)."""


@final
class TableError(PyreplError):
    """The table cannot be read or written now; the text says why. What was stored before stays."""


class Table(Protocol):
    """Facts and positions. Every method may block, and raises TableError; use one from one thread at a time."""

    is_sole: bool
    """Only who holds this object writes: what another writer left pending will never be complete."""

    def next_ids(self, stream: str, count: int) -> list[int]:
        """Draw `count` ids, ascending, larger than all drawn before by anybody."""
        ...

    def last_id(self, stream: str) -> int:
        """The last id drawn by anybody, 0 if none was."""
        ...

    def last_of(self, stream: str, writer: str) -> int:
        """The largest id of a fact of this writer, 0 if there is none."""
        ...

    def add(self, stream: str, writer: str, stream_id: int, rows: Sequence[str]) -> None:
        """Store a fact. An id is stored once; storing the same fact again changes nothing."""
        ...

    def set_position(self, stream: str, writer: str, position: int) -> None:
        """Store how far a writer is; a position never moves back."""
        ...

    def positions(self) -> dict[str, dict[str, int]]:
        """Of every stream, by writer."""
        ...

    def complete_ids(self, stream: str, after: int, at_most: int) -> list[int]:
        """The ids of facts after an id, ascending."""
        ...

    def facts(self, stream: str, writer: str | None, after: int, upto: int, at_most: int) -> list[StoredFact]:
        """The facts with ids in (after, upto], of one writer or of all, ascending."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def pack_rows(rows: Iterable[str]) -> str:
    """Rows as one text: a line for each, as JSON needs no line ends. Raises ValueError for an empty row."""
    lines = [row.replace("\n", " ").replace("\r", " ") for row in rows]
    if not all(line.strip() for line in lines):
        raise ValueError("expected JSON in a row, got nothing")
    return "\n".join(lines)


def unpack_rows(text: str) -> tuple[str, ...]:
    """The inverse of pack_rows."""
    return tuple(text.split("\n")) if text else ()
