"""The tables of messages, of those that are gone, and of those whose text is missing.

What the methods promise is said in pyrepl.mailbox.rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from pyrepl.daemon.mailbox.columns import (
    dots_column,
    dots_of,
    flags_column,
    flags_of,
    sums_column,
    sums_of,
    token_column,
    token_of,
)
from pyrepl.daemon.mailbox.database import Database
from pyrepl.mailbox.rows import UNPLACED, GoneRow, MessageRow

_PAGE: Final = 500
"""Rows that are in memory at once of a mailbox that is walked through."""
_COLUMNS: Final = "box, guid, uid, token, dots, size, received, flags, modseq, sums"
_OF_MESSAGE: Final = ", ".join(f"messages.{name}" for name in _COLUMNS.split(", "))
_INSERT: Final = f"INSERT INTO messages ({_COLUMNS}) VALUES ({', '.join('?' * 10)})"
_CHANGE: Final = (
    "UPDATE messages SET uid = ?, token = ?, dots = ?, size = ?, received = ?, flags = ?, modseq = ?, sums = ?"
    " WHERE box = ? AND guid = ?"
)
_BY_GUID: Final = "WHERE box = ? AND guid > ? AND (? = '' OR guid <= ?) ORDER BY guid LIMIT ?"
_GONE: Final = "box, uid, guid, dots, modseq, flags"


class MessageTable:
    """A part of SqliteRows."""

    def __init__(self, database: Database, wall_s: Callable[[], float]) -> None:
        """`wall_s`: Unix seconds, for the age of what is gone."""
        self._database = database
        self._wall_s: Final = wall_s
        [self.message_count] = database.row("SELECT count(*) FROM messages")
        """How many messages there are. Kept, as counting walks through all."""

    def message(self, box: str, guid: str) -> MessageRow | None:
        found = self._messages("WHERE box = ? AND guid = ?", box, guid)
        return found[0] if found else None

    def message_at(self, box: str, uid: int) -> MessageRow | None:
        found = self._messages("WHERE box = ? AND uid = ? ORDER BY guid LIMIT 1", box, uid)
        return found[0] if found else None

    def messages(self, box: str, after: int = -1) -> Iterator[MessageRow]:
        """By pages: rows that are put meanwhile may be among those that follow."""
        last: tuple[int, str] = (after + 1, "")
        while page := self._messages(
            "WHERE box = ? AND (uid, guid) > (?, ?) ORDER BY uid, guid LIMIT ?", box, *last, _PAGE
        ):
            yield from page
            last = (page[-1].uid, page[-1].guid)

    def unplaced(self, box: str) -> list[MessageRow]:
        return self._messages("WHERE box = ? AND uid = ? ORDER BY guid", box, UNPLACED)

    def messages_by_guid(self, box: str, after: str, upto: str, most: int) -> list[MessageRow]:
        return self._messages(_BY_GUID, box, after, upto, upto, most)

    def home(self, user: str, guid: str) -> MessageRow | None:
        which = "JOIN boxes ON boxes.guid = messages.box WHERE messages.guid = ? AND boxes.user = ?"
        found = self._messages(f"{which} ORDER BY box LIMIT 1", guid, user)
        return found[0] if found else None

    def put_message(self, row: MessageRow) -> None:
        key = (row.box, row.guid)
        values = (
            *(row.uid, token_column(row.token), dots_column(row.dots), row.size, row.received),
            *(flags_column(row.flags), row.modseq, sums_column(row.sums)),
        )
        if not self._database.change(_CHANGE, *values, *key):
            self.message_count += self._database.change(_INSERT, *key, *values)

    def drop_message(self, box: str, guid: str) -> None:
        gone = self._database.change("DELETE FROM messages WHERE box = ? AND guid = ?", box, guid)
        self.message_count -= gone

    def gone(self, box: str, guid: str) -> GoneRow | None:
        found = self._database.row(f"SELECT {_GONE} FROM gone WHERE box = ? AND guid = ?", box, guid)
        return _gone_of(found) if found else None

    def gone_since(self, box: str, modseq: int) -> list[GoneRow]:
        query = f"SELECT {_GONE} FROM gone WHERE box = ? AND modseq > ? ORDER BY uid, guid"
        return [_gone_of(found) for found in self._database.rows(query, box, modseq)]

    def messages_since(self, box: str, modseq: int) -> list[MessageRow]:
        return self._messages("WHERE box = ? AND modseq > ? ORDER BY uid, guid", box, modseq)

    def gone_by_guid(self, box: str, after: str, upto: str, most: int) -> list[GoneRow]:
        found = self._database.rows(f"SELECT {_GONE} FROM gone {_BY_GUID}", box, after, upto, upto, most)
        return [_gone_of(columns) for columns in found]

    def put_gone(self, row: GoneRow) -> None:
        self._database.change(
            f"INSERT OR REPLACE INTO gone ({_GONE}, put_at_s) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(row.box, row.uid, row.guid, dots_column(row.dots), row.modseq, flags_column(row.flags)),
            int(self._wall_s()),
        )

    def trim_gone(self, kept_s: int) -> int:
        """Forget what has been gone for longer than `kept_s` seconds (mailbox-tombstones); how many rows that were."""
        return self._database.change("DELETE FROM gone WHERE put_at_s < ?", int(self._wall_s()) - kept_s)

    def missing(self) -> list[tuple[str, str]]:
        return [(box, guid) for box, guid in self._database.rows("SELECT box, guid FROM missing ORDER BY box, guid")]

    def put_missing(self, box: str, guid: str) -> None:
        self._database.change("INSERT OR IGNORE INTO missing VALUES (?, ?)", box, guid)

    def drop_missing(self, box: str, guid: str) -> None:
        self._database.change("DELETE FROM missing WHERE box = ? AND guid = ?", box, guid)

    def _messages(self, which: str, *values: Any) -> list[MessageRow]:
        return [
            _message_of(found) for found in self._database.rows(f"SELECT {_OF_MESSAGE} FROM messages {which}", *values)
        ]


def _message_of(columns: tuple[Any, ...]) -> MessageRow:
    box, guid, uid, token, dots, size, received, flags, modseq, sums = columns
    return MessageRow(
        box, guid, uid, token_of(token), dots_of(dots), size, received, flags_of(flags), modseq, sums_of(sums)
    )


def _gone_of(columns: tuple[Any, ...]) -> GoneRow:
    box, uid, guid, dots, modseq, flags = columns
    return GoneRow(box, uid, guid, dots_of(dots), modseq, flags_of(flags))
