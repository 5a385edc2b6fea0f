"""Files in the making: every file that is written beside its place and renamed, and every one that must be new.

The folder may be one that others can write in, and the names can be guessed: what lies there already is a leftover of
ours or was planted. It is unlinked, never followed or written into, and who puts another there meanwhile gets an error.

What they hold is data: only their owner may read and write them, unless a writer says otherwise (`SHARED`). Redis
leaves its files to the umask, which mostly lets everybody on the machine read them.

Not here: files whose names the operator gives, which are the log, the event log and the pidfile. They follow links, as
Redis's do: operators use that to have logs elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE: Final = 0o600
"""Permissions of files that hold data, whatever the umask is."""
SHARED: Final = 0o644
"""Permissions of files for others to read, as far as the umask lets them."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def open_new(path: str | Path, mode: int = PRIVATE, flags: int = 0) -> int:
    """A descriptor of a new, empty file of ours; `flags` are those wanted besides, as O_APPEND. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    fd = os.open(path, _FLAGS | flags, mode)
    if mode == PRIVATE:
        os.fchmod(fd, PRIVATE)
    return fd


def make_private(path: str | Path) -> None:
    """Make a file that holds data, if it is not there. Raises OSError."""
    with suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
        os.fchmod(fd, PRIVATE)
        os.close(fd)


def open_kept(path: str | Path) -> int:
    """A descriptor of a file of ours that stays where it is, made if it is not there: a lock file. A link at its place
    is refused, as nobody has a reason to put one there. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)


def create(path: str | Path, mode: int = PRIVATE) -> BinaryIO:
    """As `open_new`, buffered."""
    return open(open_new(path, mode), "wb")


@contextmanager
def replacing(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """As `create`, beside its place; the file takes it when all is written, and not before. Raises OSError."""
    rough = path.with_name(f".{path.name}.tmp")
    with create(rough, mode) as file:
        yield file
    rough.replace(path)
