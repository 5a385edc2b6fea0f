"""Facts in a PostgreSQL database, which several nodes and applications share; ids by nextval of a sequence.

Not here: what is kept (table.py). Every method blocks on the network, so the daemon calls them on a thread of its own.
Needs psycopg (`pip install 'pyrepl-server[streams]'`). Each stream has a sequence of its own, named by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString, final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pyrepl.changes.table import StoredFact, TableError, pack_rows, unpack_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECT_S: Final = 5
_STATEMENT_MS: Final = 10_000
_LOCK: Final = 0x7079726570  # ASCII "pyrep"
_SCHEMA: Final[tuple[LiteralString, ...]] = (
    "CREATE TABLE IF NOT EXISTS pyrepl_streams (number serial, stream text PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS pyrepl_facts ("
    " stream text NOT NULL, id bigint NOT NULL, writer text NOT NULL, rows text NOT NULL, PRIMARY KEY (stream, id))",
    "CREATE TABLE IF NOT EXISTS pyrepl_positions ("
    " stream text NOT NULL, writer text NOT NULL, position bigint NOT NULL, PRIMARY KEY (stream, writer))",
)


@final
class PostgresTable:
    """One connection to the database, opened again when it was lost."""

    def __init__(self, conninfo: str) -> None:
        """`conninfo` is a URL `postgresql://...` or libpq's `key=value` form. Connects, and creates the tables if they
        are missing. Raises TableError."""
        self.is_sole = False
        self._conninfo = conninfo
        self._db: psycopg.Connection[Any] | None = None
        self._sequences: dict[str, sql.Identifier] = {}
        try:
            conninfo_to_dict(conninfo)
        except psycopg.ProgrammingError:
            # Its text shows parts of the string, which may be the password.
            raise TableError(
                "PostgreSQL: expected postgresql://user:password@host/database, got another form"
            ) from None
        with self._errors():
            self._connection()

    def next_ids(self, stream: str, count: int) -> list[int]:
        with self._errors():
            query = sql.SQL("SELECT nextval({}) FROM generate_series(1, %s)").format(self._literal(stream))
            return sorted(row[0] for row in self._connection().execute(query, (count,)))

    def last_id(self, stream: str) -> int:
        with self._errors():
            query = sql.SQL("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}")
            row = self._connection().execute(query.format(self._sequence(stream))).fetchone()
        return 0 if row is None else int(row[0])

    def last_of(self, stream: str, writer: str) -> int:
        rows = self._rows("SELECT max(id) FROM pyrepl_facts WHERE stream = %s AND writer = %s", stream, writer)
        return int(rows[0][0] or 0)

    def add(self, stream: str, writer: str, stream_id: int, rows: Sequence[str]) -> None:
        self._do(
            "INSERT INTO pyrepl_facts VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            stream, stream_id, writer, pack_rows(rows),
        )  # fmt: skip

    def set_position(self, stream: str, writer: str, position: int) -> None:
        self._do(
            "INSERT INTO pyrepl_positions AS p VALUES (%s, %s, %s)"
            " ON CONFLICT (stream, writer) DO UPDATE SET position = greatest(p.position, excluded.position)",
            stream, writer, position,
        )  # fmt: skip

    def positions(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for stream, writer, position in self._rows("SELECT stream, writer, position FROM pyrepl_positions"):
            found.setdefault(stream, {})[writer] = position
        return found

    def complete_ids(self, stream: str, after: int, at_most: int) -> list[int]:
        query: LiteralString = "SELECT id FROM pyrepl_facts WHERE stream = %s AND id > %s ORDER BY id LIMIT %s"
        return [stream_id for (stream_id,) in self._rows(query, stream, after, at_most)]

    def facts(self, stream: str, writer: str | None, after: int, upto: int, at_most: int) -> list[StoredFact]:
        found = self._rows(
            "SELECT id, writer, rows FROM pyrepl_facts WHERE stream = %s AND id > %s AND id <= %s"
            " AND (%s::text IS NULL OR writer = %s) ORDER BY id LIMIT %s",
            stream, after, upto, writer, writer, at_most,
        )  # fmt: skip
        return [(stream_id, by, unpack_rows(rows)) for stream_id, by, rows in found]

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _do(self, query: LiteralString, *values: object) -> None:
        with self._errors():
            self._connection().execute(query, values)

    def _rows(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._connection().execute(query, values).fetchall()

    def _connection(self) -> psycopg.Connection[Any]:
        if self._db is None or self._db.closed:
            self._db = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=_CONNECT_S)
            self._db.execute(f"SET statement_timeout = {_STATEMENT_MS}")
            with self._db.transaction():
                # Two nodes that start together must not create the same table at once.
                self._db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                for statement in _SCHEMA:
                    self._db.execute(statement)
        return self._db

    def _sequence(self, stream: str) -> sql.Identifier:
        name = self._sequences.get(stream)
        if name is None:
            db = self._connection()
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                db.execute("INSERT INTO pyrepl_streams (stream) VALUES (%s) ON CONFLICT DO NOTHING", (stream,))
                row = db.execute("SELECT number FROM pyrepl_streams WHERE stream = %s", (stream,)).fetchone()
                assert row is not None
                name = sql.Identifier(f"pyrepl_ids_{row[0]}")
                db.execute(sql.SQL("CREATE SEQUENCE IF NOT EXISTS {}").format(name))
            self._sequences[stream] = name
        return name

    def _literal(self, stream: str) -> sql.Composable:
        """The sequence's name as nextval wants it."""
        return sql.Literal(self._sequence(stream).as_string(None))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            # The text of a failed connection names host and database, never the password.
            raise TableError(f"PostgreSQL: {str(error).strip()}") from None
