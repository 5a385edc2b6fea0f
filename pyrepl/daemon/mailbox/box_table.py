"""The tables of mailboxes, of the cluster and of the vector. pyrepl.mailbox.rows says what the methods promise."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from pyrepl.daemon.mailbox.columns import stamp_column, stamp_of, token_column, token_of
from pyrepl.daemon.mailbox.database import Database
from pyrepl.mailbox.rows import BoxRow, ClusterRow
from pyrepl.mailbox.words import Dot

MOST_USERS: Final = 1000
"""Users whose mailboxes' rows are remembered."""
_FIELDS: Final = BoxRow._fields
_COLUMNS: Final = ", ".join(_FIELDS)
_PLACES: Final = ", ".join("?" * len(_FIELDS))
_STAMPS: Final = ("name_stamp", "subscribed_stamp", "created_stamp")
_YES_OR_NO: Final = ("unconfirmed", "subscribed", "deleted")

_AS_COLUMN: Final[dict[str, Callable[[Any], Any]]] = {"token": token_column, **dict.fromkeys(_STAMPS, stamp_column)}
_OF_COLUMN: Final[dict[str, Callable[[Any], Any]]] = {
    "token": token_of,
    **dict.fromkeys(_STAMPS, stamp_of),
    **dict.fromkeys(_YES_OR_NO, bool),
}
"""Field -> how its column is made and read, where that is not the value itself."""


class BoxTable:
    """A part of SqliteRows.

    Rows of mailboxes are asked for many times with each op, so those of users that were active are remembered; a crash
    that forgets what was put ends this object too. Invariant: `_user_of` has the GUIDs of all rows in `_known`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Final[OrderedDict[str, dict[str, BoxRow]]] = OrderedDict()
        self._user_of: Final[dict[str, str]] = {}
        [self.box_count] = database.row("SELECT count(*) FROM boxes WHERE NOT deleted")
        """How many mailboxes there are."""

    def cluster(self) -> ClusterRow:
        found = self._database.row("SELECT epoch, root, voted, origin, fresh, put_back FROM cluster")
        if not found:
            return ClusterRow()
        epoch, root, voted, origin, is_fresh, is_put_back = found
        return ClusterRow(epoch, root, voted, origin, bool(is_fresh), bool(is_put_back))

    def put_cluster(self, row: ClusterRow) -> None:
        self._database.change("INSERT OR REPLACE INTO cluster VALUES (1, ?, ?, ?, ?, ?, ?)", *row)

    def held(self) -> dict[str, int]:
        return dict(self._database.rows("SELECT origin, seq FROM held"))

    def put_held(self, dot: Dot) -> None:
        self._database.change("INSERT OR REPLACE INTO held VALUES (?, ?)", *dot)

    def ahead(self) -> dict[str, int]:
        return dict(self._database.rows("SELECT origin, seq FROM ahead"))

    def put_ahead(self, dot: Dot) -> None:
        self._database.change("INSERT OR REPLACE INTO ahead VALUES (?, ?)", *dot)

    def users(self) -> list[str]:
        return [user for (user,) in self._database.rows("SELECT DISTINCT user FROM boxes ORDER BY user")]

    def box(self, guid: str) -> BoxRow | None:
        user = self._user_of.get(guid)
        if user is None:
            found = self._database.row("SELECT user FROM boxes WHERE guid = ?", guid)
            if not found:
                return None
            [user] = found
        return self._of(user)[guid]

    def boxes(self, user: str) -> list[BoxRow]:
        found = self._of(user)
        return [found[guid] for guid in sorted(found)]

    def boxes_after(self, guid: str, most: int) -> list[BoxRow]:
        found = self._database.rows(f"SELECT {_COLUMNS} FROM boxes WHERE guid > ? ORDER BY guid LIMIT ?", guid, most)
        return [_box_of(columns) for columns in found]

    def put_box(self, row: BoxRow) -> None:
        known = self.box(row.guid)
        self.box_count += (not row.deleted) - (known is not None and not known.deleted)
        self._database.change(f"INSERT OR REPLACE INTO boxes ({_COLUMNS}) VALUES ({_PLACES})", *_columns_of(row))
        before = self._user_of.get(row.guid)
        if before is not None and before != row.user:
            del self._known[before][row.guid], self._user_of[row.guid]
        if row.user in self._known:
            self._known[row.user][row.guid] = row
            self._user_of[row.guid] = row.user

    def aligned(self, box: str) -> int:
        found = self._database.row("SELECT modseq FROM aligned WHERE box = ?", box)
        return found[0] if found else 0

    def put_aligned(self, box: str, modseq: int) -> None:
        self._database.change("INSERT OR REPLACE INTO aligned VALUES (?, ?)", box, modseq)

    def _of(self, user: str) -> dict[str, BoxRow]:
        """The rows of a user by GUID, remembered while others are not used for longer."""
        known = self._known.get(user)
        if known is None:
            found = self._database.rows(f"SELECT {_COLUMNS} FROM boxes WHERE user = ?", user)
            known = self._known[user] = {row.guid: row for row in map(_box_of, found)}
            self._user_of.update(dict.fromkeys(known, user))
            if len(self._known) > MOST_USERS:
                _, forgotten = self._known.popitem(last=False)
                for guid in forgotten:
                    del self._user_of[guid]
        self._known.move_to_end(user)
        return known


def _columns_of(row: BoxRow) -> list[Any]:
    return [_AS_COLUMN[name](value) if name in _AS_COLUMN else value for name, value in zip(_FIELDS, row)]


def _box_of(columns: tuple[Any, ...]) -> BoxRow:
    return BoxRow(*(_OF_COLUMN[name](value) if name in _OF_COLUMN else value for name, value in zip(_FIELDS, columns)))
