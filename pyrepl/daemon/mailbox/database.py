"""`mailbox.db`: one SQLite file with all that a node keeps of mailboxes but the texts.

In WAL mode with `synchronous=FULL`: a commit that returned survives a power cut, one that did not leaves nothing. What
is put between two commits is one transaction: it is seen at once, and forgotten as a whole by a crash.

The file is one process's alone. Who finds it opened by another one is refused: two daemons that give out the same seqs
would destroy each other's journals.

Not here: the tables' rows (box_table.py, message_table.py, journal.py). Every method may wait for the disk.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

from pyrepl.errors import PyreplError
from pyrepl.temporary import make_private

VERSION: Final = 7
"""Of the schema, in `PRAGMA user_version`; 0 is a new file's."""

_SCHEMA: Final = """
CREATE TABLE cluster (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL, root TEXT NOT NULL, voted TEXT NOT NULL, origin TEXT NOT NULL
);
CREATE TABLE held (origin TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE boxes (
    guid TEXT PRIMARY KEY, user TEXT NOT NULL, name TEXT NOT NULL, name_stamp TEXT NOT NULL,
    uidvalidity INTEGER NOT NULL, uidnext INTEGER NOT NULL, highest INTEGER NOT NULL,
    token TEXT NOT NULL, holder TEXT NOT NULL, unconfirmed INTEGER NOT NULL,
    subscribed INTEGER NOT NULL, subscribed_stamp TEXT NOT NULL,
    deleted INTEGER NOT NULL, created_stamp TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX boxes_by_user ON boxes (user, guid);
CREATE TABLE messages (
    box TEXT NOT NULL, guid TEXT NOT NULL, uid INTEGER NOT NULL, token TEXT NOT NULL, dots TEXT NOT NULL,
    size INTEGER NOT NULL, received INTEGER NOT NULL, flags TEXT NOT NULL, modseq INTEGER NOT NULL, sums BLOB NOT NULL,
    PRIMARY KEY (box, guid)
) WITHOUT ROWID;
CREATE INDEX messages_by_uid ON messages (box, uid, guid);
CREATE INDEX messages_by_guid ON messages (guid, box);
CREATE TABLE gone (
    box TEXT NOT NULL, guid TEXT NOT NULL, uid INTEGER NOT NULL, dots TEXT NOT NULL, modseq INTEGER NOT NULL,
    flags TEXT NOT NULL, put_at_s INTEGER NOT NULL,
    PRIMARY KEY (box, guid)
) WITHOUT ROWID;
CREATE INDEX gone_by_modseq ON gone (box, modseq);
CREATE INDEX gone_by_age ON gone (put_at_s);
CREATE TABLE ops (place INTEGER PRIMARY KEY, origin TEXT NOT NULL, seq INTEGER NOT NULL, line TEXT NOT NULL);
CREATE UNIQUE INDEX ops_by_dot ON ops (origin, seq);
CREATE TABLE dropped (origin TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
"""
"""Of version 1. `dropped`: origin -> the greatest seq that the journal had to let go. `place` is the order in which ops
were kept."""
_STEPS: Final = {
    1: """
CREATE TABLE owed (place INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, work TEXT NOT NULL);
CREATE INDEX owed_by_user ON owed (user, place);
""",
    2: "CREATE TABLE ahead (origin TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;",
    3: "ALTER TABLE cluster ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;",
    4: "CREATE TABLE aligned (box TEXT PRIMARY KEY, modseq INTEGER NOT NULL) WITHOUT ROWID;",
    5: "CREATE TABLE missing (box TEXT NOT NULL, guid TEXT NOT NULL, PRIMARY KEY (box, guid)) WITHOUT ROWID;",
    6: "ALTER TABLE cluster ADD COLUMN put_back INTEGER NOT NULL DEFAULT 0;",
}
"""What makes the schema of each version that of the next."""


class DatabaseError(PyreplError):
    """The file cannot be opened, read or written; the text names it and says what to do.

    After one from a database that was open, what was put since the last commit is lost, and nothing more can be done
    with it: whoever used it begins again from the file.
    """


@final
class Database:
    """The one connection to the file.

    Invariant: `_is_open_transaction` is true exactly while something is put and not committed.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file; makes it, for its owner alone, with its tables, if it is not there. Raises DatabaseError."""
        self._path: Final = path
        self._is_open_transaction = False
        self._is_broken = False
        self._committing: Final = threading.Lock()
        try:
            make_private(path)
        except OSError as error:
            raise DatabaseError(f"{path} cannot be made: {error.strerror}") from None
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except DatabaseError:
            self._connection.close()
            raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query, which is to be a bounded one."""
        with self._errors():
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> Any:
        """The first row of a query; None if there is none."""
        with self._errors():
            return self._connection.execute(query, values).fetchone()

    def change(self, statement: str, *values: Any) -> int:
        """Change rows; how many were. Seen at once, on disk with the next commit."""
        with self._errors():
            if not self._is_open_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
                self._is_open_transaction = True
            return self._connection.execute(statement, values).rowcount

    @property
    def is_dirty(self) -> bool:
        """Is something put that is not committed?"""
        return self._is_open_transaction

    def commit(self) -> None:
        """All that was put is on disk when this returns. May be called in another thread, while nobody else asks."""
        with self._committing, self._errors():
            if self._is_open_transaction:
                self._connection.execute("COMMIT")
                self._is_open_transaction = False

    def close(self) -> None:
        """What was not committed is forgotten; a commit that is under way ends first."""
        with self._committing, suppress(sqlite3.Error):
            self._connection.close()

    def _prepare(self) -> None:
        with self._errors():
            self._run(["PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"])
            [version] = self._connection.execute("PRAGMA user_version").fetchone()
            if version < VERSION:
                # One transaction with its number: a crash leaves all of it or the file as it was.
                steps = [step for before, step in _STEPS.items() if before >= version]
                schema = "".join(steps if version else [_SCHEMA, *steps])
                self._connection.executescript(f"BEGIN IMMEDIATE;{schema}PRAGMA user_version={VERSION};COMMIT")
        if version > VERSION:
            raise DatabaseError(
                f"{self._path} has the format {version}, this pyrepl knows {VERSION}: start the pyrepl that made it"
            )

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self._connection.execute(statement).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._is_broken:
            raise DatabaseError(f"{self._path} failed before: it has to be opened again")
        try:
            yield
        except sqlite3.Error as error:
            self._is_broken = True
            raise DatabaseError(f"{self._path}: {_what_to_do(error)}") from None


def _what_to_do(error: sqlite3.Error) -> str:
    """SQLite's words, and what an operator does then."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    advice = {
        sqlite3.SQLITE_FULL: "make room on the disk; what was committed is kept",
        sqlite3.SQLITE_BUSY: "another process has it open: is a pyrepl running on it already?",
        sqlite3.SQLITE_NOTADB: "this is no database: is it another file?",
        sqlite3.SQLITE_CORRUPT: "the file is damaged: move it away and start; the node resyncs from the others",
        sqlite3.SQLITE_READONLY: "pyrepl may not write it: look at the owner of the file and of its folder",
        sqlite3.SQLITE_CANTOPEN: "pyrepl may not open it: look at the owner of the file and of its folder",
        sqlite3.SQLITE_IOERR: "the disk refused: look at the kernel's log",
    }.get(code)
    return f"{error}: {advice}" if advice else str(error)
