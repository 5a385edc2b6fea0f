"""Which two connections make one sync, and what becomes of one when the other ends.

Not here: what each connection says (session.py), the snapshot they share (shared_snapshot.py). The dialects are
laid side by side in dialects.py.

    Redis    the main connection waits, listed, in WAIT_RDB_CHANNEL; the RDB connection names it. When the snapshot
             begins, the stream is attached to the main one at the cut, in the same turn.
    Valkey   the main connection is sent away and is nobody's yet. The RDB connection gets its snapshot; a PsyncWait
             keeps the stream behind the cut until the main one names that connection and asks to continue there, at
             most for the grace period after the snapshot, and within the limits of an output buffer.

While the snapshot is on its way a pair dies together. An RDB connection that goes while the child writes is judged
when the child ends: a replica may hang up as soon as it has the last byte, before we hear that the child is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, final

from pyrepl.errors import CommandError
from pyrepl.replication.dialects import DIALECTS, Capability, Dialect, Dialects
from pyrepl.replication.events import SessionState
from pyrepl.replication.psync import Cause, Reason
from pyrepl.replication.session import Introducer, PsyncWait, Session, SessionOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyrepl.replication.backlog import Backlog, Cursor

MAX_EXPECTED: Final = 1024
"""Replicas that were sent to a second connection in Valkey's dialect and are remembered until it comes."""


class PairOptions(Protocol):
    """The part of RosterOptions that counts here."""

    diskless: bool
    dialects: Dialects
    session: SessionOptions


@final
class Pairs(Introducer):
    """The pairs of a node.

    Invariants: each of `waits` pins the stream at its snapshot's cut; `_unsettled` holds RDB connections that went
    while their child was writing, with the main one, until the child ends.
    """

    def __init__(self, sessions: dict[int, Session], backlog: Backlog, options: PairOptions) -> None:
        """`sessions` are those of the roster, by id."""
        self.waits: Final[dict[int, PsyncWait]] = {}
        self._sessions: Final = sessions
        self._backlog: Final = backlog
        self._options: Final = options
        self._unsettled: dict[int, Session | None] = {}
        self._expected: dict[tuple[str, int], tuple[str, Capability]] = {}

    # ------------------------------------------------------------------ who uses two connections

    @property
    def is_open(self) -> bool:
        return bool(self._options.dialects)

    def dialect_for(self, session: Session) -> Dialect | None:
        """The way in which a full resync of `session` takes two connections; None if it takes one, as with a snapshot
        that leaves something out: the second connection would not know of it."""
        options = self._options
        if not options.diskless or session.told.excluded:
            return None
        spoken = (dialect for dialect in DIALECTS if dialect in options.dialects)
        return next((dialect for dialect in spoken if dialect.capability in session.told.capabilities), None)

    def expect(self, main: Session) -> None:
        """`main` was sent to a second connection that will not name it: remember what only the first one tells."""
        self._expected.pop((main.ip, main.told.listening_port), None)
        self._expected[(main.ip, main.told.listening_port)] = (main.told.version, main.told.capabilities)
        if len(self._expected) > MAX_EXPECTED:
            del self._expected[next(iter(self._expected))]

    def why_not_serve(self, rdb: Session) -> str:
        """Why this RDB connection cannot have a snapshot, as an error line without its dash; "" if it can.

        One that has named no main connection speaks the dialect in which the main one names it, later.
        """
        if rdb.partner is not None:
            return ""
        if not rdb.uses_sync:
            return "ERR the RDB channel has not named its main channel"
        dialect = next((dialect for dialect in self._options.dialects if dialect.replica_asks_for_stream), None)
        if dialect is None:
            return "ERR dual channel replication is not enabled"
        rdb.serve_in(dialect)
        version, capabilities = self._expected.pop((rdb.ip, rdb.told.listening_port), ("", Capability.NONE))
        rdb.told.learn(version, capabilities)
        return ""

    # ------------------------------------------------------------------ pairing

    def pair_with_main(self, rdb: Session, main_id: int) -> None:
        """REPLCONF main-ch-client-id: only a main connection that waits for one, once."""
        main = self._sessions.get(main_id)
        unfit = rdb.state is not SessionState.HANDSHAKE or not rdb.is_rdb_channel or rdb.partner is not None
        if main is None or unfit or main.state is not SessionState.WAIT_RDB_CHANNEL or main.partner is not None:
            raise CommandError(f"ERR Unrecognized RDB client id: {main_id}")
        main.pair_with(rdb)
        rdb.serve_in(main.dialect)
        rdb.told.learn(main.told.version, main.told.capabilities)

    def pair_with_rdb(self, main: Session, rdb_id: int) -> None:
        """REPLCONF set-rdb-client-id: only a snapshot whose stream nobody has asked for."""
        wait = self.waits.get(rdb_id)
        unfit = main.state is not SessionState.HANDSHAKE or main.is_rdb_channel or main.psync_wait is not None
        if wait is None or wait.main is not None or unfit:
            raise CommandError(f"ERR Unrecognized RDB client id {rdb_id}")
        wait.main = main
        main.name_wait(wait)

    def keep_stream(self, rdb: Session, cursor: Cursor) -> None:
        """The snapshot of an RDB connection without a main one begins; `cursor` pins the stream behind it."""
        self.waits[rdb.id] = PsyncWait(rdb, cursor, self._options.session)

    def attached(self, main: Session, wait: PsyncWait, now: float) -> None:
        """`main` has the stream that `wait` kept."""
        self._drop(wait)
        main.name_wait(None)
        rdb, wait.rdb, wait.main = wait.rdb, None, None
        if rdb is not None:
            main.pair_with(rdb)
        elif wait.rdb_id in self._unsettled:
            self._unsettled[wait.rdb_id] = main
        else:
            main.rdb_channel_done(now)

    # ------------------------------------------------------------------ endings

    def left(self, session: Session, now: float, *, child_writes: bool) -> None:
        """A session has ended: close the other connection of its pair, if that depends on it.

        `child_writes`: it is an RDB connection that hung up while its snapshot was being written.
        """
        partner = session.part()
        if session.is_rdb_channel:
            self._rdb_channel_left(session, partner, now, child_writes=child_writes)
            return
        wait = session.name_wait(None)
        if wait is not None:
            wait.main = None
            self._give_up(wait)
        if partner is not None:
            _close(partner, "main_channel")

    def _rdb_channel_left(self, rdb: Session, main: Session | None, now: float, *, child_writes: bool) -> None:
        wait = self.waits.get(rdb.id)
        if wait is not None:
            if wait.rdb is not rdb:
                return
            wait.rdb = None
        if rdb.snapshot_is_out:
            self._snapshot_taken(wait, main, now)
        elif child_writes and (wait is not None or main is not None):
            self._unsettled[rdb.id] = main
        else:
            failed = rdb.end_reason is not None and rdb.end_reason.cause is Cause.SNAPSHOT_FAILED
            self._snapshot_missed(wait, main, rdb.end_reason if failed else None)

    def _snapshot_taken(self, wait: PsyncWait | None, main: Session | None, now: float) -> None:
        if wait is not None:
            wait.until = now + self._options.session.rdb_channel_grace_s
        if main is not None and main.state is not SessionState.CLOSED:
            main.rdb_channel_done(now)

    def _snapshot_missed(self, wait: PsyncWait | None, main: Session | None, reason: Reason | None = None) -> None:
        if wait is not None:
            self._give_up(wait, reason)
        if main is not None and main.state is not SessionState.ONLINE:
            _close(main, "rdb_channel", reason)

    @property
    def has_unsettled(self) -> bool:
        """Does somebody still depend on the running child though its connection to it is gone?"""
        return any(
            rdb_id in self.waits or (main is not None and main.state is not SessionState.CLOSED)
            for rdb_id, main in self._unsettled.items()
        )

    def child_ended(self, ok: bool, failed: Collection[int], now: float) -> None:
        """The child is done: those that hung up on it either had everything, or their pair is closed."""
        unsettled, self._unsettled = self._unsettled, {}
        for rdb_id, main in unsettled.items():
            wait = self.waits.get(rdb_id)
            if ok and rdb_id not in failed:
                self._snapshot_taken(wait, main, now)
            else:
                self._snapshot_missed(wait, main)

    def overdue(self, end: int, floor_bytes: int, now: float) -> list[tuple[PsyncWait, Reason]]:
        """Give up what was kept too long or grew too large; each with the reason."""
        if not self.waits:
            return []
        given_up = []
        for wait in list(self.waits.values()):
            excess = wait.check(end, floor_bytes, now)
            if excess is not None:
                given_up.append((wait, excess.reason))
            elif wait.until is not None and now >= wait.until:
                given_up.append((wait, Reason(Cause.TIMEOUT, detail="psync")))
        for wait, reason in given_up:
            self._give_up(wait, reason)
        return given_up

    def forget_waits(self) -> None:
        """Our stream is about to be another one: what was kept of it is worth nothing."""
        for wait in list(self.waits.values()):
            self._give_up(wait)

    def next_deadline(self) -> float | None:
        """When `overdue` is due."""
        return min((wait.deadline for wait in self.waits.values() if wait.deadline is not None), default=None)

    # ------------------------------------------------------------------ inside

    def _drop(self, wait: PsyncWait) -> None:
        if self.waits.pop(wait.rdb_id, None) is not None:
            self._backlog.detach(wait.cursor)

    def _give_up(self, wait: PsyncWait, reason: Reason | None = None) -> None:
        """Keep the stream no longer, and close who wanted it and who still takes the snapshot before it."""
        self._drop(wait)
        self._unsettled.pop(wait.rdb_id, None)
        main, wait.main = wait.main, None
        rdb, wait.rdb = wait.rdb, None
        if main is not None:
            main.name_wait(None)
        for session, channel in ((main, "rdb_channel"), (rdb, "main_channel")):
            if session is not None:
                _close(session, channel, reason)


def _close(session: Session, channel: str, reason: Reason | None = None) -> None:
    """`channel` is the other one, which is gone."""
    reason = reason or Reason(Cause.CONNECTION_LOST, detail=channel)
    session.close(reason, f"the other connection of its sync ({channel}) is gone")
