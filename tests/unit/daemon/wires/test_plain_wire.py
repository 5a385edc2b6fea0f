"""Bytes on a socket as they are: taken in part when there is no room, names, options, and the end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.wires.plain_wire import PlainWire


@pytest.fixture
def pair() -> Iterator[tuple[PlainWire, socket.socket]]:
    """A wire, and the far end of it."""
    ours, theirs = socket.socketpair()
    wire = PlainWire(ours)
    yield wire, theirs
    wire.close()
    theirs.close()


@pytest.fixture
def tcp() -> Iterator[tuple[PlainWire, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    wire = PlainWire(ours)
    yield wire, theirs
    wire.close()
    theirs.close()


def test_receive(pair: tuple[PlainWire, socket.socket]) -> None:
    wire, theirs = pair
    assert wire.receive(10) is None and wire.receive_whole(b"rest", 10, len) is None
    theirs.send(b"abcdef")
    assert wire.receive(2) == b"ab"
    assert wire.receive_whole(b"12", 10, lambda data: data.index(b"e")) == (b"12cd", b"ef")
    theirs.close()
    assert wire.receive(10) == b""
    assert not wire.receives_when_writable and not wire.sends_when_readable


def test_send(pair: tuple[PlainWire, socket.socket]) -> None:
    wire, theirs = pair
    assert wire.send(b"ab") == 2 and wire.send(memoryview(b"xcd")[1:]) == 2
    assert wire.send_pieces([b"e", memoryview(b"fg"), b""]) == 3
    assert theirs.recv(100) == b"abcdefg"
    while wire.send(bytes(65536)):
        pass
    assert wire.send(memoryview(b"x")) == wire.send_pieces([b"x"]) == 0
    theirs.close()
    with pytest.raises(ConnectionError):
        wire.send(b"x")
    with pytest.raises(ConnectionError):
        wire.send_pieces([b"x"])


def test_send_file(pair: tuple[PlainWire, socket.socket], tmp_path: Path) -> None:
    wire, theirs = pair
    (tmp_path / "file").write_bytes(b"0123456789")
    with (tmp_path / "file").open("rb") as file:
        assert wire.send_file(file.fileno(), 3, 4) == 4
        assert theirs.recv(100) == b"3456"
        assert wire.send_file(file.fileno(), 8, 4) == 2
        with pytest.raises(OSError, match="ends too early"):
            wire.send_file(file.fileno(), 10, 1)
        while wire.send(bytes(65536)):
            pass
        assert wire.send_file(file.fileno(), 0, 4) == 0
        theirs.close()
        with pytest.raises(ConnectionError):
            wire.send_file(file.fileno(), 0, 4)


def test_names(pair: tuple[PlainWire, socket.socket], tcp: tuple[PlainWire, socket.socket]) -> None:
    assert pair[0].peer_name() == pair[0].own_name() == ""
    wire, theirs = tcp
    assert wire.peer_name() == f"127.0.0.1:{theirs.getsockname()[1]}"
    assert wire.own_name() == f"127.0.0.1:{theirs.getpeername()[1]}"
    wire.close()
    assert wire.peer_name() == wire.own_name() == "" and wire.fd == -1


def test_options(pair: tuple[PlainWire, socket.socket], tcp: tuple[PlainWire, socket.socket]) -> None:
    wire, _ = tcp
    with socket.socket(fileno=wire.fd) as sock:
        for wanted in (True, False):
            wire.set_no_delay(wanted)
            assert bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) is wanted
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        for seconds, between in ((30, 10), (1, 1)):
            wire.keep_alive(seconds)
            assert [sock.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [seconds, between, 3]
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        sock.detach()
    pair[0].set_no_delay(True)
    pair[0].keep_alive(30)


def test_shut_down_ends_it_for_who_has_a_copy(pair: tuple[PlainWire, socket.socket]) -> None:
    wire, theirs = pair
    with socket.fromfd(wire.fd, socket.AF_UNIX, socket.SOCK_STREAM):
        wire.shut_down()
        assert theirs.recv(1) == b""
    wire.close()
    wire.close()
    wire.shut_down()
