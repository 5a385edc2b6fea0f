"""Makes the wire to a peer that we connect to; the wires of those who connect to us are made by `listener`."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.wire import Wire


async def connect(host: str, port: int, source: str = "") -> Wire:
    """A wire to the first address of `host` that answers, from the address `source` of this machine if it has that one;
    an empty one leaves it to the system.

    Raises OSError, and ValueError for a name that cannot be one (the resolver raises UnicodeError).
    """
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            if source:
                await _bind(sock, source)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return PlainWire(sock)
    raise failure


async def _bind(sock: socket.socket, source: str) -> None:
    """Let the connection come from `source`. What cannot be used is ignored, as in Redis: a link matters more."""
    with suppress(OSError, ValueError):
        found = await asyncio.get_running_loop().getaddrinfo(source, 0, family=sock.family, type=sock.type)
        sock.bind(found[0][4])
