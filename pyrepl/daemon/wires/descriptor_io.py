"""read and write on a non-blocking socket or pipe, with nothing between the kernel and the bytes. Hot.

Compiled, both are the bare system calls into one buffer that is used again and again; they hold the interpreter's lock,
as a call that cannot block is shorter than giving the lock away. As it is written, the `os` module does the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
    from cython.cimports.libc.errno import EAGAIN, EINTR, errno
    from cython.cimports.libc.stdlib import malloc
    from cython.cimports.libc.string import memcpy
    from cython.cimports.posix.unistd import read, write
    from cython.cimports.pyrepl.daemon.wires.descriptor_io import resize
    from cython.cimports.pyrepl.rdb.compiled.raw import Ref, new_bytes, release, text_of

    _ROOM = cython.declare(cython.Py_ssize_t, 262144)
    _buffer = cython.declare(cython.p_char, cython.cast(cython.p_char, malloc(262144)))

MOST_BYTES = 256 * 1024
"""Read at once, whatever was asked for."""


def receive(fd: cython.int, size: cython.Py_ssize_t) -> bytes | None:
    """What has come, up to `size` bytes, b"" at the end, None when nothing has come. Raises OSError."""
    if cython.compiled:
        got: cython.Py_ssize_t = read(fd, _buffer, size if size < _ROOM else _ROOM)
        if got >= 0:
            data: bytes = PyBytes_FromStringAndSize(_buffer, got)
            return data
        if errno in (EAGAIN, EINTR):
            return None
        raise OSError(errno, os.strerror(errno))
    try:
        return os.read(fd, min(size, MOST_BYTES))
    except (BlockingIOError, InterruptedError):
        return None


def receive_whole(
    fd: cython.int, rest: bytes, size: cython.Py_ssize_t, whole_bytes: Callable[[bytes], int]
) -> tuple[bytes, bytes] | None:
    """What has come, up to `size` bytes, as one piece with `rest` before it, cut where `whole_bytes` says: both parts.

    None when nothing has come, two empty parts at the end. Raises OSError. Compiled, the kernel writes into the piece
    itself, and neither it nor the first part of it is copied; `whole_bytes` must not keep it.
    """
    if cython.compiled:
        before: cython.Py_ssize_t = len(rest)
        piece: cython.pointer[Ref] = new_bytes(cython.NULL, before + size)
        if piece is cython.NULL:
            raise MemoryError
        memcpy(text_of(piece), cython.cast(cython.p_char, rest), before)
        got: cython.Py_ssize_t = read(fd, text_of(piece) + before, size)
        if got <= 0:
            failure: cython.int = errno
            release(piece)
            if got == 0:
                return b"", b""
            if failure in (EAGAIN, EINTR):
                return None
            raise OSError(failure, os.strerror(failure))
        whole: cython.Py_ssize_t
        try:
            resize(cython.address(piece), before + got)
            whole = whole_bytes(cython.cast(object, piece))
            end: bytes = PyBytes_FromStringAndSize(
                cython.cast(cython.p_char, text_of(piece)) + whole, before + got - whole
            )
            resize(cython.address(piece), whole)
            return cython.cast(object, piece), end
        finally:
            if piece is not cython.NULL:
                release(piece)
    data = receive(fd, size)
    if not data:
        return data if data is None else (b"", b"")
    data = rest + data
    cut = whole_bytes(data)
    return data[:cut], data[cut:]


def send(fd: cython.int, data: bytes) -> cython.Py_ssize_t:
    """How many bytes the kernel took, 0 when it is full. Raises OSError (SIGPIPE is ignored in Python)."""
    if cython.compiled:
        sent: cython.Py_ssize_t = write(fd, cython.cast(cython.p_char, data), len(data))
        if sent >= 0:
            return sent
        if errno in (EAGAIN, EINTR):
            return 0
        raise OSError(errno, os.strerror(errno))
    try:
        return os.write(fd, data)
    except (BlockingIOError, InterruptedError):
        return 0


def send_from(fd: cython.int, data: bytes, start: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """As `send`, for what stands in `data` from `start` on, 0 <= start <= len(data). Raises ValueError, OSError."""
    size: cython.Py_ssize_t = len(data)
    if start < 0 or start > size:
        raise ValueError(f"expected a start of 0 to {size}, got {start}")
    if cython.compiled:
        sent: cython.Py_ssize_t = write(fd, cython.cast(cython.p_char, data) + start, size - start)
        if sent >= 0:
            return sent
        if errno in (EAGAIN, EINTR):
            return 0
        raise OSError(errno, os.strerror(errno))
    return send(fd, memoryview(data)[start:])
