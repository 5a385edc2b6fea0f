"""A place in a replication stream, as the fields of a snapshot state it: repl-id, repl-offset and repl-stream-db.

A snapshot holds the data that the stream makes up to there. So a node that has loaded it can ask its master to continue
the stream at that place, or, as a master, can continue its former replicas there.

Source: Redis 7.0 `rdbPopulateSaveInfo` and `rdbSaveInfoAuxFields`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from pyrepl.frozen import Frozen
from pyrepl.replication.history import is_replid
from pyrepl.units import Offset, ReplId

_REPLID: Final = b"repl-id"
_OFFSET: Final = b"repl-offset"
_DB: Final = b"repl-stream-db"


@final
class StreamPlace(Frozen):
    """The cut `cut` of the stream `replid`, where the database `db` is selected."""

    replid: ReplId
    cut: Offset
    db: int

    def fields(self) -> list[tuple[bytes, bytes]]:
        """As a snapshot states it."""
        return [(_DB, b"%d" % self.db), (_REPLID, self.replid.encode()), (_OFFSET, b"%d" % self.cut)]


def stated_place(fields: Mapping[bytes, bytes], databases: int) -> StreamPlace | None:
    """The place that these fields of a snapshot state; None if they state none that can be read.

    `databases` is how many this node has, as for `stated_db`.
    """
    replid, cut = fields.get(_REPLID, b"").decode("ascii", "replace"), fields.get(_OFFSET, b"")
    if not is_replid(replid) or not cut.isdigit():
        return None
    return StreamPlace(ReplId(replid), Offset(int(cut)), stated_db(fields, databases))


def stated_db(fields: Mapping[bytes, bytes], databases: int) -> int:
    """The database in which the stream goes on behind the snapshot; 0 if none is stated that this node has."""
    text = fields.get(_DB, b"")
    db = int(text) if text.isdigit() else 0
    return db if db < databases else 0
