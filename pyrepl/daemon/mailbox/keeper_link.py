"""The daemon's end of its keeper: found or started, told of each gate, and taken leave of.

Not here: what the keeper does (keeper.py).
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.errors import PyreplError

_WAIT_S: Final = 10.0
_MOST_BYTES: Final = 64


class NoKeeper(PyreplError):
    """It cannot be reached or started, or is gone."""


@final
class KeeperLink:
    """A connection to the keeper of one data folder. `pid` is the keeper's. `open` and `shut` are called by threads."""

    def __init__(self, folder: Path, orphaned: bytes, gone: Callable[[], None]) -> None:
        """`orphaned`: what becomes of the gates without a daemon, as the keeper is told it. `gone` is called in the
        loop when the keeper has ended. Raises NoKeeper."""
        self._gone: Final = gone
        self._loop: Final = asyncio.get_running_loop()
        self._turn: Final = threading.Lock()
        self._socket, self.pid = _found(folder) or _started(folder)
        try:
            self._say(orphaned)
        except NoKeeper:
            self._socket.close()
            raise
        self._loop.add_reader(self._socket.fileno(), self._over)

    def open(self, gate: bytes) -> None:
        """A gate is about to be opened. Raises NoKeeper."""
        self._say(b"open " + base64.b64encode(gate))

    def shut(self, gate: bytes) -> None:
        """A gate is shut. Raises NoKeeper."""
        self._say(b"shut " + base64.b64encode(gate))

    def bye(self) -> None:
        """The daemon ends in order: all gates go, and the keeper."""
        with suppress(NoKeeper):
            self._say(b"bye")

    def close(self) -> None:
        """Without a farewell the keeper waits for another daemon."""
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()

    def _say(self, line: bytes) -> None:
        try:
            with self._turn:
                self._socket.sendall(line + b"\n")
        except OSError as error:
            raise NoKeeper(f"the keeper is gone: {error.strerror}") from None

    def _over(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._gone()


def take_leave(folder: Path) -> None:
    """The daemon ends in order, and is not connected to its keeper, which may run: all gates go, and the keeper."""
    with suppress(NoKeeper, OSError):
        found = _found(folder)
        if found is not None:
            link, _ = found
            with link:
                link.sendall(b"bye\n")


def _found(folder: Path) -> tuple[socket.socket, int] | None:
    """A connection to the keeper that runs, and its pid. None if there is none, or if it was about to end: then all of
    its gates are open and its socket is removed by now. Raises NoKeeper if it does not answer.

    The path of a socket may be short only, so it is named by the folder's descriptor.
    """
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(_WAIT_S)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        link.connect(f"/proc/self/fd/{fd}/{NAME}")
        return link, int(link.recv(_MOST_BYTES))
    except TimeoutError:
        link.close()
        raise NoKeeper(f"the keeper in {folder} does not answer") from None
    except (OSError, ValueError):
        link.close()
        return None
    finally:
        os.close(fd)


def _started(folder: Path) -> tuple[socket.socket, int]:
    keeper = subprocess.Popen(
        [sys.executable, "-m", "pyrepl.daemon.mailbox.keeper"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout as out:
        is_ready = out.readline() == b"ready\n"
    found = _found(folder) if is_ready else None
    if found is None:
        raise NoKeeper(f"the keeper in {folder} did not start: it ended with {keeper.poll()}")
    return found
