"""The system calls of a client's socket: what they give when there is something, nothing, the end, or an error."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest

from pyrepl.daemon.wire_io import MOST_BYTES, receive, send


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def test_receive(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    assert receive(ours.fileno(), 100) is None
    theirs.sendall(b"abc\0def")
    assert receive(ours.fileno(), 4) == b"abc\0"
    assert receive(ours.fileno(), 100) == b"def"
    theirs.close()
    assert receive(ours.fileno(), 100) == b""


def test_no_more_than_the_buffer_holds(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MOST_BYTES)
    theirs.setblocking(False)
    sent = 0
    while True:
        try:
            sent += theirs.send(bytes(MOST_BYTES))
        except BlockingIOError:
            break
    got = 0
    while data := receive(ours.fileno(), 1 << 30):
        assert len(data) <= MOST_BYTES
        got += len(data)
    assert got == sent


def test_send(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    assert send(ours.fileno(), b"abc\0def") == 7
    assert theirs.recv(100) == b"abc\0def"
    while send(ours.fileno(), bytes(65536)):
        pass
    assert send(ours.fileno(), b"x") == 0


def test_errors(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.close()
    with pytest.raises(BrokenPipeError) as caught:
        send(ours.fileno(), b"x")
    assert caught.value.errno == errno.EPIPE
    fd = ours.fileno()
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        receive(fd, 10)
    with pytest.raises(OSError, match="Bad file descriptor"):
        send(fd, b"x")
