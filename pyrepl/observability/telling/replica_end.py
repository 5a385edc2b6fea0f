"""What a replica has to tell of its link and its syncs: for people a line of the log, for programs a record.

It watches the link and adds up what it sees. The shell of the link (daemon/following/master_link) hands over each event
of the machine before it carries it out (`tell`; the table `_rows` says which method knows the event), and calls the
methods below for what the shell alone notices. Nothing here changes what happens. The master's end is master_end.py;
the lines of a link that broke are link_lines.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.observability import events
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
from pyrepl.observability.telling import link_lines
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication import events as machine
from pyrepl.replication.backoff import STEADY_S
from pyrepl.replication.link import Link
from pyrepl.replication.psync import Cause

_VERDICTS_OF_ERRORS: Final = frozenset({Cause.NOT_READY, Cause.REFUSED, Cause.SNAPSHOT_FAILED})
_PROGRESS_EVERY_S: Final = 5.0


@final
class ReplicaEnd:
    """One link's story, from attempt to attempt. Times are monotonic seconds, None for what has not happened."""

    def __init__(self, say: Voice, link: Link, now: float) -> None:
        self._say = say
        self._link = link
        self._peer = f"{link.host}:{link.port}"
        self._conn = ""
        """Our end of the connection."""
        self._down_since = now
        self._failures = 0
        """In a row; a link that was up for STEADY_S ends the row."""
        self._last_up_at: float | None = None
        """When the link last came up; None once the attempt after its loss is planned."""
        self._buffer_was_full = False
        """Said so in this sync: while the buffer is applied it fills up again and again."""
        self._forget()
        self._rows: Final[dict[type[Any], Callable[[Any, float], None]]] = {
            machine.Connect: self._connecting,
            machine.Tolerated: self._tolerated,
            machine.SyncAsked: self._asked,
            machine.OpenRdbChannel: self._rdb_channel_opened,
            machine.SyncBufferFull: self._buffer_full,
            machine.CatchUpBegins: self._catch_up_begins,
            machine.FullResyncAnnounced: self._announced,
            machine.LoadsOn: self._loads_on,
            machine.Continued: self._continued,
            machine.LinkUp: self._up,
            machine.Lost: self._lost,
            machine.TryAgain: self._try_again,
        }
        self.told: Final = frozenset(self._rows)
        """The events that `tell` has something to say of."""

    def _forget(self) -> None:
        """Another attempt begins."""
        self._sync: str | None = None
        self._mode = ""
        self._is_decided = False
        self._connecting_since: float | None = None
        self._asked_at: float | None = None
        self._delivering_since: float | None = None
        self._progress_at: float | None = None
        """While a snapshot comes or is loaded: when its progress is told next."""
        self._loading_since: float | None = None
        self._catching_up_since: float | None = None
        self._up_since: float | None = None
        self._catch_up_from = 0

    @property
    def sync(self) -> str:
        """The name of the present sync; empty before there is one."""
        return self._sync or ""

    def tell(self, event: machine.LinkEvent, now: float) -> None:
        """Tell of an event of the link that is about to be carried out; nothing for events that are not in `told`."""
        row = self._rows.get(type(event))
        if row is not None:
            row(event, now)

    # ------------------------------------------------------------------ the request

    def _connecting(self, event: machine.Connect, now: float) -> None:
        self._forget()
        self._connecting_since = now
        self._say(
            LinkConnecting(self._peer, self._link.progress.current_sync_attempts),
            events.ConnectingToMaster(self._peer),
            events.SyncStarted(),
        )

    def connected(self, conn: str) -> None:
        """The connection stands; `conn` is our end of it, `ip:port`."""
        self._conn = conn
        self._say(events.ConnectedToMaster())

    def cannot_connect(self, error: str) -> None:
        """The connection could not be had; Lost follows."""
        self._say(events.CannotConnectToMaster(error))

    def _tolerated(self, event: machine.Tolerated, now: float) -> None:
        if event.step != "ping":
            self._say(events.ReplconfNotUnderstood(event.step, event.text))
        elif not self._link.options.introduction.password:
            self._say(events.MasterWantsPassword(event.text))

    def _asked(self, event: machine.SyncAsked, now: float) -> None:
        introduction = self._link.options.introduction
        request, conn = event.request, self._conn
        ip = introduction.announce_ip or conn.rpartition(":")[0].strip("[]")
        self._sync = sync_name(conn, request)
        self._asked_at = now
        self._say(
            PsyncAsked(
                REPLICA,
                self._sync,
                self._peer,
                f"{ip}:{introduction.listening_port}",
                conn,
                asked_replid=request.replid,
                asked_offset=request.held if request.replid is not None else None,
                handshake_ms=in_ms(self._connecting_since, now),
            ),
            events.MasterRepliedToPing(),
            events.NothingToContinue()
            if request.replid is None
            else events.PartialResyncTried(request.replid, request.held + 1),
        )

    def _rdb_channel_opened(self, event: machine.OpenRdbChannel, now: float) -> None:
        """The master wants the snapshot to go over a second connection."""
        self._mode = event.dialect.mode
        self._buffer_was_full = False
        self._say(
            RdbChannelOpened(REPLICA, self.sync, self._peer, event.dialect.name),
            events.RdbChannelOpened(event.dialect.name),
        )

    def _announced(self, event: machine.FullResyncAnnounced, now: float) -> None:
        """The master gives a full resync, and has said where its snapshot ends."""
        cause, detail, by_bytes = parts(event.reason)
        verdict = "two_channels" if self._mode else "full"
        self._is_decided = True
        self._say(
            PsyncDecided(REPLICA, self.sync, self._peer, verdict, cause, detail, by_bytes, snapshot_offset=event.cut),
            events.FullResyncFromMaster(event.replid, event.cut, str(event.reason)),
        )

    def _continued(self, event: machine.Continued, now: float) -> None:
        self._mode = CONTINUE
        self._is_decided = True
        self._say(
            PsyncDecided(REPLICA, self.sync, self._peer, CONTINUE),
            events.PartialResyncSucceeded(),
            *([] if event.new_replid is None else [events.MasterIdChanged(event.new_replid)]),
            events.MasterAcceptedPartial(),
        )

    # ------------------------------------------------------------------ the snapshot

    def delivery_started(self, cut: int, total_bytes: int | None, how: str, now: float) -> None:
        """Its first bytes come; `how` they are loaded is file, direct or beside."""
        self._mode = self._mode or (FULL_DISKLESS if total_bytes is None else FULL_DISK)
        self._delivering_since = now
        self._progress_at = now + _PROGRESS_EVERY_S
        where = "disk" if how == "file" else "parser"
        received = (
            events.ReceivingStreamedSnapshot(where)
            if total_bytes is None
            else events.ReceivingSnapshot(total_bytes, where)
        )
        wait_ms = in_ms(self._asked_at, now)
        self._say(
            DeliveryStarted(REPLICA, self.sync, self._peer, self._mode, cut, wait_ms, total_bytes=total_bytes),
            *([events.ReceivingBoth()] if self._link.uses_two_channels else []),
            received,
        )
        if how != "file":
            self._load_started(how, now)

    def delivery_ended(self, size_bytes: int, how: str, now: float) -> None:
        """Its last byte is here; `how` is empty when nobody loads it any more."""
        self._end_delivery(now, size_bytes, None)
        if how:
            self._load_started(how, now)

    def _end_delivery(self, now: float, size_bytes: int | None, error: str | None) -> None:
        since, self._delivering_since = self._delivering_since, None
        if since is not None:
            ms = in_ms(since, now)
            self._say(DeliveryEnded(REPLICA, self.sync, self._peer, error is None, ms, size_bytes, error))

    def _load_started(self, how: str, now: float) -> None:
        if self._loading_since is None:
            self._loading_since = now
            self._say(LoadStarted(self.sync, self._peer, how))

    def progress(self, now: float) -> None:
        """Say now and then how far the snapshot is; call it whenever time has passed."""
        transfer = self._link.progress.transfer
        if transfer is None or self._progress_at is None or now < self._progress_at:
            return
        self._progress_at = now + _PROGRESS_EVERY_S
        read, total, percent = transfer.read_bytes, transfer.total_bytes or 0, transfer.percent or 0.0
        pace, eta_s = int(transfer.bytes_per_s(now)), int(transfer.eta_s(now) or 0)
        self._say(events.SyncProgress(read, total, percent, pace, eta_s))

    def _loads_on(self, event: machine.LoadsOn, now: float) -> None:
        if self._link.uses_two_channels:
            self._say(events.SyncAbortedWhileLoading(event.text, str(event.reason)))
        self._say(events.WillContinueAfterLoading())

    def loaded(self, keys: int, expired_keys: int, now: float) -> None:
        """The snapshot is our data now."""
        since, self._loading_since = self._loading_since, None
        self._progress_at = None
        self._say(LoadEnded(self.sync, self._peer, True, in_ms(since, now), keys, expired_keys))

    def cannot_load(self, detail: str, error: str, now: float) -> None:
        """The load could not even begin. Lost, which follows, has the line."""
        self._progress_at = None
        self._end_delivery(now, None, error)
        since, self._loading_since = self._loading_since, None
        self._say(LoadEnded(self.sync, self._peer, False, in_ms(since, now), detail=detail, error=error))

    def load_failed(self, detail: str, error: str, now: float) -> None:
        """`detail` is the word for it: rdb_version, corrupt, memory, disk."""
        self.cannot_load(detail, error, now)
        self._say(events.SyncLoadFailed(error, f"{Cause.LOAD_FAILED} ({detail})"))

    # ------------------------------------------------------------------ the stream

    def _buffer_full(self, event: machine.SyncBufferFull, now: float) -> None:
        if not self._buffer_was_full:
            self._buffer_was_full = True
            self._say(BufferFull(self.sync, self._peer, event.limit_bytes), events.SyncBufferFull(event.limit_bytes))

    def _catch_up_begins(self, event: machine.CatchUpBegins, now: float) -> None:
        self._catching_up_since = now
        self._catch_up_from = self._link.held or 0
        size = event.buffered_bytes
        self._say(CatchUpStarted(self.sync, self._peer, size), events.CatchUpStarted(size))

    def _up(self, event: machine.LinkUp, now: float) -> None:
        """The stream flows."""
        if event.full:
            self._say(events.SyncFinished())
        if self._catching_up_since is not None:
            applied_bytes = (self._link.held or 0) - self._catch_up_from
            ms = in_ms(self._catching_up_since, now)
            self._catching_up_since = None
            self._say(
                CatchUpEnded(REPLICA, self.sync, self._peer, ms, applied_bytes), events.CatchUpFinished(applied_bytes)
            )
        self._tell_peak()
        self._say(
            Online(REPLICA, self.sync, self._peer, self._mode, in_ms(self._asked_at, now)),
            LinkUp(self._peer, self.sync, self._mode, in_ms(self._down_since, now)),
        )
        self._up_since = self._last_up_at = now

    def _tell_peak(self) -> None:
        """Only a sync on two connections has such a buffer."""
        use = self._link.buffer_use
        peak_bytes, use.sync_peak_bytes = use.sync_peak_bytes, 0
        if peak_bytes:
            limit_bytes = self._link.options.sync_buffer_limit_bytes
            self._say(BufferPeak(REPLICA, self.sync, self._peer, "sync", peak_bytes, limit_bytes))

    # ------------------------------------------------------------------ endings

    def _lost(self, event: machine.Lost, now: float) -> None:
        """The link broke. What a snapshot left half-done is thrown away."""
        asked = self._sync is not None
        error = event.text or str(event.reason)
        cause, detail, by_bytes = parts(event.reason)
        assert cause is not None
        if self._loading_since is not None:
            self.cannot_load("link", error, now)
        self._end_delivery(now, None, error)
        if asked and not self._is_decided and event.reason.cause in _VERDICTS_OF_ERRORS:
            self._say(PsyncDecided(REPLICA, self.sync, self._peer, "refused", cause, detail, error=error))
        if self._up_since is None:
            self._tell_peak()
        up_ms = in_ms(self._up_since, now) if self._up_since is not None else None
        self._say(
            LinkDown(self._peer, event.state.value, cause, detail, by_bytes, sync=self._sync, up_ms=up_ms, error=error),
            *link_lines.lines(event, asked=asked, keeps_position=self._link.held is not None),
        )
        if self._up_since is not None:
            self._down_since = now
        self._forget()

    def _try_again(self, event: machine.TryAgain, now: float) -> None:
        """The next attempt is planned."""
        self._failures += 1
        if self._last_up_at is not None and now - self._last_up_at >= STEADY_S:
            self._failures = 1
        self._last_up_at = None
        error = self._link.progress.last_sync_error
        self._say(RetryPlanned(self._peer, round(event.in_s * 1000), self._failures, error))
        if event.in_s > 0:
            self._say(events.NextTry(self._peer, event.in_s, self._failures, error))
