"""The file dovecot-uidlist of one mailbox: read as far as it changed, appended to, written anew where that is needed.

Not here: its format (pyrepl.mailbox.maildir.uidlist), and what is put into it (open_box.py). The lock is held by
whoever calls anything but `load`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, folder_of, replace
from pyrepl.errors import CorruptData
from pyrepl.mailbox.copies import is_told_guid
from pyrepl.mailbox.maildir.uidlist import (
    MOST_LINE_BYTES,
    Entry,
    Header,
    Uidlist,
    parse,
    parse_entries,
    render,
    render_entries,
    stored_guid,
)

NAME: Final = b"dovecot-uidlist"
WRITE_ANEW: Final = "write its first line anew: 3 V<uidvalidity> N<uidnext> G<guid>, as MAILBOX INFO says"
"""What helps a list that is damaged: one that Dovecot makes has another GUID, so it is another mailbox's."""


@final
class UidlistFile:
    """One list. After `load` it is as it stands in the file.

    Invariant: `_read_bytes` is where the last whole line that was read ends, `_last_line` that line; `_inode` is the
    file's then. A list that was written anew may have an old inode, so that line is looked at as well, and so is
    `_first_line`: where no line went, the next UID in it may be another.
    """

    def __init__(self, files: Files, folder: bytes) -> None:
        self._files: Final = files
        self._path: Final = folder + b"/" + NAME
        self._inode = -1
        self._read_bytes = 0
        self._first_line = b""
        self._last_line = b""
        self._torn = False
        self.header = Header(1, 1)
        self.entries: dict[int, Entry] = {}
        """By UID, ascending."""
        self._by_guid: dict[bytes, list[Entry]] = {}
        self._by_base: dict[bytes, Entry] = {}
        self.shared_guids: set[bytes] = set()
        """GUIDs of several lines, as `of_guid` takes them."""
        self.untold: set[int] = set()
        """The UIDs of lines whose GUID nodes cannot tell each other."""
        self.whole_loads = 0
        """How often it was read as a whole: what was known of it before is void."""

    @property
    def next_uid(self) -> int:
        last = next(reversed(self.entries), 0)
        return max(self.header.stated_next, last + 1)

    def of_guid(self, guid: bytes) -> list[Entry]:
        """The lines with this GUID, as `stored_guid` has it, by UID: those of expunged messages too."""
        return self._by_guid.get(guid, [])

    def has_base(self, base: bytes) -> bool:
        return base in self._by_base

    def of_base(self, base: bytes) -> Entry | None:
        """The line of a file, if it has one."""
        return self._by_base.get(base)

    def without_line(self, bases: Set[bytes]) -> set[bytes]:
        """Those of these files that have none."""
        return set(bases - self._by_base.keys())

    def load(self) -> None:
        """Read what is new in it. Raises FileNotFoundError and other OSErrors, CorruptData."""
        found = self._files.stat(self._path)
        if found is None:
            raise FileNotFoundError(2, "there is no dovecot-uidlist", self._path)
        is_same = found.inode == self._inode and found.size >= self._read_bytes
        if not is_same or not self._load_rest():
            self._load_whole(found.inode)

    def append(self, new: list[Entry], next_uid: int) -> None:
        """Add lines, by UID, all at or above the next; and let the next UID be at least `next_uid`. On disk when this
        returns. Raises OSError."""
        assert all(entry.uid >= self.next_uid for entry in new)
        known = Uidlist(self.header, tuple(self.entries.values()), int(self._torn))
        after_last = new[-1].uid + 1 if new else self.next_uid
        if known.takes_appends and next_uid <= after_last:
            if new:
                lines = render_entries(new)
                self._files.append(self._path, lines)
                self._files.sync(self._path)
                self._note(new)
                self._read_to(lines)
        else:
            raised = Header(self.header.uidvalidity, next_uid, self.header.guid, extras=self.header.extras)
            self._write(Uidlist(raised, (*known.entries, *new)))

    def sync(self) -> None:
        """What was read is on disk when this returns, whoever wrote it. Raises OSError."""
        self._files.sync_all([self._path, folder_of(self._path)])

    def set_identity(self, uidvalidity: int, guid: bytes) -> None:
        """Give the mailbox another UIDVALIDITY or GUID. On disk when this returns. Raises OSError."""
        header = Header(uidvalidity, self.next_uid, guid, extras=self.header.extras)
        self._write(Uidlist(header, tuple(self.entries.values())))

    def set_guids(self, guids: Mapping[int, bytes]) -> None:
        """Give messages, by UID, other GUIDs, which can stand in a line. On disk when this returns. Raises OSError."""
        entries = [
            entry if (guid := guids.get(uid)) is None else Entry(uid, entry.base, guid, entry.extras)
            for uid, entry in self.entries.items()
        ]
        self._write(Uidlist(self.header, tuple(entries)))

    def _write(self, whole: Uidlist) -> None:
        data = render(whole)
        replace(self._files, self._path, data, self._path + b".tmp")
        found = self._files.stat(self._path)
        self._take(whole, data, found.inode if found else -1)

    def _load_whole(self, inode: int) -> None:
        data = self._files.read(self._path)
        whole = parse(data)
        self._take(whole, data[: len(data) - whole.torn_bytes], inode)
        self._torn = whole.torn_bytes > 0

    def _load_rest(self) -> bool:
        """False if this is not the list that was read."""
        start = self._read_bytes - len(self._last_line)
        if self._files.read_part(self._path, 0, len(self._first_line)) != self._first_line:
            return False
        data = self._files.read(self._path, start)
        if not data.startswith(self._last_line):
            return False
        rest = data[len(self._last_line) :]
        last = next(reversed(self.entries), 0)
        entries, used = parse_entries(rest, last, self.header.version, self._read_bytes)
        self._note(list(entries))
        self._torn = used < len(rest)
        self._read_to(rest[:used])
        return True

    def _take(self, whole: Uidlist, data: bytes, inode: int) -> None:
        self.header, self._inode, self._torn = whole.header, inode, False
        self.entries, self._by_guid, self._by_base = {}, {}, {}
        self.shared_guids, self.untold = set(), set()
        self.whole_loads += 1
        self._note(list(whole.entries))
        self._read_bytes = 0
        self._first_line = data[: data.find(b"\n") + 1]
        self._read_to(data)

    def _read_to(self, lines: bytes) -> None:
        """So many whole lines more were read."""
        if lines:
            self._read_bytes += len(lines)
            self._last_line = lines[lines.rfind(b"\n", 0, -1) + 1 :]

    def _note(self, entries: list[Entry]) -> None:
        """Lines in their order. Of two that name one file the later one counts, as for Dovecot, which writes such where
        a file was away and came back: its message has a new UID, and the old one is gone."""
        for entry in entries:
            earlier = self._by_base.get(entry.base)
            if earlier is not None:
                self._drop(earlier)
            self.entries[entry.uid] = entry
            guid = stored_guid(entry.guid)
            same = self._by_guid.setdefault(guid, [])
            same.append(entry)
            if len(same) > 1:
                self.shared_guids.add(guid)
            self._by_base[entry.base] = entry
            if not is_told_guid(entry.guid):
                self.untold.add(entry.uid)

    def _drop(self, entry: Entry) -> None:
        self.entries.pop(entry.uid, None)
        self.untold.discard(entry.uid)
        guid = stored_guid(entry.guid)
        same = self._by_guid[guid] = [each for each in self._by_guid[guid] if each.uid != entry.uid]
        if len(same) < 2:
            self.shared_guids.discard(guid)


def create(files: Files, folder: bytes, uidvalidity: int, guid: bytes, uidnext: int) -> None:
    """The list of a mailbox that has none yet. On disk when this returns. Raises OSError."""
    data = render(Uidlist(Header(uidvalidity, uidnext, guid)))
    replace(files, folder + b"/" + NAME, data, folder + b"/" + NAME + b".tmp")


def guid_in(files: Files, folder: bytes) -> bytes | None:
    """The GUID of the mailbox in a folder; None if there is none. Raises OSError, CorruptData."""
    header = header_in(files, folder)
    return None if header is None else header.guid


def header_in(files: Files, folder: bytes) -> Header | None:
    """What the list of a mailbox begins with; None if there is no list. One that cannot be read is not one that is not
    there: its mailbox would count as deleted. Raises OSError, CorruptData."""
    path = folder + b"/" + NAME
    try:
        first = files.read_part(path, 0, MOST_LINE_BYTES).partition(b"\n")[0]
    except FileNotFoundError:
        return None
    try:
        return parse(first + b"\n").header
    except CorruptData as error:
        why = str(error).removesuffix(f" (at byte {error.offset})")
        raise CorruptData(f"{os.fsdecode(path)} is damaged ({WRITE_ANEW}): {why}", error.offset) from None
