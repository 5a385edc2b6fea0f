"""What every wire over TCP asks of its socket, whatever it carries."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from pyrepl.daemon.wires.wire import host_port


def keep_alive(sock: socket.socket, seconds: int) -> None:
    """See `Wire.keep_alive`."""
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, seconds // 3))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def name_of(ask: Callable[[], Any]) -> str:
    """The address that `getpeername` or `getsockname` gives, as `host_port` writes it; empty if there is none."""
    try:
        address = ask()
    except OSError:
        return ""
    return host_port(address) if isinstance(address, tuple) else ""
