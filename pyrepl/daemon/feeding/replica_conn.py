"""The outgoing side of a replica's connection: writes what its session says, the snapshot file, and the stream.

The incoming side stays `client_conn`'s: a replica is a client that has sent REPLCONF, PSYNC or SYNC. Nothing is decided
here: the session says when the stream may flow, and the stream's bytes are read from the backlog. `Replicas` makes a
ReplicaConn and calls `push` in every pump. A snapshot that goes to sockets is written by a child, not by this module.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol, final

from pyrepl.daemon.feeding.relay import Relay
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.session import Session

if TYPE_CHECKING:
    from pyrepl.daemon.clients.client_conn import ClientConn

HIGH_WATER_BYTES: Final = 1 << 20
"""Stream bytes that may wait in the transport. The rest stays in the backlog, which is one copy for all replicas."""

BATCH_BYTES: Final = 128 * 1024
BATCH_S: Final = 0.05
"""While a replica gets its snapshot on a second connection, it only buffers the stream of the first one. So the stream
is sent when BATCH_BYTES have gathered or BATCH_S has passed, which saves both ends a call and a wake-up for each write
of a client."""

_CHUNK_BYTES: Final = 1 << 20
_MOST_CHUNKS: Final = 8
"""Chunks of the snapshot file that go out in one turn of the loop, if the replica reads as fast as we send."""


class ReplicaOwner(Protocol):
    """What a replica's connection tells `Replicas`, which keeps all of them."""

    def drained(self) -> None:
        """The transport of a replica takes more bytes."""

    def refuse_to_answer(self, replica: ReplicaConn, argv: list[bytes]) -> None:
        """`replica` sent `argv`, a command that has a reply, so its connection has to be cut.

        [] stands for a message that no command of the replica asked for."""


@final
class ReplicaConn:
    """The outgoing side of one replica.

    Invariants: `_file` is open exactly while a snapshot file is on its way, and `_relay` while a child writes the
    snapshot for a wire that it cannot write to.
    """

    def __init__(
        self,
        conn: ClientConn,
        session: Session,
        backlog: Backlog,
        owner: ReplicaOwner,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.conn = conn
        self.session = session
        self.sent_bytes = 0
        """Bytes of the snapshot file that the kernel has taken."""
        self.file_bytes = 0
        """The size of the snapshot file."""
        self._backlog = backlog
        self._owner = owner
        self._file: BinaryIO | None = None
        self._file_since = 0.0
        self._relay: Relay | None = None
        self._max_bytes_per_s = 0
        self._streamed_at = now()
        self._now = now

    def open_for_child(self) -> int:
        """The descriptor to which a snapshot child can write the snapshot as plain bytes: that of the wire, or with TLS
        of a pipe that leads to it. Raises OSError. `child_began` or `child_ended` has to follow."""
        wire = self.conn.transport.wire
        if wire.is_plain:
            return wire.fd
        self._relay = Relay(self.conn.transport)
        return self._relay.child_fd

    def child_began(self) -> None:
        """The child has its copy of the descriptor."""
        if self._relay is not None:
            self._relay.begin()

    def child_ended(self) -> None:
        """The child has ended, or could not begin: it writes nothing more."""
        if self._relay is not None:
            self._relay.finish()
            self._relay = None

    @property
    def is_flushed(self) -> bool:
        """Is the socket open, and has it taken all that was written? Only then may a child write to it."""
        self.conn.flush()
        transport = self.conn.transport
        return not transport.is_closing() and transport.get_write_buffer_size() == 0

    @property
    def is_sending_file(self) -> bool:
        return self._file is not None

    def open_file(self, path: Path, max_bytes_per_s: int = 0) -> None:
        """Begin to send a snapshot file; `max_bytes_per_s` 0 sets no limit. Raises OSError when it cannot be opened."""
        self._max_bytes_per_s = max_bytes_per_s
        self._file_since = self._now()
        self._file = path.open("rb")
        self.file_bytes = os.fstat(self._file.fileno()).st_size
        self.sent_bytes = 0

    def drained(self) -> None:
        """The transport takes more bytes: called by `client_conn`."""
        if self._relay is not None:
            self._relay.go_on()
        self._owner.drained()

    def refuse_to_answer(self, argv: list[bytes]) -> None:
        """The replica sent `argv`, which has a reply. The replica would take the reply for a part of the stream."""
        self._owner.refuse_to_answer(self, argv)

    def push(self) -> int:
        """Write all that may go out now. Returns how many bytes of the stream were handed to the transport.

        The order on the wire: replies of the client, what the session says, the snapshot file, the stream.
        """
        transport = self.conn.transport
        if transport.is_closing():
            return 0
        self.conn.flush()
        out = self.session.data_to_send()
        if out:
            transport.write(b"".join(out))
        if self._file is not None:
            self._push_file(self._file)
            self.session.note_unsent(0)
            return 0
        sent = self._push_stream() if self.session.may_stream else 0
        self.session.note_unsent(transport.get_write_buffer_size())
        return sent

    def file_is_out(self) -> bool:
        """Has the kernel taken the last byte of the file? Then this closes the file: True is returned once."""
        if self._file is None or self.sent_bytes < self.file_bytes:
            return False
        self._close_file()
        return True

    def stop_snapshot(self) -> None:
        """Stop sending the snapshot file, or what a child writes to our pipe, if one is on its way."""
        self._close_file()
        if self._relay is not None:
            self._relay.close()
            self._relay = None

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self, *, flush: bool) -> None:
        """End the connection: with `flush` after all that was written is out, otherwise at once.

        At once, the socket is shut down too: a snapshot child may hold a copy of the descriptor, and then closing ours
        alone would not end the connection.
        """
        self.stop_snapshot()
        if flush:
            self.conn.close()
            return
        self.conn.transport.wire.shut_down()
        self.conn.close(at_once=True)

    def _push_file(self, file: BinaryIO) -> None:
        transport = self.conn.transport
        for _ in range(_MOST_CHUNKS):
            count = min(_CHUNK_BYTES, self.file_bytes - self.sent_bytes, self._paced_bytes())
            if count == 0:
                return
            try:
                size = transport.send_file(file.fileno(), self.sent_bytes, count)
            except OSError:
                # The replica has part of a snapshot that cannot be completed: only a new sync helps it.
                self.close(flush=False)
                return
            self.sent_bytes += size
            if size < count:
                return
        transport.tell_when_writable()

    def _paced_bytes(self) -> int:
        """How many bytes of the file the pace allows now. The next pump, a tenth of a second later at most, goes on."""
        if not self._max_bytes_per_s:
            return _CHUNK_BYTES
        due_bytes = int((self._now() - self._file_since) * self._max_bytes_per_s)
        return max(0, due_bytes - self.sent_bytes)

    def _push_stream(self) -> int:
        transport = self.conn.transport
        cursor = self.session.cursor
        assert cursor is not None
        if self.session.only_keeps_stream and not self._batch_is_due(cursor.at):
            return 0
        sent = 0
        while cursor.at < self._backlog.end:
            room = HIGH_WATER_BYTES - transport.get_write_buffer_size()
            if room <= 0:
                break
            pieces = self._backlog.read(cursor.at, room)
            size = sum(map(len, pieces))
            transport.writelines(pieces)
            cursor.advance(size)
            sent += size
        return sent

    def _batch_is_due(self, sent_cut: int) -> bool:
        """Is a batch full, or the last one BATCH_S ago? `sent_cut` is the cut up to which the stream was sent."""
        now = self._now()
        if self._backlog.end - sent_cut < BATCH_BYTES and now - self._streamed_at < BATCH_S:
            return False
        self._streamed_at = now
        return True
