"""The table of owed works: what follows from ops whose rows are committed, and the disk of the user did not take yet.

Not here: when they are tried again (owing.py).
"""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.daemon.mailbox.columns import work_column, work_of
from pyrepl.daemon.mailbox.database import Database
from pyrepl.mailbox.store import BRINGING, Work


class Owed(NamedTuple):
    """A work, and its place among all that are owed."""

    place: int
    work: Work


class OwedTable:
    """A part of SqliteRows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_owed(self, work: Work) -> int:
        """Behind all that is owed already; its place."""
        self._database.change("INSERT INTO owed (user, work) VALUES (?, ?)", work.user, work_column(work))
        [place] = self._database.row("SELECT last_insert_rowid()")
        return int(place)

    def owed(self, user: str, most: int) -> list[Owed]:
        """The first `most` works of a user, in order."""
        found = self._database.rows("SELECT place, work FROM owed WHERE user = ? ORDER BY place LIMIT ?", user, most)
        return [Owed(place, work_of(work)) for place, work in found]

    def drop_owed(self, user: str, last: int) -> None:
        """The works of a user up to this place are done."""
        self._database.change("DELETE FROM owed WHERE user = ? AND place <= ?", user, last)

    def owing(self) -> dict[str, int]:
        """User -> how many works are owed."""
        return dict(self._database.rows("SELECT user, count(*) FROM owed GROUP BY user"))

    def owed_texts(self) -> set[str]:
        """The texts that owed works need, by their names in the drop folder."""
        works = (work_of(column) for (column,) in self._database.rows("SELECT work FROM owed"))
        return {work.text for work in works if isinstance(work, BRINGING) and work.text}
