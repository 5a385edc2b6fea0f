"""Carries a snapshot from the child that writes it to a wire that the child cannot write to.

The keys of a connection with TLS are this process's, and two processes cannot encrypt on one connection. So the child
writes to a pipe, and we carry the bytes on at the pace of the wire. Redis does so for all replicas; for plain wires it
would be one copy of the whole snapshot for nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.clients.polled_socket import PolledSocket

_PIPE_BYTES: Final = 1 << 20
"""What the pipe holds, where the system allows it: as much as may wait at the end, when the child is gone."""
_READ_BYTES: Final = 256 * 1024
_MOST_WAITING: Final = 256 * 1024
"""Bytes that may wait in the transport; the rest stays in the pipe, and the child waits."""


@final
class Relay:
    """One pipe, from before the fork until the snapshot is over or the connection is lost.

    Invariant: the loop watches the reading end exactly while `_is_reading`. It is not while the wire is full, until
    `go_on`.
    """

    def __init__(self, transport: PolledSocket) -> None:
        """Raises OSError when the process has no descriptors left."""
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._from, self.child_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """`child_fd` is what the child writes to; -1 from `begin` on."""
        with suppress(OSError):
            fcntl.fcntl(self._from, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._is_reading = False

    def begin(self) -> None:
        """The child is there, and has the writing end now."""
        os.close(self.child_fd)
        self.child_fd = -1
        self.go_on()

    def go_on(self) -> None:
        """The wire may take more."""
        if self._from >= 0 and self.child_fd < 0 and not self._is_reading:
            self._is_reading = True
            self._loop.add_reader(self._from, self._carry)

    def finish(self) -> None:
        """The child has ended: carry on all that it left in the pipe, which is not more than the pipe holds, and
        close."""
        data = self._read()
        while data:
            self._transport.write(data)
            data = self._read()
        self.close()

    def close(self) -> None:
        """Carry nothing more. A child that still writes is told that nobody reads (EPIPE)."""
        self._pause()
        for fd in (self._from, self.child_fd):
            if fd >= 0:
                os.close(fd)
        self._from = self.child_fd = -1

    def _carry(self) -> None:
        data = self._read()
        if data is None:
            return
        if not data:
            self._pause()
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > _MOST_WAITING:
            self._pause()
            self._transport.tell_when_writable()

    def _read(self) -> bytes | None:
        """What one read brings: None when nothing is there, b"" at the end."""
        if self._from < 0:
            return b""
        try:
            return os.read(self._from, _READ_BYTES)
        except BlockingIOError:
            return None

    def _pause(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._from)
