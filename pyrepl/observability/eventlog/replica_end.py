"""What a replica has to tell of its link and its syncs in the event log: watches the link, and adds up.

The shell of the link (daemon/following/master_link) calls in the order in which things happen; the records go to
`emit`. Nothing here changes what happens. The master's end is master_end.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import (
    BufferFull,
    BufferPeak,
    CatchUpEnded,
    CatchUpStarted,
    DeliveryEnded,
    DeliveryStarted,
    LinkConnecting,
    LinkDown,
    LinkUp,
    LoadEnded,
    LoadStarted,
    Online,
    PsyncAsked,
    PsyncDecided,
    RdbChannelOpened,
    RetryPlanned,
)
from pyrepl.observability.eventlog.syncs import (
    CONTINUE,
    FULL_DISK,
    FULL_DISKLESS,
    REPLICA,
    in_ms,
    parts,
    sync_name,
)
from pyrepl.replication.dialects import Dialect
from pyrepl.replication.events import FullResyncAnnounced, LinkState, Lost
from pyrepl.replication.link import Link
from pyrepl.replication.psync import Cause, Reason, Request

_VERDICTS_OF_ERRORS = frozenset({Cause.NOT_READY, Cause.REFUSED, Cause.SNAPSHOT_FAILED})


@final
class ReplicaEnd:
    """One link's story, from attempt to attempt. Times are monotonic seconds, None for what has not happened."""

    def __init__(self, emit: Callable[[Record], None], link: Link, now: float) -> None:
        self._emit = emit
        self._link = link
        self._peer = f"{link.host}:{link.port}"
        self._down_since = now
        self._forget()

    def _forget(self) -> None:
        """Another attempt begins."""
        self._sync: str | None = None
        self._mode = ""
        self._is_decided = False
        self._connecting_since: float | None = None
        self._asked_at: float | None = None
        self._delivering_since: float | None = None
        self._loading_since: float | None = None
        self._catching_up_since: float | None = None
        self._up_since: float | None = None
        self._catch_up_from = 0

    @property
    def sync(self) -> str:
        """The name of the present sync; empty before there is one."""
        return self._sync or ""

    # ------------------------------------------------------------------ the request

    def connecting(self, now: float) -> None:
        self._forget()
        self._connecting_since = now
        self._emit(LinkConnecting(self._peer, self._link.progress.current_sync_attempts))

    def asked(self, request: Request, conn: str, now: float) -> None:
        """PSYNC was sent; `conn` is our end of the connection."""
        introduction = self._link.options.introduction
        ip = introduction.announce_ip or conn.rpartition(":")[0].strip("[]")
        self._sync = sync_name(conn, request)
        self._asked_at = now
        self._emit(
            PsyncAsked(
                REPLICA,
                self._sync,
                self._peer,
                f"{ip}:{introduction.listening_port}",
                conn,
                asked_replid=request.replid,
                asked_offset=request.held if request.replid is not None else None,
                handshake_ms=in_ms(self._connecting_since, now),
            )
        )

    def rdb_channel_opened(self, dialect: Dialect) -> None:
        """The master wants the snapshot to go over a second connection."""
        self._mode = dialect.mode
        self._emit(RdbChannelOpened(REPLICA, self.sync, self._peer, dialect.name))

    def announced(self, event: FullResyncAnnounced) -> None:
        """The master gives a full resync, and has said where its snapshot ends."""
        cause, detail, by_bytes = parts(event.reason)
        verdict = "two_channels" if self._mode else "full"
        self._decide(verdict, cause=cause, detail=detail, by_bytes=by_bytes, snapshot_offset=event.cut)

    def continued(self) -> None:
        self._mode = CONTINUE
        self._decide(CONTINUE)

    def _decide(
        self,
        verdict: str,
        *,
        cause: str | None = None,
        detail: str | None = None,
        by_bytes: int | None = None,
        snapshot_offset: int | None = None,
        error: str | None = None,
    ) -> None:
        self._is_decided = True
        self._emit(
            PsyncDecided(
                REPLICA,
                self.sync,
                self._peer,
                verdict,
                cause,
                detail,
                by_bytes,
                snapshot_offset=snapshot_offset,
                error=error,
            )
        )

    # ------------------------------------------------------------------ the snapshot

    def delivery_started(self, cut: int, total_bytes: int | None, how: str, now: float) -> None:
        """Its first bytes come; `how` they are loaded is file, direct or beside."""
        self._mode = self._mode or (FULL_DISKLESS if total_bytes is None else FULL_DISK)
        self._delivering_since = now
        wait_ms = in_ms(self._asked_at, now)
        self._emit(DeliveryStarted(REPLICA, self.sync, self._peer, self._mode, cut, wait_ms, total_bytes=total_bytes))
        if how != "file":
            self.load_started(how, now)

    def delivery_ended(self, size_bytes: int, now: float) -> None:
        """Its last byte is here."""
        self._end_delivery(now, size_bytes, None)

    def _end_delivery(self, now: float, size_bytes: int | None, error: str | None) -> None:
        since, self._delivering_since = self._delivering_since, None
        if since is not None:
            ms = in_ms(since, now)
            self._emit(DeliveryEnded(REPLICA, self.sync, self._peer, error is None, ms, size_bytes, error))

    def load_started(self, how: str, now: float) -> None:
        if self._loading_since is None:
            self._loading_since = now
            self._emit(LoadStarted(self.sync, self._peer, how))

    def loaded(self, keys: int, expired_keys: int, now: float) -> None:
        """The snapshot is our data now."""
        since, self._loading_since = self._loading_since, None
        self._emit(LoadEnded(self.sync, self._peer, True, in_ms(since, now), keys, expired_keys))

    def load_failed(self, detail: str, error: str, now: float) -> None:
        """`detail` is the word for it: rdb_version, corrupt, memory, disk."""
        self._end_delivery(now, None, error)
        since, self._loading_since = self._loading_since, None
        self._emit(LoadEnded(self.sync, self._peer, False, in_ms(since, now), detail=detail, error=error))

    # ------------------------------------------------------------------ the stream

    def buffer_full(self, limit_bytes: int) -> None:
        self._emit(BufferFull(self.sync, self._peer, limit_bytes))

    def catch_up_started(self, buffered_bytes: int, now: float) -> None:
        self._catching_up_since = now
        self._catch_up_from = self._link.held or 0
        self._emit(CatchUpStarted(self.sync, self._peer, buffered_bytes))

    def up(self, now: float) -> None:
        """The stream flows."""
        if self._catching_up_since is not None:
            applied_bytes = (self._link.held or 0) - self._catch_up_from
            ms = in_ms(self._catching_up_since, now)
            self._emit(CatchUpEnded(REPLICA, self.sync, self._peer, ms, applied_bytes))
            self._catching_up_since = None
        self._emit_peak()
        self._emit(Online(REPLICA, self.sync, self._peer, self._mode, in_ms(self._asked_at, now)))
        self._emit(LinkUp(self._peer, self.sync, self._mode, in_ms(self._down_since, now)))
        self._up_since = now

    def _emit_peak(self) -> None:
        """Only a sync on two connections has such a buffer."""
        use = self._link.buffer_use
        peak_bytes, use.sync_peak_bytes = use.sync_peak_bytes, 0
        if peak_bytes:
            limit_bytes = self._link.options.sync_buffer_limit_bytes
            self._emit(BufferPeak(REPLICA, self.sync, self._peer, "sync", peak_bytes, limit_bytes))

    # ------------------------------------------------------------------ endings

    def lost(self, event: Lost, now: float) -> None:
        """The link broke. What a snapshot left half-done is thrown away."""
        error = event.text or str(event.reason)
        self._end_delivery(now, None, error)
        if self._loading_since is not None:
            self.load_failed("link", error, now)
        if self._sync is not None and not self._is_decided and event.reason.cause in _VERDICTS_OF_ERRORS:
            self._decide("refused", cause=event.reason.cause.value, detail=event.reason.detail or None, error=error)
        if self._up_since is None:
            self._emit_peak()
        self._down(event.state, event.reason, error, now)

    def _down(self, state: LinkState, reason: Reason, error: str, now: float) -> None:
        cause, detail, by_bytes = parts(reason)
        assert cause is not None
        up_ms = in_ms(self._up_since, now) if self._up_since is not None else None
        self._emit(
            LinkDown(self._peer, state.value, cause, detail, by_bytes, sync=self._sync, up_ms=up_ms, error=error)
        )
        if self._up_since is not None:
            self._down_since = now
        self._forget()

    def try_again(self, in_s: float, failures: int) -> None:
        """The next attempt is planned."""
        error = self._link.progress.last_sync_error
        self._emit(RetryPlanned(self._peer, round(in_s * 1000), failures, error))
