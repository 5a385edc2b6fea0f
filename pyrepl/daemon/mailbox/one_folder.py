"""Whether a mailbox's path still leads to the folder whose list was read.

A mailbox is known by the GUID in its list, and what is listed after that may be another one's, whose folder was put
into its place meanwhile: then all messages of the first seem to be gone. Not here: reading the GUID (open_box.py).
Source: rename(2), a folder keeps its inode.
"""

from __future__ import annotations

import os
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files
from pyrepl.errors import PyreplError


class OtherBox(PyreplError):
    """The folder holds another mailbox than the one that was opened: somebody renamed folders."""


@final
class OneFolder:
    """The folder at one path."""

    def __init__(self, files: Files, folder: bytes) -> None:
        self._files: Final = files
        self._folder: Final = folder
        self._inode = -1

    def begin(self) -> None:
        """The list is about to be read. Raises OSError."""
        self._inode = self._found()

    def check(self) -> None:
        """What was listed since `begin` is the same mailbox's as the list. Raises OtherBox, OSError."""
        if self._found() != self._inode:
            self.refuse()

    def refuse(self) -> None:
        """Raises OtherBox."""
        raise OtherBox(f"{os.fsdecode(self._folder)} holds another mailbox by now")

    def _found(self) -> int:
        found = self._files.stat(self._folder)
        return -1 if found is None else found.inode
