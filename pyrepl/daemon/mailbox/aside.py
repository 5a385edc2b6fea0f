"""`.pyrepl-aside`, beside the users' Maildirs and on their disk: texts of messages that have no UID yet, or none any
more, so that no mail program sees them. What their flags are, the rows know.

A text lies in a folder of its mailbox's GUID, under the message's: the GUID itself where a file may be called so, else
`=` and its base64. Not here: when a message is put aside, and when it becomes visible (open_box.py).
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, remove_tree
from pyrepl.mailbox.maildir.filename import is_base
from pyrepl.words import from_text, to_text

NAME: Final = b".pyrepl-aside"
_ENCODED: Final = b"="


@final
class Aside:
    """The folder of one mailbox, after `load` as it stands on the disk. Its methods raise OSError.

    Invariant: `_names` has the names of all files in it, as listed and as we changed it since.
    """

    def __init__(self, files: Files, root: bytes, box: bytes) -> None:
        """`root`: the folder with the Maildirs of all users; `box`: the mailbox's GUID."""
        self._files: Final = files
        self._root: Final = root
        self._above: Final = root + b"/" + NAME
        self._folder: Final = self._above + b"/" + box
        self._names: set[bytes] = set()
        self._is_changed = False

    def load(self) -> None:
        """See what is there."""
        self._names = set(self._files.names(self._folder)) if self._files.stat(self._folder) is not None else set()

    def guids(self) -> list[str]:
        """The messages that are aside."""
        return [_guid_of(name) for name in self._names]

    def path(self, guid: str) -> bytes | None:
        """Where a message's text lies; None if it is not aside."""
        name = _name_of(guid)
        return self._folder + b"/" + name if name in self._names else None

    def add(self, guid: str, source: bytes) -> None:
        """Link a text; one that is there already is this one. On disk after `sync`."""
        if not self._names:
            self._make()
        name = _name_of(guid)
        with suppress(FileExistsError):
            self._files.link(source, self._folder + b"/" + name)
        self._names.add(name)
        self._is_changed = True

    def remove(self, guid: str) -> None:
        """What is gone already is well."""
        name = _name_of(guid)
        if name in self._names:
            with suppress(FileNotFoundError):
                self._files.unlink(self._folder + b"/" + name)
            self._names.discard(name)

    def remove_all(self) -> None:
        """The mailbox is gone."""
        remove_tree(self._files, self._folder)
        self._names = set()

    def sync(self) -> None:
        """What was added is on disk when this returns."""
        if self._is_changed:
            self._files.sync(self._folder)
            self._is_changed = False

    def _make(self) -> None:
        for folder, above in ((self._above, self._root), (self._folder, self._above)):
            with suppress(FileExistsError):
                self._files.make_folder(folder)
            self._files.sync(above)


def _name_of(guid: str) -> bytes:
    raw = from_text(guid)
    return raw if is_base(raw) and not raw.startswith(_ENCODED) else _ENCODED + base64.urlsafe_b64encode(raw)


def _guid_of(name: bytes) -> str:
    return to_text(base64.urlsafe_b64decode(name[1:]) if name.startswith(_ENCODED) else name)
