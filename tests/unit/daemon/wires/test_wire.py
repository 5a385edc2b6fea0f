"""What every wire does, and addresses for people."""

from __future__ import annotations

import socket
from typing import Any, Final

import pytest

from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.tls_wire import TlsWire
from pyrepl.daemon.wires.wire import Wire, host_port, name_of

MOVES: Final[dict[str, tuple[Any, ...]]] = {
    "receive": (1,),
    "receive_whole": (b"", 1, len),
    "send": (b"",),
    "send_pieces": ([],),
    "send_file": (0, 0, 1),
}


@pytest.mark.parametrize("name", MOVES)
def test_each_kind_moves_bytes_in_its_way(name: str) -> None:
    assert name in vars(PlainWire) and name in vars(TlsWire)
    ours, theirs = socket.socketpair()
    with theirs:
        wire = Wire(ours, is_plain=True)
        with pytest.raises(NotImplementedError):
            getattr(wire, name)(*MOVES[name])
        assert wire.certified("CN") == []
        wire.close()


def test_ip6_in_brackets() -> None:
    assert host_port(("127.0.0.1", 5)) == "127.0.0.1:5"
    assert host_port(("fe80::1%eth0", 6, 0, 2)) == "[fe80::1%eth0]:6"


def test_names() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert name_of(listening.getsockname) == f"127.0.0.1:{listening.getsockname()[1]}"
        assert name_of(listening.getpeername) == "", "there is no peer"
    with socket.socket(socket.AF_UNIX) as sock:
        assert name_of(sock.getsockname) == ""
