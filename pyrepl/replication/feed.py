"""Commands to stream bytes: SELECT before a command of another database, MULTI and EXEC around a unit of several.

Not here: which commands are propagated and how they are rewritten (commands/), and keeping the bytes (backlog.py).
Source: Redis 8.2 `replicationFeedSlaves`, `propagatePendingCommands`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.resp.encoder import encode_command

NO_DB: Final = -1
MULTI: Final = encode_command([b"MULTI"])
EXEC: Final = encode_command([b"EXEC"])
PING: Final = encode_command([b"PING"])
GETACK: Final = encode_command([b"REPLCONF", b"GETACK", b"*"])

_SELECTS: Final = [encode_command([b"SELECT", b"%d" % index]) for index in range(16)]


@final
class Feed:
    """Turns what a master executes into its stream.

    Invariant: `db` is the database that a replica which has applied all bytes so far has selected, NO_DB if unknown.
    """

    __slots__ = ("db",)

    def __init__(self) -> None:
        self.db: int = NO_DB

    def feed_one(self, db: int, raw: bytes) -> bytes:
        """The stream bytes of one command that was executed in database `db`: `raw` itself if no SELECT is due."""
        if db == self.db:
            return raw
        return self._select(db) + raw

    def feed_unit(self, unit: list[tuple[int, bytes]]) -> bytes:
        """The stream bytes of (database, command bytes) that take effect together; b"" for an empty unit.

        SELECT stands behind MULTI, as MULTI needs no database (since Redis 7.2; 7.0 put the first one before it).
        """
        if not unit:
            return b""
        if len(unit) == 1:
            return self.feed_one(unit[0][0], unit[0][1])
        parts = [MULTI]
        for db, raw in unit:
            if db != self.db:
                parts.append(self._select(db))
            parts.append(raw)
        parts.append(EXEC)
        return b"".join(parts)

    def ping(self) -> bytes:
        """The keep-alive in the stream (repl-ping-replica-period); it needs no database."""
        return PING

    def getack(self) -> bytes:
        """Asks every replica for its cut at once (WAIT)."""
        return GETACK

    def forget_db(self) -> None:
        """The next command gets its SELECT: a snapshot that states no database was started, or we were promoted."""
        self.db = NO_DB

    def _select(self, db: int) -> bytes:
        assert db >= 0
        self.db = db
        return _SELECTS[db] if db < len(_SELECTS) else encode_command([b"SELECT", b"%d" % db])
