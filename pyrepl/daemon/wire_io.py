"""recv and send on a non-blocking socket, with nothing between the kernel and the bytes. Hot.

Compiled, both are the bare system calls into one buffer that is used again and again; they hold the interpreter's lock,
as a call that cannot block is shorter than giving the lock away. As it is written, the `os` module does the same.
"""

from __future__ import annotations

import os

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
    from cython.cimports.libc.errno import EAGAIN, EINTR, errno
    from cython.cimports.libc.stdlib import malloc
    from cython.cimports.posix.unistd import read, write

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
