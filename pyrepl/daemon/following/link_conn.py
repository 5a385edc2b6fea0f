"""One connection to our master: opened, read, written, closed. What its bytes mean is `master_link`'s affair.

The wire is ours, no transport's: what is read of the stream goes into the piece that the backlog will hold, behind the
beginning of a command that the read before had at its end. So the stream is copied once less on its way.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.wires.connecting import connect
from pyrepl.daemon.wires.descriptor_io import MOST_BYTES
from pyrepl.daemon.wires.wire import Wire
from pyrepl.resp.scan import whole_bytes

_FIRST_READ_BYTES: Final = 16 * 1024
"""Asked for at first, and four times as much after each read that filled it."""
_GATHERED_BYTES: Final = 256 * 1024
_GATHERED_FOR_S: Final = 0.002
_CLOSED: Final = "the master closed the connection"


def nothing_to_take_back() -> bytes | None:
    """For a connection whose bytes are no stream of commands."""
    return None


@final
class LinkConn:
    """The wire's side of one connection.

    One read a turn of the loop, however much there is: others are served in between.

    A master writes its snapshot as it likes, Redis in pieces of 16 KB, and each `on_data` costs as much as hundreds of
    keys. So while `gathers` is set, what comes in small pieces is passed on as one, a moment later.

    A reset stops libuv's watch on a socket without a word to the reader. An epoll of our own that asks for nothing is
    told of just that, and wakes us.

    Invariants: after `abort` none of the callbacks is called any more; `_gathered` is passed on before the loss. The
    loop watches the wire for reading exactly while `_reads`, and for writing exactly while `_writes`: while `_unsent`
    is not empty, unless the wire wants it otherwise (`_watch_writing`). `_breaks` is set exactly while `_wire` is.
    """

    def __init__(
        self,
        on_made: Callable[[], None],
        on_data: Callable[[bytes, bytes], None],
        on_lost: Callable[[str], None],
        keep_alive_s: int,
        take_back: Callable[[], bytes | None] = nothing_to_take_back,
    ) -> None:
        """`take_back` is asked before each read for the beginning of a command to be put in front of it; None where the
        bytes are to be passed on as they come. Only after an answer is the second part of `on_data` not empty: the
        beginning of the next command (`scan.whole_bytes`)."""
        self._on_made = on_made
        self._on_data = on_data
        self._on_lost = on_lost
        self._keep_alive_s = keep_alive_s
        self._take_back = take_back
        self._loop = asyncio.get_running_loop()
        self._wire: Wire | None = None
        self._breaks: select.epoll | None = None
        self._broken = False
        """The loop does not tell of the socket any more: what is left is read turn by turn."""
        self._opening: asyncio.Task[None] | None = None
        self._reading = True
        """Wanted by the owner."""
        self._reads = False
        self._writes = False
        self._unsent = b""
        self._read_bytes = _FIRST_READ_BYTES
        self.most_read_bytes = MOST_BYTES
        """At once; large commands are worked off in larger pieces than small ones."""
        self._aborted = False
        self.gathers = False
        """A snapshot comes: what matters is how fast, not how soon."""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def local_address(self) -> str:
        """`ip:port` or `[ip6]:port` of our end; empty while there is none."""
        return self._wire.own_name() if self._wire is not None else ""

    def open(self, host: str, port: int) -> None:
        """Begin to connect; `on_made` or `on_lost` follows."""
        self._opening = self._loop.create_task(self._open(host, port))

    def send(self, out: list[bytes]) -> int:
        """Write now, or when the kernel takes it; how many bytes that is, 0 when there is no connection."""
        if not out or self._wire is None:
            return 0
        data = b"".join(out)
        is_first = not self._unsent
        self._unsent += data
        if is_first:
            self._write()
        return len(data)

    def read(self, wanted: bool) -> None:
        """Read on, or leave what comes to the kernel."""
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
        """Pass on what has come, or gather it."""
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
            wire = await connect(host, port)
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
        assert self._breaks is not None
        self._loop.remove_reader(self._breaks.fileno())
        self._broken = True
        if self._reads:
            self._read_rest()
        elif self._unsent:
            self._write()

    def _read_rest(self) -> None:
        """A read a turn, until the last one gives the error."""
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
            failure = str(error)
        data, beginning = parts if parts is not None else (b"", b"")
        if data or beginning:
            self._note_size(len(data) + len(beginning) - len(rest))
            self.data_received(data, beginning)
            return
        if rest:
            self.data_received(b"", rest)
        if failure or parts is not None:
            self._lose(failure or _CLOSED)
        elif wire.receives_when_writable:
            self._watch_writing()

    def _note_size(self, size: int) -> None:
        """So many bytes have come: how many to ask for next."""
        if size == self._read_bytes:
            self._read_bytes = 4 * size
        elif 8 * size < self._read_bytes:
            self._read_bytes = _FIRST_READ_BYTES
        self._read_bytes = min(self._read_bytes, self.most_read_bytes)

    def _pass_on(self) -> None:
        """What was gathered, unless it is to wait (`read`)."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered and self._reading and not self._aborted:
            data = b"".join(self._gathered)
            self._gathered = []
            self._gathered_bytes = 0
            self._on_data(data, b"")

    def _write(self) -> None:
        """Send what the wire takes; the rest when it takes more."""
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
        """Let the loop tell when the wire can go on: when it is writable, if something waits to be sent, but not while
        the wire has to receive first."""
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
        """End the connection; the owner, which may be calling, hears of it in a later turn."""
        if self._wire is not None:
            self._close()
            self._loop.call_soon(self._lose, text)

    def _lose(self, text: str) -> None:
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
    """What the system says, where the error is the system's."""
    number = error.errno if isinstance(error, OSError) and not isinstance(error, socket.gaierror) else None
    return os.strerror(number) if number is not None else (isinstance(error, OSError) and error.strerror) or str(error)
