"""What wires ask of their sockets."""

from __future__ import annotations

import socket

from pyrepl.daemon.wires.socket_options import keep_alive, name_of


def test_keep_alive() -> None:
    with socket.socket() as sock:
        keep_alive(sock, 1)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        wanted = {socket.TCP_KEEPIDLE: 1, socket.TCP_KEEPINTVL: 1, socket.TCP_KEEPCNT: 3}
        assert {option: sock.getsockopt(socket.IPPROTO_TCP, option) for option in wanted} == wanted
    with socket.socket(socket.AF_UNIX) as sock:
        keep_alive(sock, 1)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0


def test_names() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert name_of(listening.getsockname) == f"127.0.0.1:{listening.getsockname()[1]}"
        assert name_of(listening.getpeername) == "", "there is no peer"
    with socket.socket(socket.AF_UNIX) as sock:
        assert name_of(sock.getsockname) == ""
