"""The rows of a node in its database: what pyrepl.mailbox.rows asks for, of one file.

What is put is seen at once. It is on disk after `commit`, which the shell calls between two calls of a machine, once
for all that was put in up to ten milliseconds; a crash before it forgets all puts since the last one together.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.mailbox.box_table import BoxTable
from pyrepl.daemon.mailbox.database import Database
from pyrepl.daemon.mailbox.journal import Journal
from pyrepl.daemon.mailbox.message_table import MessageTable
from pyrepl.daemon.mailbox.owed_table import OwedTable


@final
class SqliteRows(BoxTable, MessageTable, Journal, OwedTable):
    """One open file. Any method raises DatabaseError, and then the file has to be opened again."""

    def __init__(self, path: Path, journal_bytes: int, wall_s: Callable[[], float]) -> None:
        """`journal_bytes` > 0 (mailbox-journal-size); `wall_s`: Unix seconds. Raises DatabaseError."""
        self._file: Final = Database(path)
        try:
            BoxTable.__init__(self, self._file)
            MessageTable.__init__(self, self._file, wall_s)
            Journal.__init__(self, self._file, journal_bytes)
            OwedTable.__init__(self, self._file)
        except BaseException:
            self._file.close()
            raise

    @property
    def is_dirty(self) -> bool:
        """Is something put that is not committed?"""
        return self._file.is_dirty

    def commit(self) -> None:
        """All that was put is on disk when this returns."""
        self._file.commit()

    def close(self) -> None:
        """What was not committed is forgotten."""
        self._file.close()
