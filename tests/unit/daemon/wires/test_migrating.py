"""MIGRATE's connection, to small servers that answer, hang up, stay silent or talk nonsense."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.migrating import MigrateTarget
from pyrepl.daemon.wires.tls import Tls
from pyrepl.errors import CommandError
from pyrepl.node.migrating import CONNECTING, READING, WRITING, Exchanged
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.reply import OK

Serve = Callable[[socket.socket], None]
PING = encode_command([b"PING"])


def exchanged(
    serve: Serve, requests: list[bytes], timeout_ms: int = 5000, opening: tuple[bytes, ...] = ()
) -> Exchanged:
    """What an exchange with a server gives that does `serve` with its one connection."""

    def accept() -> None:
        connection, _ = listener.accept()
        with connection:
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            return MigrateTarget(Tls(Settings(), print)).exchange(
                "127.0.0.1", listener.getsockname()[1], opening, requests, timeout_ms
            )
        finally:
            thread.join()


def test_the_replies_come_in_order_in_any_pieces() -> None:
    received = b""

    def serve(connection: socket.socket) -> None:
        nonlocal received
        while len(received) < 2 * len(PING):
            received += connection.recv(100)
        for piece in (b"+O", b"K\r\n-BUSYKEY Target", b" key\r\n"):
            connection.sendall(piece)

    _, replies, failure = exchanged(serve, [PING, PING])
    assert received == PING * 2 and failure == ""
    assert replies[0] == OK
    assert isinstance(replies[1], CommandError) and str(replies[1]) == "BUSYKEY Target key"


def test_nothing_follows_an_opening_that_is_refused() -> None:
    received = b""

    def serve(connection: socket.socket) -> None:
        nonlocal received
        received = connection.recv(1000)
        connection.sendall(b"-NOAUTH no\r\n")
        received += connection.recv(1000)

    welcome, replies, failure = exchanged(serve, [PING], opening=(b"AUTH x\r\n",))
    assert (list(map(str, welcome)), replies, failure) == (["NOAUTH no"], [], "")
    assert received == b"AUTH x\r\n"


@pytest.mark.parametrize("tail", [b"", b"?nonsense\r\n", b"$70000\r\n"])
def test_what_came_before_a_failure_is_given(tail: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"+OK\r\n")
        connection.settimeout(0.05)
        try:
            connection.recv(1)
        except TimeoutError:
            connection.sendall(tail)

    assert exchanged(serve, [PING, PING]) == ([], [OK], READING)


def test_a_silent_server_ends_the_exchange() -> None:
    def serve(connection: socket.socket) -> None:
        over.wait(10)

    over = threading.Event()
    for requests, failure in (([PING] * 3, READING), ([b"x" * (64 << 20)], WRITING)):
        over.clear()
        threading.Timer(0.3, over.set).start()
        assert exchanged(serve, requests, 50) == ([], [], failure)


@pytest.mark.parametrize("host, port", [("127.0.0.1", 1), ("127.0.0.1", 70000), ("x" * 300 + ".invalid", 6379)])
def test_a_server_that_is_not_there(host: str, port: int) -> None:
    assert MigrateTarget(Tls(Settings(), print)).exchange(host, port, [], [PING], 1000) == ([], [], CONNECTING)
