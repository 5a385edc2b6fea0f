"""`.pyrepl-texts`: texts that a store without files of its own was asked for, as files for a while: whoever needs one
reads or links it at once.

Not here: where texts come from (doveadm_store.py), and texts that other nodes sent (drop_folder.py).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, remove_tree

NAME: Final = b".pyrepl-texts"
MOST: Final = 100
"""Files of one thread; the one that was asked for last stays longest."""


@final
class FetchedTexts:
    """The files of one thread, whose users are its own. Its methods raise OSError."""

    def __init__(self, files: Files, root: bytes) -> None:
        self._files: Final = files
        self._folder: Final = root + b"/" + NAME
        self._paths: Final[OrderedDict[tuple[str, str], bytes]] = OrderedDict()

    def prepare(self) -> None:
        """Make the folder, empty: at a start, for all threads."""
        remove_tree(self._files, self._folder)
        self._files.make_folder(self._folder)

    def find(self, user: str, guid: str) -> bytes | None:
        """The path of a text; None if it is not here any more."""
        path = self._paths.get((user, guid))
        if path is not None:
            self._paths.move_to_end((user, guid))
        return path

    def put(self, user: str, guid: str, text: bytes, received: int) -> bytes:
        """Keep a text with its date, Unix seconds, which is the file's: its path."""
        found = self.find(user, guid)
        if found is not None:
            return found
        path = self._folder + b"/" + hashlib.sha256(f"{user}\0{guid}".encode()).hexdigest().encode()
        with suppress(FileNotFoundError):
            # What a failure left of it is nobody's: no path of it was given out.
            self._files.unlink(path)
        self._files.write_new(path, text)
        self._files.set_mtime(path, received)
        self._paths[user, guid] = path
        while len(self._paths) > MOST:
            _, oldest = self._paths.popitem(last=False)
            self._files.unlink(oldest)
        return path
