"""Which two connections make one sync on the master, and what becomes of one when the other ends.

The roster (roster.py) asks Pairs which replicas sync on two connections, and reports when a session ends; a session
asks when its replica names another connection by its id.

Not here: what each connection says (session.py), the snapshot they share (shared_snapshot.py). The dialects are
laid side by side in dialects.py. "Main" is the connection that carries the stream, "RDB" the one of the snapshot.

    Redis    the main connection waits in WAIT_RDB_CHANNEL, and INFO shows it. The RDB connection names it. When the
             snapshot begins, the main connection gets the stream from the cut on, before anything else is executed.
    Valkey   the main connection is told to open a second one; nothing binds it to that one yet. The RDB connection
             gets its snapshot, and a PsyncWait keeps the stream behind the cut. Then the main connection names the
             RDB connection and asks to continue at the cut. The stream is kept for the grace period after the snapshot
             at most, and only within the limits of an output buffer.

While the snapshot is on its way, the end of one connection ends the other. There is one exception: an RDB connection
that hangs up while the child writes is judged when the child ends, since a replica may hang up as soon as it has the
last byte, before we hear that the child is done.
Source: captures of Redis 8.2.3 and Valkey 8.0.1; the grace period is Valkey's wait-before-rdb-client-free.
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
"""Replicas, at most, that were sent to a second connection in Valkey's dialect and are remembered until it comes."""


class PairOptions(Protocol):
    """The part of RosterOptions that counts for pairs; see there."""

    diskless: bool
    dialects: Dialects
    session: SessionOptions


@final
class Pairs(Introducer):
    """The pairs of a node.

    Invariants: each of `waits`, by the id of its RDB connection, pins the stream at its snapshot's cut. `_unsettled`
    holds the ids of RDB connections that hung up while their child was writing, each with its main session if that is
    known, until the child ends. `_expected` holds (version, capabilities) that main connections told, by (ip, port).
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
        """Do the directives let us sync on two connections, in one dialect at least?"""
        return bool(self._options.dialects)

    def dialect_for(self, session: Session) -> Dialect | None:
        """The dialect in which a full resync of `session` takes two connections; None if it takes one.

        Two need repl-diskless-sync, and a dialect that both ends speak. A snapshot that leaves something out takes one:
        its RDB connection would not say again what to leave out.
        """
        options = self._options
        if not options.diskless or session.told.excluded:
            return None
        spoken = (dialect for dialect in DIALECTS if dialect in options.dialects)
        return next((dialect for dialect in spoken if dialect.capability in session.told.capabilities), None)

    def expect(self, main: Session) -> None:
        """`main` was sent to a second connection, which will not name it (Valkey's dialect). Remember what the main one
        alone tells, its version and capabilities, until an RDB connection of the same address comes."""
        self._expected.pop((main.ip, main.told.listening_port), None)
        self._expected[(main.ip, main.told.listening_port)] = (main.told.version, main.told.capabilities)
        if len(self._expected) > MAX_EXPECTED:
            del self._expected[next(iter(self._expected))]

    def why_not_serve(self, rdb: Session) -> str:
        """Why this RDB connection cannot have a snapshot, as an error line without its dash; "" if it can.

        An RDB connection that has named no main connection can only speak Valkey's dialect, where the main connection
        names it later. Then what `expect` has remembered counts for its snapshot.
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
        """REPLCONF main-ch-client-id (Redis's dialect): `rdb` names its main connection.

        Raises CommandError unless `main_id` is a main connection that waits for an RDB connection and has none yet.
        """
        main = self._sessions.get(main_id)
        unfit = rdb.state is not SessionState.HANDSHAKE or not rdb.is_rdb_channel or rdb.partner is not None
        if main is None or unfit or main.state is not SessionState.WAIT_RDB_CHANNEL or main.partner is not None:
            raise CommandError(f"ERR Unrecognized RDB client id: {main_id}")
        main.pair_with(rdb)
        rdb.serve_in(main.dialect)
        rdb.told.learn(main.told.version, main.told.capabilities)

    def pair_with_rdb(self, main: Session, rdb_id: int) -> None:
        """REPLCONF set-rdb-client-id (Valkey's dialect): `main` names its RDB connection.

        Raises CommandError unless a stream is kept behind that connection's snapshot, and nobody has named it yet.
        """
        wait = self.waits.get(rdb_id)
        unfit = main.state is not SessionState.HANDSHAKE or main.is_rdb_channel or main.psync_wait is not None
        if wait is None or wait.main is not None or unfit:
            raise CommandError(f"ERR Unrecognized RDB client id {rdb_id}")
        wait.main = main
        main.name_wait(wait)

    def keep_stream(self, rdb: Session, cursor: Cursor) -> None:
        """The snapshot of an RDB connection in Valkey's dialect begins; `cursor` pins the stream behind it."""
        self.waits[rdb.id] = PsyncWait(rdb, cursor, self._options.session)

    def attached(self, main: Session, wait: PsyncWait, now: float) -> None:
        """`main` has its own place in the stream, so `wait` is over; the two connections are a pair from here on."""
        self._drop(wait)
        main.name_wait(None)
        rdb, wait.rdb, wait.main = wait.rdb, None, None
        if rdb is not None:
            main.pair_with(rdb)
        elif wait.rdb_id in self._unsettled:
            # The RDB connection hung up while the child was writing: its end decides about `main`.
            self._unsettled[wait.rdb_id] = main
        else:
            # The whole snapshot was out before `main` asked for the stream.
            main.rdb_channel_done(now)

    # ------------------------------------------------------------------ endings

    def left(self, session: Session, now: float, *, child_writes: bool) -> None:
        """A session has ended: close the other connection of its pair, if that depends on this one.

        `child_writes`: the session took a snapshot that a child is still writing. That matters for an RDB connection.
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
        """An RDB connection has ended: was the snapshot out, may it have been, or was it not?"""
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
        """The replica has the whole snapshot. The grace period begins for a main connection that has not come yet."""
        if wait is not None:
            wait.until = now + self._options.session.rdb_channel_grace_s
        if main is not None and main.state is not SessionState.CLOSED:
            main.rdb_channel_done(now)

    def _snapshot_missed(self, wait: PsyncWait | None, main: Session | None, reason: Reason | None = None) -> None:
        """The replica will not get the whole snapshot, so the stream behind it is useless: end the main connection."""
        if wait is not None:
            self._give_up(wait, reason)
        # A main connection that is online has acknowledged, so its replica did load the whole snapshot.
        if main is not None and main.state is not SessionState.ONLINE:
            _close(main, "rdb_channel", reason)

    @property
    def has_unsettled(self) -> bool:
        """Does a main connection, or a kept stream, depend on the running child although its RDB connection hung up?

        Then the child must not be stopped.
        """
        return any(
            rdb_id in self.waits or (main is not None and main.state is not SessionState.CLOSED)
            for rdb_id, main in self._unsettled.items()
        )

    def child_ended(self, ok: bool, failed: Collection[int], now: float) -> None:
        """The child is done, so we know about the RDB connections that hung up while it was writing.

        `failed`: ids of the connections that the child could not write. If the child was `ok` and a connection is not
        among them, its replica had everything; otherwise the main connection is closed.
        """
        unsettled, self._unsettled = self._unsettled, {}
        for rdb_id, main in unsettled.items():
            wait = self.waits.get(rdb_id)
            if ok and rdb_id not in failed:
                self._snapshot_taken(wait, main, now)
            else:
                self._snapshot_missed(wait, main)

    def overdue(self, end: int, floor_bytes: int, now: float) -> list[tuple[PsyncWait, Reason]]:
        """Give up the waits that lasted too long or whose stream grew too large. Returns them, each with its reason.

        The stream ends at `end`; the backlog holds `floor_bytes` (PendingWatch.check).
        """
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
        """Our stream is about to be replaced by another one: nobody can continue in what was kept of it."""
        for wait in list(self.waits.values()):
            self._give_up(wait)

    def next_deadline(self) -> float | None:
        """When `overdue` is due."""
        return min((wait.deadline for wait in self.waits.values() if wait.deadline is not None), default=None)

    # ------------------------------------------------------------------ inside

    def _drop(self, wait: PsyncWait) -> None:
        """Keep the stream no longer for `wait`."""
        if self.waits.pop(wait.rdb_id, None) is not None:
            self._backlog.detach(wait.cursor)

    def _give_up(self, wait: PsyncWait, reason: Reason | None = None) -> None:
        """Keep the stream no longer, and close the main connection that named it, and the RDB connection before it."""
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
    """Close one connection of a pair; `channel` names the other one, which is gone, for `reason` if that is known."""
    reason = reason or Reason(Cause.CONNECTION_LOST, detail=channel)
    session.close(reason, f"the other connection of its sync ({channel}) is gone")
