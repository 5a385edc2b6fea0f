"""A sync on two connections, the replica's side: holds both channels, and passes on what one needs from the other.

conversation.py makes one when the master answers PSYNC with `+RDBCHANNELSYNC` or `+DUALCHANNELSYNC`, and drops it when
the buffered stream is applied.

Not here: the connections' lives (link_life.py), each channel's own steps (main_channel.py, rdb_channel.py), the
snapshot's bytes (snapshot_in.py).
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
    """One sync on two connections, from the master's answer until the buffered stream is applied.

    Invariant: `rdb` is None once the second connection is closed or gone; `main` stays until the end.
    """

    __slots__ = ("main", "rdb", "request")

    def __init__(
        self, answer: TwoChannelsGranted, request: Request, options: LinkOptions, use: BufferUse, now: float
    ) -> None:
        """`answer` is the master's to the PSYNC `request`; `use` counts what the buffer holds."""
        self.request: Final = request
        self.main: Final = MainChannel(answer.dialect, SyncBuffer(options.sync_buffer_limit_bytes, use))
        self.rdb: RdbChannel | None = RdbChannel(answer.dialect, options.introduction, answer.session_id, now)

    @property
    def streams(self) -> bool:
        """Are all bytes that come over the main connection from now on the stream's?"""
        return self.main.streams

    @property
    def is_connecting(self) -> bool:
        """Has the second connection yet to be made?"""
        return self.rdb is not None and self.rdb.state is RdbChannelState.SEND_HANDSHAKE

    @property
    def refusal(self) -> TryLater | None:
        """The master's error on either connection, None if there was none."""
        if self.main.refusal is not None or self.rdb is None:
            return self.main.refusal
        return self.rdb.refusal

    def rdb_receive(self, data: bytes, now: float, events: list[LinkEvent]) -> SnapshotStart | None:
        """Take bytes that come before the snapshot on the second connection.

        When they complete the answers before it, the request for the snapshot goes out, and SnapshotAsked is added to
        `events`. Returns the snapshot's start once the master has stated it, None until then; `rdb.rest` are the bytes
        behind it. The main channel is told of the start, as Valkey's dialect goes on there. Raises PeerError.
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
        """Throw the buffered stream away. Returns whether the second connection is still to be closed."""
        self.main.buffer.clear()
        return self.close_rdb()

    def close_rdb(self) -> bool:
        """The second connection is not needed any more, or is gone. Returns whether it was open until now."""
        open_still = self.rdb is not None
        self.rdb = None
        return open_still
