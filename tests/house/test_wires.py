"""Bytes between us and a peer go through a wire: in the daemon, the calls that move them stand in `daemon/wires` alone.

Else a connection with TLS would be read or written past its keys. What goes to files and pipes of ours is no peer's:
the modules that read and write those are named here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source import python, shown

PEERS: Final = frozenset(
    {
        "recv",
        "recv_into",
        "recvfrom",
        "recvfrom_into",
        "recvmsg",
        "recvmsg_into",
        "sendall",
        "sendfile",
        "sendmsg",
        "sendto",
        "readv",
        "writev",
        "sock_recv",
        "sock_recv_into",
        "sock_sendall",
        "sock_sendfile",
        "sock_connect",
        "create_connection",
        "create_server",
        "start_server",
        "open_connection",
        "connect_accepted_socket",
        "getpeername",
        "get_extra_info",
    }
)
"""Calls of sockets, and asyncio's own transports."""
DESCRIPTORS: Final = frozenset({"os.read", "os.write"})

FILES_AND_PIPES: Final = frozenset(
    {
        "pyrepl/daemon/disk/files.py",
        "pyrepl/daemon/disk/snapshot.py",
        "pyrepl/daemon/disk/snapshot_sinks.py",
        "pyrepl/daemon/eventlog/file.py",
        "pyrepl/daemon/feeding/relay.py",
        "pyrepl/daemon/log_sink.py",
        "pyrepl/daemon/mailbox/files.py",
    }
)
"""May call `os.read` and `os.write`: on a file, or on the pipe of our child."""
NO_PEER: Final = {
    "pyrepl/daemon/mailbox/keeper.py": {"recv", "sendall"},
    "pyrepl/daemon/mailbox/keeper_link.py": {"recv", "sendall"},
    "pyrepl/daemon/supervision.py": {"sendto"},
}
"""Speak with a process of ours, by a socket in the data folder; or send datagrams to whatever started us."""
WIRES: Final = "pyrepl/daemon/wires/"


def test_peers_are_reached_by_wires() -> None:
    modules = {shown(path): path.read_text() for path in python("pyrepl") if "daemon" in path.parts}
    assert modules.keys() >= FILES_AND_PIPES | NO_PEER.keys() and any(name.startswith(WIRES) for name in modules)
    guilty = [
        f"{name}:{line} {call}"
        for name, source in modules.items()
        if not name.startswith(WIRES)
        for line, call in calls(source)
        if not (name in FILES_AND_PIPES and call in DESCRIPTORS) and call not in NO_PEER.get(name, ())
    ]
    assert guilty == []


def calls(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each call that moves bytes of a socket or a descriptor, or asks for the socket."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            call = ast.unparse(node.func)
            if node.func.attr in PEERS:
                yield node.lineno, node.func.attr
            elif call in DESCRIPTORS:
                yield node.lineno, call


def test_the_test_sees_them() -> None:
    assert list(calls("size = os.sendfile(self.fd, fd, 0, 1)")) == [(1, "sendfile")]
    assert list(calls("\nself._sock.sendmsg(pieces)")) == [(2, "sendmsg")]
    assert list(calls("os.write(self.fd, data)")) == [(1, "os.write")]
    assert list(calls("self.wire.send_pieces(pieces)\nconn.send(reply)")) == []
