"""One connection to our master: opened, read, written, closed. What its bytes mean is `master_link`'s affair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast, final

from pyrepl.daemon.client_conn import host_port
from pyrepl.daemon.clients import keep_alive

_LARGE_READ_BYTES: Final = 64 * 1024
"""A read of so many bytes is one of many, and takes a millisecond or more to work off."""
_GATHERED_BYTES: Final = 256 * 1024
_GATHERED_FOR_S: Final = 0.002


@final
class LinkConn(asyncio.Protocol):
    """The socket's side of one connection.

    A master writes its snapshot as it likes, Redis in pieces of 16 KB, and each `on_data` costs as much as hundreds of
    keys. So while `gathers` is set, what comes in small pieces is passed on as one, a moment later.

    Invariants: after `abort` none of the three callbacks is called any more; `_gathered` is passed on before the loss.
    """

    def __init__(
        self,
        on_made: Callable[[], None],
        on_data: Callable[[bytes], None],
        on_lost: Callable[[str], None],
        keep_alive_s: int,
    ) -> None:
        self._on_made = on_made
        self._on_data = on_data
        self._on_lost = on_lost
        self._keep_alive_s = keep_alive_s
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reading = True
        self._breathing = False
        """Not reading until the next turn of the loop, whatever is wanted."""
        self._aborted = False
        self.gathers = False
        """A snapshot comes: what matters is how fast, not how soon."""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def local_address(self) -> str:
        """`ip:port` or `[ip6]:port` of our end; empty while there is none."""
        name: Any = self._transport.get_extra_info("sockname") if self._transport is not None else None
        return host_port(name) if isinstance(name, tuple) else ""

    def open(self, host: str, port: int) -> None:
        """Begin to connect; `on_made` or `on_lost` follows."""
        self._opening = asyncio.get_running_loop().create_task(self._open(host, port))

    def send(self, out: list[bytes]) -> int:
        """Write now; how many bytes were taken, 0 when there is no connection."""
        transport = self._transport
        if not out or transport is None or transport.is_closing():
            return 0
        data = b"".join(out)
        transport.write(data)
        return len(data)

    def read(self, wanted: bool) -> None:
        """Read on, or leave what comes to the kernel."""
        transport = self._transport
        if transport is None or wanted == self._reading or transport.is_closing():
            return
        self._reading = wanted
        if wanted and self._gathered and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(0, self._pass_on)
        if self._breathing:
            return
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def abort(self) -> None:
        """Close at once, or give up opening."""
        self._aborted = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._opening is not None:
            self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Break the connection, as if the network had; `on_lost` follows."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._aborted:
            self._transport.abort()
            return
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            keep_alive(sock, self._keep_alive_s)
        self._on_made()

    def data_received(self, data: bytes) -> None:
        if self._aborted:
            return
        if not self.gathers and not self._gathered:
            self._take(data)
            return
        self._gathered.append(data)
        self._gathered_bytes += len(data)
        if self._gathered_bytes >= _GATHERED_BYTES or not self.gathers:
            self._pass_on()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHERED_FOR_S, self._pass_on)

    def _take(self, data: bytes) -> None:
        self._on_data(data)
        if len(data) >= _LARGE_READ_BYTES and self._reading:
            self._let_others_in()

    def _pass_on(self) -> None:
        """What was gathered, unless it is to wait (`read`)."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered and self._reading and not self._aborted:
            data = b"".join(self._gathered)
            self._gathered = []
            self._gathered_bytes = 0
            self._take(data)

    def _let_others_in(self) -> None:
        """Read on in the next turn: the transport would go on as long as bytes come, up to 32 reads a turn, and clients
        would wait for the load of megabytes."""
        if self._transport is not None and not self._transport.is_closing() and not self._breathing:
            self._breathing = True
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        self._breathing = False
        if self._transport is not None and self._reading and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading = True
        self._pass_on()
        if not self._aborted:
            self._aborted = True
            self._on_lost(str(exc) if exc is not None else "the master closed the connection")

    async def _open(self, host: str, port: int) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, host, port)
        except (OSError, ValueError) as error:
            # A host name that is none makes the resolver raise UnicodeError, a ValueError.
            if not self._aborted:
                self._aborted = True
                self._on_lost((isinstance(error, OSError) and error.strerror) or str(error))
        finally:
            self._opening = None
