"""Makes the wire to a peer that we connect to; the wires of those who connect to us are made by `listener`."""

from __future__ import annotations

import asyncio
import socket

from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.wire import Wire


async def connect(host: str, port: int) -> Wire:
    """A wire to the first address of `host` that answers.

    Raises OSError, and ValueError for a name that cannot be one (the resolver raises UnicodeError).
    """
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
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
