"""What a batch of works needs before any file is touched: lines of uidlist that are to be added, texts, and what goes
aside.

One GUID is in one portion once at most: what a work before it did to it is then in the files. Not here: the doing
(open_box.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, final

from pyrepl.daemon.mailbox.uidlist_file import UidlistFile
from pyrepl.mailbox.maildir.filename import base_of_guid, made_base, size_of
from pyrepl.mailbox.maildir.uidlist import LAST_UID, Entry, stored_guid
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    DONE,
    AddMessage,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveMessage,
    Result,
    SetFlags,
)
from pyrepl.words import from_text

BoxWork: TypeAlias = AddMessage | SetFlags | MoveMessage | MendMessage | RemoveMessage | RaiseNext
FindText: TypeAlias = Callable[[AddMessage | MendMessage], bytes | None]
"""The path of the text that a work needs; None if it is nowhere."""
Present: TypeAlias = Callable[[bytes], list[Entry]]
"""The lines with a GUID whose files are there, by UID."""
FindAside: TypeAlias = Callable[[str], bytes | None]
"""The path of the text of a message that is aside; None if it is not."""


def portions(works: Sequence[BoxWork]) -> Iterator[list[BoxWork]]:
    """The works in order, in parts in which no GUID comes, goes, moves or is mended twice."""
    portion: list[BoxWork] = []
    touched: set[str] = set()
    for work in works:
        if isinstance(work, AddMessage | MoveMessage | MendMessage | RemoveMessage):
            if work.guid in touched:
                yield portion
                portion, touched = [], set()
            touched.add(work.guid)
        portion.append(work)
    if portion:
        yield portion


@final
class BoxPlan:
    """The plan of one portion. `new` are the lines to be added, ascending; the rest is by a work's place in it."""

    def __init__(self, known: UidlistFile, present: Present, find_text: FindText, find_aside: FindAside) -> None:
        self._known: Final = known
        self._present: Final = present
        self._find_text: Final = find_text
        self._find_aside: Final = find_aside
        self.next_uid = known.next_uid
        self.new: list[Entry] = []
        self.entries: dict[int, Entry] = {}
        """The line of a message that comes or moves."""
        self.sources: dict[int, bytes] = {}
        """The text of a message that comes, is mended, becomes visible, or goes aside."""
        self.aside: set[int] = set()
        """Works whose message is to be aside."""
        self.results: dict[int, Result] = {}
        """How a work ends, where that is known before."""
        self.is_reused = False
        """Something was found done, perhaps by a process that was killed before it was on disk."""

    def add(self, index: int, work: BoxWork) -> None:
        """The next work, at this place."""
        match work:
            case RaiseNext():
                self.is_reused |= work.uidnext <= self.next_uid
                self.next_uid = max(self.next_uid, min(work.uidnext, LAST_UID + 1))
            case AddMessage():
                self._add_message(index, work)
            case MoveMessage():
                self._add_move(index, work)
            case MendMessage():
                self._add_text(index, work)

    def _add_message(self, index: int, work: AddMessage) -> None:
        guid = stored_guid(from_text(work.guid))
        present = self._present(guid)
        if present:
            self.is_reused = True
            if work.uid not in (present[-1].uid, UNPLACED):
                self._add_entry(index, work.uid, guid, None, _told_size(work))
            return
        source = self._find_text(work) or self._find_aside(work.guid)
        if source is None:
            self.results[index] = Result(Outcome.NO_TEXT)
            return
        self.sources[index] = source
        self._add_entry(index, work.uid, guid, base_of_guid(from_text(work.guid), work.size), _told_size(work))

    def _add_text(self, index: int, work: MendMessage) -> None:
        source = self._find_text(work)
        if source is None:
            self.results[index] = Result(Outcome.NO_TEXT)
        else:
            self.sources[index] = source

    def _add_move(self, index: int, work: MoveMessage) -> None:
        raw = from_text(work.guid)
        guid, source = stored_guid(raw), self._find_aside(work.guid)
        present = self._present(guid)
        if present and present[-1].uid != work.uid:
            self._add_entry(index, work.uid, guid, None, size_of(present[-1].base))
        elif not present and source is not None:
            self.sources[index] = source
            self._add_entry(index, work.uid, guid, None, size_of(raw))
        elif not present:
            self.results[index] = Result(Outcome.NO_TEXT)
        else:
            self.is_reused = True

    def _add_entry(self, index: int, uid: int, guid: bytes, base: bytes | None, size: int | None) -> None:
        """The line of a UID: the one that a try before left, or a new one; none for a message that is to be aside."""
        known = next((entry for entry in self._known.of_guid(guid) if entry.uid == uid), None)
        if known is not None:
            self.entries[index] = known
            self.is_reused = True
        elif uid > LAST_UID:
            self.results[index] = Result(Outcome.FAILED, f"UID {uid} is above the last one, {LAST_UID}")
        elif uid < self.next_uid:
            self.aside.add(index)
            self.results[index] = DONE if uid == UNPLACED else Result(Outcome.TOO_LOW, next_uid=self.next_uid)
        else:
            is_free = base is not None and not self._known.has_base(base)
            entry = Entry(uid, base) if is_free and base is not None else Entry(uid, made_base(guid, uid, size), guid)
            self.new.append(entry)
            self.entries[index] = entry
            self.next_uid = uid + 1


def _told_size(work: AddMessage) -> int | None:
    """The size that the name of its file may state: none if the GUID, which was a file's name, states another. That is
    the text's own where a Dovecot keeps it compressed, and Dovecot believes a name."""
    return work.size if size_of(from_text(work.guid)) in (None, work.size) else None
