"""Attacks on the ports of a node, each a bounded load of a few seconds from a process of its own.

`python -m tests.fault.attacks NAME PORT TLS_PORT` runs one; they come from 127.0.0.2, so that the node can tell them
from others. tests/fault/test_attacks.py asserts what the node keeps to meanwhile, and `python -m bench attacks` takes
the times.
"""

from __future__ import annotations

import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.peers.lab import Node, die_with_parent
from tests.peers.ports import HOST
from tests.peers.wire import Wire, encode

FROM: Final = "127.0.0.2"
SPAN_S: Final = 3.0
HANDSHAKES: Final = 5000
CONNECTIONS: Final = 300
_PACE_S: Final = 0.001
_HELLO: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)
"""The beginning of a ClientHello that never ends."""
_HUGE: Final = (
    b"*1000000000\r\n",
    b"*3\r\n$536870912\r\n" + bytes(100_000),
    b"*2\r\n$999999999999\r\n",
    b"x" * 200_000,
    b"*10\r\n" + b"$16384\r\n" + bytes(16384) * 3,
    b"$-1\r\n*-1\r\n" * 10_000,
    b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
    _HELLO,
)


def connected(port: int) -> socket.socket | None:
    """A connection that does not wait; None when the node takes none now."""
    sock = socket.socket()
    sock.bind((FROM, 0))
    sock.settimeout(1.0)
    try:
        sock.connect((HOST, port))
    except OSError:
        sock.close()
        return None
    sock.setblocking(False)
    return sock


def keep(sock: socket.socket, data: bytes) -> bool:
    """Send what the kernel takes, and drop what came. False once the node has closed the connection."""
    try:
        with suppress(BlockingIOError):
            sock.send(data)
        with suppress(BlockingIOError):
            return bool(sock.recv(65536))
    except OSError:
        return False
    return True


def slowloris(port: int, tls_port: int) -> None:
    """Requests that come a byte at a time, and never end."""
    drops = b"*2\r\n$3\r\nGET\r\n$100000\r\n" + b"x" * 100_000
    socks = [sock for _ in range(CONNECTIONS) if (sock := connected(port)) is not None]
    end, at = time.monotonic() + SPAN_S, 0
    while time.monotonic() < end:
        for sock in socks:
            keep(sock, drops[at : at + 1])
        at += 1
        time.sleep(0.01)


def flood(port: int, tls_port: int) -> None:
    """Commands without a login, whose answers are not read, from connections that come and go."""
    requests = encode(["GET", "key"]) * 1000
    end = time.monotonic() + SPAN_S
    socks: list[socket.socket] = []
    while time.monotonic() < end:
        sock = connected(port)
        if sock is not None:
            socks.append(sock)
        for each in socks:
            with suppress(OSError):
                each.send(requests)
        if len(socks) > 50:
            socks.pop(0).close()
        time.sleep(_PACE_S)


def huge(port: int, tls_port: int) -> None:
    """Headers that promise more than anybody has, lines without an end, and other protocols."""
    end, number = time.monotonic() + SPAN_S, 0
    socks: list[socket.socket] = []
    while time.monotonic() < end:
        sock = connected(port if number % 3 else tls_port)
        if sock is not None:
            keep(sock, _HUGE[number % len(_HUGE)])
            socks.append(sock)
        if len(socks) > CONNECTIONS:
            socks.pop(0).close()
        number += 1
        time.sleep(_PACE_S)


def half_handshakes(port: int, tls_port: int) -> None:
    """Connections to the port with TLS that say nothing, or half of what begins a handshake."""
    socks = []
    for number in range(HANDSHAKES):
        sock = connected(tls_port)
        if sock is not None:
            if number % 2:
                keep(sock, _HELLO)
            socks.append(sock)
    time.sleep(SPAN_S / 2)


def guesses(port: int, tls_port: int) -> None:
    """Passwords, many at once and over many connections."""
    requests = b"".join(encode(["AUTH", "default", f"guess{number}"]) for number in range(100))
    end = time.monotonic() + SPAN_S
    socks: list[socket.socket] = []
    while time.monotonic() < end:
        sock = connected(port)
        if sock is not None:
            keep(sock, requests)
            socks.append(sock)
        if len(socks) > CONNECTIONS:
            socks.pop(0).close()
        time.sleep(_PACE_S)


def silent(port: int, tls_port: int) -> None:
    """More connections than maxclients, which say nothing."""
    socks = [connected(port) for _ in range(2 * CONNECTIONS)]
    time.sleep(SPAN_S / 2)
    assert socks


ATTACKS: Final[dict[str, Callable[[int, int], None]]] = {
    attack.__name__: attack for attack in (slowloris, flood, huge, half_handshakes, guesses, silent)
}


def begin(name: str, port: int, tls_port: int) -> subprocess.Popen[bytes]:
    """Begin one of ATTACKS in a process of its own, which ends by itself."""
    command = [sys.executable, "-m", "tests.fault.attacks", name, str(port), str(tls_port)]
    return subprocess.Popen(command, preexec_fn=die_with_parent)


def by_tls(node: Node, certificate: Path, ca_file: Path, password: str) -> Wire:
    """A connection by TLS, logged in."""
    context = ssl.create_default_context(cafile=ca_file)
    context.load_cert_chain(certificate)
    wire = Wire(node.tls_port)
    wire.file.close()
    wire.sock = context.wrap_socket(wire.sock, server_hostname=HOST)
    wire.file = wire.sock.makefile("rb")
    assert wire.call("AUTH", password) == "OK"
    return wire


def reads_during(name: str, node: Node, wires: Sequence[Wire], meanwhile: Callable[[], None]) -> list[float]:
    """Seconds that each GET took on connections that are logged in, while the attack goes on; `meanwhile` is called
    between them. Raises AssertionError when one is not answered, or the attack could not go on."""
    waits: list[float] = []
    attack = begin(name, node.port, node.tls_port)
    try:
        while attack.poll() is None:
            for wire in wires:
                began = time.monotonic()
                assert wire.call("GET", "key") == b"value"
                waits.append(time.monotonic() - began)
            meanwhile()
            time.sleep(0.001)
        assert attack.wait() == 0
    finally:
        attack.kill()
        attack.wait()
    return waits


def main() -> None:
    name, port, tls_port = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ATTACKS[name](int(port), int(tls_port))


if __name__ == "__main__":
    main()
