"""The journal: what happened, op by op, so that a node that was away for a while can be told just that.

It holds at most `mailbox-journal-size` bytes of lines: beyond it the ops that were kept first are dropped, of whatever
origin, each origin's oldest first, since ops of one origin are kept in the order of their seqs. What is dropped leaves
its seq behind, so that `oldest` stays true. What the methods promise is said in pyrepl.mailbox.rows.
"""

from __future__ import annotations

from typing import Final

from pyrepl.daemon.mailbox.columns import op_column, op_of
from pyrepl.daemon.mailbox.database import Database
from pyrepl.mailbox.verbs import Op
from pyrepl.mailbox.words import Dot

ROW_BYTES: Final = 64
"""What an op takes on disk besides its line, about."""
_AT_ONCE: Final = 1000
"""Ops that are dropped by one statement."""


class Journal:
    """A part of SqliteRows.

    Invariant: `_bytes` is what the ops in the table count together; after each put it is at most `most_bytes`, unless
    there is just one op.
    """

    def __init__(self, database: Database, most_bytes: int) -> None:
        """`most_bytes` > 0, of lines and ROW_BYTES each."""
        assert most_bytes > 0
        self._database = database
        self.most_bytes = most_bytes
        [kept] = database.row("SELECT coalesce(sum(length(CAST(line AS BLOB)) + ?), 0) FROM ops", ROW_BYTES)
        self._bytes = int(kept)

    @property
    def kept_bytes(self) -> int:
        """What the ops that are kept count together."""
        return self._bytes

    def put_op(self, op: Op) -> None:
        assert op.at is not None, "an op has its dot"
        line = op_column(op)
        origin, seq = op.at
        self._forget("origin = ? AND seq = ?", origin, seq)
        self._database.change("INSERT INTO ops (origin, seq, line) VALUES (?, ?, ?)", origin, seq, line)
        self._bytes += len(line.encode()) + ROW_BYTES
        while self._bytes > self.most_bytes and self._drop_oldest():
            pass

    def ops(self, origin: str, after: int, most: int) -> list[Op]:
        query = "SELECT line FROM ops WHERE origin = ? AND seq > ? ORDER BY seq LIMIT ?"
        return [op_of(line) for (line,) in self._database.rows(query, origin, after, most)]

    def oldest(self, origin: str) -> int:
        """If all of them had to go, the seq of the one that comes next."""
        [kept] = self._database.row("SELECT min(seq) FROM ops WHERE origin = ?", origin)
        if kept is not None:
            return int(kept)
        dropped = self._database.row("SELECT seq FROM dropped WHERE origin = ?", origin)
        return int(dropped[0]) + 1 if dropped else 0

    def skip_to(self, dot: Dot) -> None:
        self._database.change("INSERT OR REPLACE INTO held VALUES (?, ?)", *dot)
        self._forget("origin = ? AND seq <= ?", *dot)
        self._note_dropped(*dot)

    def _note_dropped(self, origin: str, seq: int) -> None:
        self._database.change(
            "INSERT INTO dropped VALUES (?, ?) ON CONFLICT (origin) DO UPDATE SET seq = max(seq, excluded.seq)",
            *(origin, seq),
        )

    def _drop_oldest(self) -> bool:
        """Drop so many of those kept first as are too many, but never the newest; False if there are none."""
        excess = self._bytes - self.most_bytes
        last = 0
        found = self._database.rows(
            "SELECT place, origin, seq, length(CAST(line AS BLOB)) FROM ops"
            " WHERE place < (SELECT max(place) FROM ops) ORDER BY place LIMIT ?",
            # So many are enough, since each counts more than ROW_BYTES.
            min(excess // ROW_BYTES + 1, _AT_ONCE),
        )
        for place, origin, seq, size in found:
            if excess <= 0:
                break
            excess -= size + ROW_BYTES
            last = place
            self._note_dropped(origin, seq)
        self._forget("place <= ?", last)
        return bool(found)

    def _forget(self, which: str, *values: object) -> None:
        query = f"SELECT coalesce(sum(length(CAST(line AS BLOB)) + ?), 0) FROM ops WHERE {which}"
        [freed] = self._database.row(query, ROW_BYTES, *values)
        if freed:
            self._database.change(f"DELETE FROM ops WHERE {which}", *values)
            self._bytes -= freed
