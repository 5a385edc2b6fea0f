"""A sync on two connections, the replica's side: the two channels and what they have to tell each other.

Not here: the connections' lives (link_life.py), each channel's own steps (main_channel.py, rdb_channel.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.dialects import SnapshotStart
from pyrepl.replication.events import LinkEvent, SnapshotAsked
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.main_channel import MainChannel
from pyrepl.replication.psync import Request, TryLater, TwoChannelsGranted
from pyrepl.replication.rdb_channel import RdbChannel, RdbChannelState
from pyrepl.replication.syncbuffer import BufferUse, SyncBuffer


@final
class TwoChannels:
    """One such sync, from the master's answer until the stream is in step.

    Invariant: `rdb` is None once the second connection is closed or gone; `main` lasts.
    """

    __slots__ = ("main", "rdb", "request")

    def __init__(
        self, answer: TwoChannelsGranted, request: Request, options: LinkOptions, use: BufferUse, now: float
    ) -> None:
        """`request` is what the master answered."""
        self.request: Final = request
        self.main: Final = MainChannel(answer.dialect, SyncBuffer(options.sync_buffer_limit_bytes, use))
        self.rdb: RdbChannel | None = RdbChannel(answer.dialect, options.introduction, answer.session_id, now)

    @property
    def streams(self) -> bool:
        """Is all that comes over the main connection the stream's?"""
        return self.main.streams

    @property
    def is_connecting(self) -> bool:
        """Has the second connection yet to be made?"""
        return self.rdb is not None and self.rdb.state is RdbChannelState.SEND_HANDSHAKE

    @property
    def refusal(self) -> TryLater | None:
        """What the master answered instead of going on, on either connection."""
        if self.main.refusal is not None or self.rdb is None:
            return self.main.refusal
        return self.rdb.refusal

    def rdb_receive(self, data: bytes, now: float, events: list[LinkEvent]) -> SnapshotStart | None:
        """Bytes before the snapshot on the second connection; what the main one needs is passed on to it.

        SnapshotAsked is added to `events` when they are what the request for the snapshot was waiting for.
        Returns the snapshot's start once it is stated; `rdb.rest` is what followed. Raises PeerError.
        """
        rdb = self.rdb
        assert rdb is not None
        was_asked = rdb.asked
        rdb.receive(data, now)
        if rdb.asked and not was_asked:
            events.append(SnapshotAsked())
        if rdb.start is not None:
            self.main.snapshot_starts(rdb.start)
        return rdb.start

    def end(self) -> bool:
        """Hold nothing any more; whether the second connection is to be closed."""
        self.main.buffer.clear()
        return self.close_rdb()

    def close_rdb(self) -> bool:
        """The second connection is not needed any more; whether it is to be closed."""
        open_still = self.rdb is not None
        self.rdb = None
        return open_still
