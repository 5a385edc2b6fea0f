"""The system calls on a wire's descriptor: what they give when there is something, nothing, the end, or an error."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator

import pytest

from pyrepl.daemon.wires.descriptor_io import MOST_BYTES, receive, receive_whole, send, send_from


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


def test_receive_whole(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    fd = ours.fileno()
    assert receive_whole(fd, b"rest", 100, len) is None
    theirs.sendall(b"abc\0def")
    assert receive_whole(fd, b"", 4, len) == (b"abc\0", b"")
    assert receive_whole(fd, b"12", 100, lambda data: data.index(b"e")) == (b"12d", b"ef")
    theirs.sendall(b"gh")
    assert receive_whole(fd, b"ef", 1, lambda data: 0) == (b"", b"efg")
    theirs.close()
    assert receive_whole(fd, b"efg", 100, len) == (b"efgh", b"")
    assert receive_whole(fd, b"rest", 100, len) == (b"", b"")


def test_what_fails_while_it_is_cut(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.sendall(b"abc")

    def fail(data: bytes) -> int:
        raise ValueError(data.decode())

    with pytest.raises(ValueError, match="xabc"):
        receive_whole(ours.fileno(), b"x", 100, fail)


def test_send(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    assert send(ours.fileno(), b"abc\0def") == 7
    assert theirs.recv(100) == b"abc\0def"
    while send(ours.fileno(), bytes(65536)):
        pass
    assert send(ours.fileno(), b"x") == 0


def test_send_from(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    for start in (0, 3, 7):
        assert send_from(ours.fileno(), b"abc\0def", start) == 7 - start
    assert theirs.recv(100) == b"abc\0def\0def"
    for start in (-1, 8):
        with pytest.raises(ValueError, match=f"0 to 7, got {start}"):
            send_from(ours.fileno(), b"abc\0def", start)
    while send_from(ours.fileno(), bytes(65536), 1):
        pass
    assert send_from(ours.fileno(), b"xy", 1) == 0
    reading, writing = os.pipe()
    assert send_from(writing, b"abc", 1) == 2 and os.read(reading, 10) == b"bc"
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        send_from(writing, b"abc", 1)
    os.close(writing)


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
        receive_whole(fd, b"", 10, len)
    with pytest.raises(OSError, match="Bad file descriptor"):
        send(fd, b"x")
