"""Facts in a SQLite file, in WAL mode: for one machine, where several processes may write and read the same file.

Not here: what is kept (table.py). Every method blocks on the disk, so the daemon calls them on a thread of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, final

from pyrepl.changes.table import StoredFact, TableError, pack_rows, unpack_rows
from pyrepl.temporary import make_private

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_FILE: Final = ":memory:"
_BUSY_S: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pyrepl_facts (
    stream TEXT NOT NULL, id INTEGER NOT NULL, writer TEXT NOT NULL, rows TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pyrepl_positions (
    stream TEXT NOT NULL, writer TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (stream, writer)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pyrepl_sequences (stream TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
"""


@final
class SqliteTable:
    """One connection to the file."""

    def __init__(self, path: str) -> None:
        """Opens the file, and creates it with its tables; `:memory:` means none (SQLite). Raises TableError."""
        self.is_sole = False
        self._path = path
        with self._errors():
            if path != _NO_FILE:
                make_private(path)
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)

    def next_ids(self, stream: str, count: int) -> list[int]:
        with self._errors():
            [(last,)] = self._db.execute(
                "INSERT INTO pyrepl_sequences VALUES (?, ?)"
                " ON CONFLICT (stream) DO UPDATE SET last = last + excluded.last RETURNING last",
                (stream, count),
            ).fetchall()
        return list(range(last - count + 1, last + 1))

    def last_id(self, stream: str) -> int:
        return self._number("SELECT last FROM pyrepl_sequences WHERE stream = ?", stream)

    def last_of(self, stream: str, writer: str) -> int:
        return self._number("SELECT max(id) FROM pyrepl_facts WHERE stream = ? AND writer = ?", stream, writer)

    def add(self, stream: str, writer: str, stream_id: int, rows: Sequence[str]) -> None:
        with self._errors():
            self._db.execute(
                "INSERT INTO pyrepl_facts VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (stream, stream_id, writer, pack_rows(rows)),
            )

    def set_position(self, stream: str, writer: str, position: int) -> None:
        with self._errors():
            self._db.execute(
                "INSERT INTO pyrepl_positions VALUES (?, ?, ?)"
                " ON CONFLICT (stream, writer) DO UPDATE SET position = max(position, excluded.position)",
                (stream, writer, position),
            )

    def positions(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._errors():
            for stream, writer, position in self._db.execute("SELECT stream, writer, position FROM pyrepl_positions"):
                found.setdefault(stream, {})[writer] = position
        return found

    def complete_ids(self, stream: str, after: int, at_most: int) -> list[int]:
        with self._errors():
            found = self._db.execute(
                "SELECT id FROM pyrepl_facts WHERE stream = ? AND id > ? ORDER BY id LIMIT ?", (stream, after, at_most)
            )
            return [stream_id for (stream_id,) in found]

    def facts(self, stream: str, writer: str | None, after: int, upto: int, at_most: int) -> list[StoredFact]:
        with self._errors():
            found = self._db.execute(
                "SELECT id, writer, rows FROM pyrepl_facts WHERE stream = ? AND id > ? AND id <= ?"
                " AND (? IS NULL OR writer = ?) ORDER BY id LIMIT ?",
                (stream, after, upto, writer, writer, at_most),
            )
            return [(stream_id, by, unpack_rows(rows)) for stream_id, by, rows in found]

    def close(self) -> None:
        self._db.close()

    def _number(self, query: str, *values: str) -> int:
        with self._errors():
            row = self._db.execute(query, values).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise TableError(f"{self._path}: {error}") from None
        except OSError as error:
            raise TableError(f"{self._path}: {error.strerror}") from None
