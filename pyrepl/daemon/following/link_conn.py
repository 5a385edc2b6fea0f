"""One connection to our master: opened, read, written, closed. `master_link` makes it and knows what its bytes mean.

LinkConn reads its wire itself, without an asyncio transport. So the kernel can write the stream's bytes into the very
piece of memory that our backlog will hold: the piece starts with the unfinished command that stood at the end of the
read before, and the new bytes follow it. This saves one copy of the stream.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.wires.connecting import Reach
from pyrepl.daemon.wires.descriptor_io import MOST_BYTES
from pyrepl.daemon.wires.wire import Wire
from pyrepl.resp.scan import whole_bytes

_FIRST_READ_BYTES: Final = 16 * 1024
"""Bytes that the first read asks for. A read that brings all that it asked for makes the next one ask for four times as
much."""
_GATHERED_BYTES: Final = 256 * 1024
_GATHERED_FOR_S: Final = 0.002
_CLOSED: Final = "the master closed the connection"
_UNHEARD: Final = "before it said a word; if this is its tls-port, set tls-replication to yes"
_ALERT: Final = b"\x15\x03"
"""How a server with TLS begins its answer to what is no TLS: an alert."""


def nothing_to_take_back() -> bytes | None:
    """The `take_back` of a connection whose bytes are no stream of commands."""
    return None


@final
class LinkConn:
    """One connection, from the attempt to connect until it is lost or aborted.

    It reads once in a turn of the loop, however much there is, so that clients are served in between.

    Masters choose the size of the pieces in which they write a snapshot; Redis writes 16 KB. Each call of `on_data`
    costs as much as loading hundreds of keys. So while `gathers` is set, small pieces are collected for 2 ms at most
    and passed on as one.

    When the peer resets the connection, libuv stops watching the socket and calls no reader. So each connection has an
    epoll of its own, `_breaks`, that asks for no events: the kernel reports errors to it all the same, and that wakes
    us.

    Invariants: after `abort` none of the callbacks is called any more; `_gathered` is passed on before the loss is
    told. The loop watches the wire for reading exactly while `_reads`, and for writing exactly while `_writes`: this is
    while `_unsent` is not empty, unless the wire wants it otherwise (`_watch_writing`). `_breaks` is set exactly while
    `_wire` is.
    """

    def __init__(
        self,
        on_made: Callable[[], None],
        on_data: Callable[[bytes, bytes], None],
        on_lost: Callable[[str], None],
        keep_alive_s: int,
        reach: Reach,
        take_back: Callable[[], bytes | None] = nothing_to_take_back,
    ) -> None:
        """Each connection attempt ends in one call of `on_made` or `on_lost`; after `on_made`, `on_data` is called for
        what comes, and `on_lost` once at the end, with a sentence that says why.

        `take_back` is asked before each read for the unfinished command that the read before passed on; it is then put
        in front of the new bytes. In this case `on_data` gets two parts: whole commands, and the beginning of the next
        one (`scan.whole_bytes`). When `take_back` returns None, the bytes are passed on as they come, and the second
        part is empty. `keep_alive_s` is the period of TCP keep-alives. `reach` makes the connection.
        """
        self._on_made = on_made
        self._on_data = on_data
        self._on_lost = on_lost
        self._keep_alive_s = keep_alive_s
        self._take_back = take_back
        self._reach = reach
        self._loop = asyncio.get_running_loop()
        self._wire: Wire | None = None
        self._breaks: select.epoll | None = None
        self._broken = False
        """The connection was reset, and the loop does not watch the socket any more: we read what is left by ourselves,
        once a turn."""
        self._opening: asyncio.Task[None] | None = None
        self._reading = True
        """Does the owner want to read (`read`)?"""
        self._reads = False
        self._writes = False
        self._unsent = b""
        self._read_bytes = _FIRST_READ_BYTES
        self.most_read_bytes = MOST_BYTES
        """Bytes that one read may ask for at most. The owner raises it for large commands."""
        self._aborted = False
        self._has_heard = False
        """Has the master sent anything?"""
        self.gathers = False
        """Set by the owner while a snapshot comes: then the number of calls matters more than a delay of 2 ms."""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def local_address(self) -> str:
        """`ip:port` or `[ip6]:port` of our end; empty while there is no connection."""
        return self._wire.own_name() if self._wire is not None else ""

    def open(self, host: str, port: int) -> None:
        """Begin to connect; `on_made` or `on_lost` is called in a later turn of the loop. Call it once only."""
        self._opening = self._loop.create_task(self._open(host, port))

    def send(self, out: list[bytes]) -> int:
        """Write `out`: now what the kernel takes, and the rest when it takes more. Returns the bytes of `out`; 0 when
        there is no connection, and then `out` is dropped."""
        if not out or self._wire is None:
            return 0
        data = b"".join(out)
        is_first = not self._unsent
        self._unsent += data
        if is_first:
            self._write()
        return len(data)

    def read(self, wanted: bool) -> None:
        """Read what comes from now on (True), or leave it in the kernel's buffer, so that the master has to wait."""
        if self._wire is None or wanted == self._reading:
            return
        self._reading = wanted
        if wanted and self._gathered and self._timer is None:
            self._timer = self._loop.call_later(0, self._pass_on)
        self._watch_reading(wanted)

    def abort(self) -> None:
        """Close at once, or give up opening."""
        self._aborted = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._opening is not None:
            self._opening.cancel()
        self._close()

    def drop(self) -> None:
        """Break the connection, as if the network had; `on_lost` follows."""
        self._lose_later(_CLOSED)

    def data_received(self, data: bytes, beginning: bytes = b"") -> None:
        """Pass on bytes that were read, or gather them while `gathers` is set."""
        if self._aborted:
            return
        if not self.gathers and not self._gathered:
            self._on_data(data, beginning)
            return
        self._gathered.append(data + beginning)
        self._gathered_bytes += len(data) + len(beginning)
        if self._gathered_bytes >= _GATHERED_BYTES or not self.gathers:
            self._pass_on()
        elif self._timer is None:
            self._timer = self._loop.call_later(_GATHERED_FOR_S, self._pass_on)

    # ------------------------------------------------------------------ inside

    async def _open(self, host: str, port: int) -> None:
        try:
            wire = await self._reach(host, port)
        except (OSError, ValueError) as error:
            self._lose(_why(error))
            return
        finally:
            self._opening = None
        self._wire = wire
        with suppress(OSError):
            wire.set_no_delay(True)
            wire.keep_alive(self._keep_alive_s)
        self._breaks = select.epoll()
        self._breaks.register(wire.fd, 0)
        self._loop.add_reader(self._breaks.fileno(), self._on_break)
        self._watch_reading(True)
        self._on_made()

    def _on_break(self) -> None:
        """`_breaks` has reported an error of the connection. Bytes that came before the error can still be read."""
        assert self._breaks is not None
        self._loop.remove_reader(self._breaks.fileno())
        self._broken = True
        if self._reads:
            self._read_rest()
        elif self._unsent:
            self._write()

    def _read_rest(self) -> None:
        """Read once a turn, until a read raises the error that broke the connection."""
        if self._wire is not None and self._reads:
            self._on_readable()
            self._loop.call_soon(self._read_rest)

    def _on_readable(self) -> None:
        wire = self._wire
        assert wire is not None
        if wire.sends_when_readable and self._unsent:
            self._write()
            if self._wire is None:
                return
        rest = self._take_back()
        cut: Callable[[bytes], int] = len if rest is None else whole_bytes
        rest = rest or b""
        parts, failure = None, ""
        try:
            parts = wire.receive_whole(rest, self._read_bytes, cut)
        except OSError as error:
            failure = _why(error)
        data, beginning = parts if parts is not None else (b"", b"")
        is_over = bool(failure) or parts == (b"", b"")
        if wire.is_plain and not self._has_heard and (is_over or data.startswith(_ALERT)):
            self._lose(f"{failure or _CLOSED} {_UNHEARD}")
            return
        if data or beginning:
            self._has_heard = True
            self._note_size(len(data) + len(beginning) - len(rest))
            self.data_received(data, beginning)
            return
        if rest:
            # Nothing came, so the unfinished command goes back to the owner, who gave it to us for this read.
            self.data_received(b"", rest)
        if failure or parts is not None:
            self._lose(failure or _CLOSED)
        elif wire.receives_when_writable:
            self._watch_writing()

    def _note_size(self, size: int) -> None:
        """Choose from the bytes that a read brought how many the next one asks for."""
        if size == self._read_bytes:
            self._read_bytes = 4 * size
        elif 8 * size < self._read_bytes:
            self._read_bytes = _FIRST_READ_BYTES
        self._read_bytes = min(self._read_bytes, self.most_read_bytes)

    def _pass_on(self) -> None:
        """Pass on the gathered bytes, unless the owner does not want to read now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered and self._reading and not self._aborted:
            data = b"".join(self._gathered)
            self._gathered = []
            self._gathered_bytes = 0
            self._on_data(data, b"")

    def _write(self) -> None:
        """Send what the wire takes of `_unsent`; `_on_writable` sends the rest."""
        assert self._wire is not None
        try:
            size = self._wire.send(self._unsent)
        except OSError as error:
            self._lose_later(str(error))
            return
        self._unsent = self._unsent[size:]
        self._watch_writing()

    def _on_writable(self) -> None:
        assert self._wire is not None
        if self._wire.receives_when_writable and self._reads:
            self._on_readable()
        if self._unsent and self._wire is not None:
            self._write()
        else:
            self._watch_writing()

    def _watch_writing(self) -> None:
        """Watch for writing while something waits to be sent, and while the wire must send before it can receive.

        Not while the wire must receive before it can send: the socket would be writable all the time, without use.
        """
        wire = self._wire
        if wire is None:
            return
        sends = bool(self._unsent) and not wire.sends_when_readable
        wanted = sends or (self._reads and wire.receives_when_writable)
        if wanted == self._writes:
            return
        self._writes = wanted
        if wanted:
            self._loop.add_writer(wire.fd, self._on_writable)
        else:
            self._loop.remove_writer(wire.fd)

    def _watch_reading(self, wanted: bool) -> None:
        if self._wire is None or wanted == self._reads:
            return
        self._reads = wanted
        if wanted and self._broken:
            self._loop.call_soon(self._read_rest)
        elif wanted:
            self._loop.add_reader(self._wire.fd, self._on_readable)
        else:
            self._loop.remove_reader(self._wire.fd)

    def _lose_later(self, text: str) -> None:
        """End the connection now, and tell the owner in a later turn: the owner may be in the middle of a call here."""
        if self._wire is not None:
            self._close()
            self._loop.call_soon(self._lose, text)

    def _lose(self, text: str) -> None:
        """Tell the owner of the end, after the bytes that were gathered: they are whole, whatever broke later."""
        self._close()
        self._reading = True
        self._pass_on()
        if not self._aborted:
            self._aborted = True
            self._on_lost(text)

    def _close(self) -> None:
        if self._wire is None:
            return
        self._watch_reading(False)
        self._unsent = b""
        if self._writes:
            self._writes = False
            self._loop.remove_writer(self._wire.fd)
        if self._breaks is not None:
            self._loop.remove_reader(self._breaks.fileno())
            self._breaks.close()
            self._breaks = None
        self._wire.close()
        self._wire = None


def _why(error: OSError | ValueError) -> str:
    """The reason of a failed attempt, for the log: the operating system's words for its errors, as in Redis's log."""
    number = error.errno if isinstance(error, OSError) and not isinstance(error, socket.gaierror) else None
    return os.strerror(number) if number is not None else (isinstance(error, OSError) and error.strerror) or str(error)
