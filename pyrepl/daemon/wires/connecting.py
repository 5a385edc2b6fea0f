"""Makes the wire to a peer that we connect to; the wires of those who connect to us are made by `listener`."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias, final

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.tls import HANDSHAKE_S, Tls
from pyrepl.daemon.wires.tls_reasons import why_server_failed
from pyrepl.daemon.wires.tls_wire import TlsWire
from pyrepl.daemon.wires.wire import Wire, name_of

_SILENT: Final = f"no answer for {HANDSHAKE_S:.0f} s; if that port does not speak TLS, connect without"

_MOST_S: Final = 2.0
"""An address is waited for while others are left that were not tried."""
_ALL_S: Final = 4.0
"""So long all of those together: who connects has five seconds of patience."""

Reach: TypeAlias = Callable[[str, int], Awaitable[Wire]]
"""(host, port) -> a wire to it. Raises OSError, and ValueError for a name that cannot be one."""


@final
class ReachMaster:
    """Connects to a master as the directives say: tls-replication, bind-source-addr."""

    def __init__(self, settings: Settings, tls: Tls) -> None:
        self._settings = settings
        self._tls = tls

    async def __call__(self, host: str, port: int) -> Wire:
        """See `Reach`."""
        return await connect(host, port, self._settings.bind_source_addr, self._tls.for_master)


async def connect(host: str, port: int, source: str = "", tls: ssl.SSLContext | None = None) -> Wire:
    """A wire to the first address of `host` that answers, from the address `source` of this machine if it has that one;
    an empty one leaves it to the system. With `tls` it speaks TLS, and the handshake is over.

    Raises OSError, and ValueError for a name that cannot be one (the resolver raises UnicodeError).
    """
    sock = await _connected(host, port, source)
    return PlainWire(sock) if tls is None else await _encrypted(sock, host, tls)


async def connect_unix(path: str) -> Wire:
    """A wire to whoever listens on a Unix socket. Raises OSError."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, path)
    except BaseException:
        sock.close()
        raise
    return PlainWire(sock)


async def _connected(host: str, port: int, source: str) -> socket.socket:
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    share_s = min(_MOST_S, _ALL_S / max(1, len(found) - 1))
    for place, (family, kind, protocol, _, address) in enumerate(found):
        is_last = place == len(found) - 1
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            if source:
                await _bind(sock, source)
            # An address that drops packets says nothing for minutes: it is not to keep the others from being tried.
            async with asyncio.timeout(None if is_last else share_s):
                await loop.sock_connect(sock, address)
        except TimeoutError:
            sock.close()
            failure = TimeoutError(f"no answer from {address[0]} for {share_s:g} s")
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


async def _bind(sock: socket.socket, source: str) -> None:
    """Let the connection come from `source`. What cannot be used is ignored, as in Redis: a link matters more."""
    with suppress(OSError, ValueError):
        found = await asyncio.get_running_loop().getaddrinfo(source, 0, family=sock.family, type=sock.type)
        sock.bind(found[0][4])


async def _encrypted(sock: socket.socket, host: str, context: ssl.SSLContext) -> Wire:
    """Shake hands as the client; `sock` is ours from now on. Raises ConnectionError with a sentence for the operator,
    and ValueError."""
    secured: socket.socket = sock
    peer = name_of(sock.getpeername)
    try:
        session = context.wrap_socket(sock, do_handshake_on_connect=False, server_hostname=host)
        secured = session
        async with asyncio.timeout(HANDSHAKE_S):
            while (wanted := _step(session)) != 0:
                await _wait_for(session.fileno(), wanted)
    except TimeoutError:
        secured.close()
        raise ConnectionError(f"no TLS with {peer}: {_SILENT}") from None
    except OSError as error:
        secured.close()
        raise ConnectionError(f"no TLS with {peer}: {why_server_failed(error)}") from None
    except BaseException:
        secured.close()
        raise
    return TlsWire(session, why_server_failed)


def _step(session: ssl.SSLSocket) -> int:
    """Go on with the handshake: the events that it has to wait for, 0 when it is over. Raises OSError."""
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        return select.EPOLLIN
    except ssl.SSLWantWriteError:
        return select.EPOLLOUT
    return 0


async def _wait_for(fd: int, events: int) -> None:
    """Wait for events of a descriptor, or for its end. By an epoll of its own, as libuv calls no reader of a socket
    that was reset (`link_conn`)."""
    loop = asyncio.get_running_loop()
    with select.epoll() as epoll:
        epoll.register(fd, events)
        ready = loop.create_future()
        loop.add_reader(epoll.fileno(), lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(epoll.fileno())
