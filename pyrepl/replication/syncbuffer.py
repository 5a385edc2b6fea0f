"""The stream that comes while a snapshot does: held on the replica until the snapshot is loaded, then given out again.

On two connections main_channel.py puts stream bytes in, and conversation.py takes them out in slices.

At the limit nothing fails. The replica stops reading the main connection, so what the master sends stays with the
master, whose own output-buffer limit then decides. Source: Redis 8.0's replica-full-sync-buffer-limit.

There is always a limit: where no directive states one, it is a share of the memory. (Redis 8.2 has no limit then, and
holds what comes until the machine has no memory left.)

Not here: applying the stream (conversation.py), and the master's output buffer for a replica (limits.py).
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from pyrepl.config.directives import MB
from pyrepl.config.settings import Settings

_MEMORY_SHARE: Final = 4
"""Without a directive that limits it, a buffer takes a quarter of the memory at most."""
_LEAST_BYTES: Final = MB
"""The least such a limit may be: with a tiny maxmemory the stream would otherwise stop with its first bytes."""


def sync_buffer_limit(settings: Settings, machine_bytes: int) -> int:
    """The limit in bytes that is in force, above 0; `machine_bytes` is the memory of the machine.

    It is replica-full-sync-buffer-limit, or if that is 0 the hard limit of client-output-buffer-limit replica, as in
    Redis 8.2. If both are 0, it is a quarter of maxmemory, or if that is 0 too, of the machine's memory.
    """
    stated = settings.replica_full_sync_buffer_limit or settings.client_output_buffer_limit.replica.hard_bytes
    return stated or max(_LEAST_BYTES, (settings.maxmemory or machine_bytes) // _MEMORY_SHARE)


@final
class BufferUse:
    """How many bytes the buffers of a node hold and held at most: replica_full_sync_buffer_size and _peak in INFO.

    Outlives links and buffers, as Redis's peak is that of the process.
    """

    __slots__ = ("peak_bytes", "size_bytes", "sync_peak_bytes")

    def __init__(self) -> None:
        self.size_bytes = 0
        self.peak_bytes = 0
        """The most since the process began."""
        self.sync_peak_bytes = 0
        """The most in the present sync; the reader who reports it sets it back to 0."""


@final
class SyncBuffer:
    """Bytes in, the same bytes out in pieces of a size that the reader chooses.

    The first `_skip` bytes of the first piece were taken already: so a large piece is not copied for each slice of it.
    Invariants: `size_bytes` is what was added and not taken; `_skip` < len(`_pieces[0]`).
    """

    __slots__ = ("_pieces", "_skip", "_use", "limit_bytes", "size_bytes")

    def __init__(self, limit_bytes: int, use: BufferUse) -> None:
        """`limit_bytes` is above 0. A read that passes the limit is taken whole."""
        assert limit_bytes > 0
        self.limit_bytes: Final = limit_bytes
        self.size_bytes = 0
        self._use: Final = use
        self._pieces: deque[bytes] = deque()
        self._skip = 0

    @property
    def is_full(self) -> bool:
        """Has the buffer reached the limit? Then nothing more should be read from the connection."""
        return self.size_bytes >= self.limit_bytes

    def add(self, data: bytes) -> None:
        """Append stream bytes, also beyond the limit: they have been read, and must not be lost."""
        if not data:
            return
        self._pieces.append(data)
        self._grow(len(data))

    def take(self, max_bytes: int) -> bytes:
        """Take out the oldest bytes, at most `max_bytes` (above 0), fewer if fewer are held; b"" if there are none."""
        assert max_bytes > 0
        out: list[bytes] = []
        room = max_bytes
        while room > 0 and self._pieces:
            piece, skip = self._pieces[0], self._skip
            part = piece[skip : skip + room] if skip or len(piece) > room else piece
            out.append(part)
            room -= len(part)
            if skip + len(part) == len(piece):
                self._pieces.popleft()
                self._skip = 0
            else:
                self._skip = skip + len(part)
        self._grow(room - max_bytes)
        return out[0] if len(out) == 1 else b"".join(out)

    def clear(self) -> None:
        """Hold nothing any more."""
        self._pieces.clear()
        self._skip = 0
        self._grow(-self.size_bytes)

    def _grow(self, by_bytes: int) -> None:
        self.size_bytes += by_bytes
        use = self._use
        use.size_bytes += by_bytes
        use.peak_bytes = max(use.peak_bytes, use.size_bytes)
        use.sync_peak_bytes = max(use.sync_peak_bytes, use.size_bytes)
        assert self.size_bytes >= 0
