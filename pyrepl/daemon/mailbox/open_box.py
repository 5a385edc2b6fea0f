"""One mailbox that is open: works on its messages, a batch under one lock, in an order that survives a crash.

    1 take dovecot-uidlist.lock, see what changed
      and give messages whose GUID nodes cannot tell each other one of their own: a copy has that of its original
    2 names of new keywords
    3 lines of new messages in uidlist, in one write, fsync
    4 links, renames and removals in cur/
    5 fsync of cur/, release the lock

A message that goes aside is on disk there before it leaves cur/, and one that becomes visible the other way round.

A line comes before its file, and is on disk before it: a line without a file is an expunged message to Dovecot, and the
work, when it is told again, finds its own line and links the file. The other way round a crash would leave a file
without a line, which Dovecot gives a UID and, where the base is not the GUID, another GUID. Between 1 and 5 Dovecot
waits.

Not here: which mailbox has which folder (user_boxes.py), and who tells works (maildir_store.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from itertools import takewhile
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_keywords import BoxKeywords
from pyrepl.daemon.mailbox.box_plan import BoxPlan, BoxWork, FindText, portions
from pyrepl.daemon.mailbox.files import Files, exchange, folder_of
from pyrepl.daemon.mailbox.listing import Listing, Message
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.message_files import Change, MessageFiles
from pyrepl.daemon.mailbox.message_text import TextReader, shown_path
from pyrepl.daemon.mailbox.one_folder import OneFolder
from pyrepl.daemon.mailbox.results import failed
from pyrepl.daemon.mailbox.uidlist_file import UidlistFile
from pyrepl.daemon.mailbox.uidlist_lock import LockBusy, UidlistLock
from pyrepl.errors import CorruptData
from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.copies import guid_of_copy, is_told_guid
from pyrepl.mailbox.flag_changes import with_change
from pyrepl.mailbox.maildir.filename import Name
from pyrepl.mailbox.maildir.letters import SYSTEM, flags_of, letters_of
from pyrepl.mailbox.maildir.uidlist import LAST_UID, Entry, stored_guid
from pyrepl.mailbox.store import DONE, AddMessage, MendMessage, MoveMessage, Outcome, RemoveMessage, Result, SetFlags
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.words import from_text, to_text

_GLANCES: Final = 3
"""So often it is looked without the lock, while new messages get other names."""
Changes: TypeAlias = Callable[[], Sequence[Change] | None]
"""Tells what came and went in the mailbox's folders since it was asked last; None if that is not known in full."""
_PLACED: Final = (AddMessage, MoveMessage)
"""Works that say where a message is to be."""


def _know_nothing() -> None:
    return None


class _Told(NamedTuple):
    """What the files were like when it was told what is there. `unlisted`: the bases of those without a line; `unread`:
    messages whose text could not be read."""

    last_uid: int
    whole_loads: int
    keywords: dict[int, str]
    unlisted: frozenset[bytes]
    unread: frozenset[str]


@final
class OpenBox:
    """The mailbox in one folder; what it knows of it is brought up to date under the lock."""

    def __init__(
        self,
        files: Files,
        folder: bytes,
        guid: bytes,
        lock: UidlistLock,
        aside: Aside,
        blocks: UidBlocks | None = None,
    ) -> None:
        """`guid`: the mailbox's, which must be in that folder at each step; `aside`: its messages that nobody sees;
        `blocks`: whose a UID is, None without gates."""
        self.folder: Final = folder
        self.guid: Final = guid
        self._files: Final = files
        self._one: Final = OneFolder(files, folder)
        self._lock: Final = lock
        self._list: Final = UidlistFile(files, folder)
        self._messages: Final = MessageFiles(files, folder)
        self._keywords: Final = BoxKeywords(files, folder)
        self._aside: Final = aside
        self._blocks: Final = blocks
        self._has_sought = False
        self._told: _Told | None = None
        self._raised_to = 0
        """The next UID that was set here, and that nobody need have come to."""

    def load(self) -> None:
        """See what changed. Raises OSError, CorruptData, OtherBox."""
        self._one.begin()
        self._list.load()
        if self._list.header.guid != self.guid:
            self._one.refuse()
        self._messages.load()
        self._one.check()
        self._keywords.load()
        self._aside.load()
        self._has_sought = False

    @property
    def uidvalidity(self) -> int:
        return self._list.header.uidvalidity

    @property
    def next_uid(self) -> int:
        return self._list.next_uid

    def listing(self) -> Listing:
        """All that is there, but what has no GUID of its own as yet; loaded anew, every folder listed. Raises OSError,
        CorruptData, OtherBox."""
        self.load()
        self._look_twice()
        self._seek(self._list.entries.values())
        return self._listed()

    def _listed(self) -> Listing:
        unlisted = self._messages.bases()
        nameless = {entry.uid for entry in self._without_guid()}
        found = []
        for entry in self._list.entries.values():
            name = self._messages.find(entry.base)
            if name is not None:
                unlisted.discard(entry.base)
                if entry.uid in nameless:
                    continue
                flags = flags_of(name.letters, self._keywords.known)
                found.append(Message(entry.uid, entry.guid, flags, self._messages.path(entry.base)))
        return Listing(self.uidvalidity, self._seen_up_to, tuple(found), frozenset(unlisted), self._carried)

    @property
    def _seen_up_to(self) -> int:
        """The next UID; that of the first of the last lines, if a crash came before their files did: they are of works
        that are done again."""
        first = self.next_uid
        for entry in reversed(self._list.entries.values()):
            is_raised = first == self.next_uid and entry.uid + 1 < first
            if is_raised or self._messages.find(entry.base) is not None:
                break
            first = entry.uid
        return first

    # The gate

    def shut_gate(self) -> bool:
        """Keep the lock; False if it was kept already. Raises OSError, LockBusy."""
        return self._lock.shut(self.folder)

    def look(self, look: Look) -> FoundBox:
        """What is there between two changes of a Dovecot. Raises OSError, CorruptData, OtherBox, LockBusy."""
        self._lock.take(self.folder)
        try:
            return self.found(look)
        finally:
            self._lock.release(self.folder)

    def open_gate(self, uidnext: int) -> None:
        """Keep the lock no longer; the next UID is at least `uidnext`. Raises OSError, CorruptData, OtherBox."""
        self.load()
        if self.next_uid < uidnext:
            self._list.append([], uidnext)
            self._raised_to = uidnext
        self._lock.open(self.folder)

    def found(self, look: Look) -> FoundBox:
        """What is there, while we have the lock. Raises OSError, CorruptData, OtherBox."""
        told, self._told = self._told, None
        self.load()
        # Two changes within one tick of the clock leave one time, and nothing tells of the second later.
        self._look_twice()
        self._give_guids()
        is_known = not look.is_whole and told is not None and self._is_current(told)
        self._seek(self._changed(told) if told and is_known else self._list.entries.values())
        unlisted = self._unlisted(told if is_known else None)
        if unlisted and look.may_list:
            self._list.append(self._lines_of(unlisted), self.next_uid)
            unlisted.clear()
        reader = self._reader(look, told)
        found = self._found_since(told, reader) if told and is_known else self._found_whole(reader)
        self._tell(unlisted, reader)
        return self._with_odd(found, reader)._replace(unlisted=len(unlisted), next_uid=self._used_up_to)

    def _lines_of(self, bases: Set[bytes]) -> list[Entry]:
        """For files that have none, as far as there are UIDs. One whose name is another message's GUID gets its own."""
        new: list[Entry] = []
        for uid, base in zip(range(self.next_uid, LAST_UID + 1), sorted(bases)):
            is_guid = is_told_guid(base) and not self._list.of_guid(base)
            own = None if is_guid else guid_of_copy(self.guid, self.uidvalidity, uid, base)
            new.append(Entry(uid, base, own))
        return new

    def _reader(self, look: Look, told: _Told | None) -> TextReader:
        return TextReader(self._files, look, told.unread if told else frozenset())

    def _with_odd(self, found: FoundBox, reader: TextReader) -> FoundBox:
        """Of what is there and is not told, it is told that it is there."""
        nameless = frozenset(map(shown_path, self._messages.passed_over))
        return found._replace(unread=reader.unread, nameless=nameless, has_own_keywords=self._keywords.known.has_own)

    @property
    def _used_up_to(self) -> int:
        """The UID below which a mail program may have shown all; 0 if no more than was told."""
        return 0 if self.next_uid == self._raised_to else self.next_uid

    def glance(self, look: Look, changes: Changes = _know_nothing) -> FoundBox:
        """What may have changed since it was told last, without the lock, while a Dovecot may be at it.

        A Dovecot puts a file into its place, then writes its line, and lines stand in the list from one moment to the
        next: a file with a line is a message. A line whose file is not there may be that of one which is being renamed,
        and a file without a line may get one at once: of those nothing is told. Raises OSError, CorruptData, OtherBox.
        """
        unsure, told = FoundBox((), is_whole=False, unsure=True), self._told
        if told is None:
            return unsure
        for _ in range(_GLANCES):
            self._list.load()
            # Of a file with a line it has been heard by now.
            self._has_sought = False
            self._messages.hear(changes())
            # An APPEND with a new keyword writes the name behind the line: when it is there, all is told anew.
            self._keywords.load()
            if self._list.header.guid != self.guid or not self._is_current(told):
                break
            with suppress(FileNotFoundError):
                return self._glanced(told, self._reader(look, told))
        return unsure

    def _glanced(self, told: _Told, reader: TextReader) -> FoundBox:
        """Raises FileNotFoundError if a new message gets another name at this moment."""
        unlisted = self._unlisted(told)
        found = self._with_odd(self._found_since(told, reader), reader)
        # New messages are told in the order of their UIDs: whoever hears of one gives out no UID below it.
        missed = [entry.uid for entry in self._new_lines(told) if not self._messages.has(entry.base)]
        nameless = [entry.uid for entry in self._without_guid()]
        messages = tuple(each for each in found.messages if each.uid < min((*missed, *nameless), default=LAST_UID + 1))
        is_alive = self._lock.has_living_owner(self.folder)
        # Whoever looks under the lock overrides a dead owner.
        is_unsure = bool(missed or nameless or found.gone or unlisted & told.unlisted) or is_alive is False
        if not is_unsure:
            self._tell(unlisted, reader)
        found = found._replace(messages=messages, unlisted=len(unlisted), gone=frozenset(), unsure=is_unsure)
        return found._replace(next_uid=0 if is_unsure else self._used_up_to, is_held=is_alive is True)

    def _is_current(self, told: _Told) -> bool:
        """Is it known what has changed since?"""
        is_same = (told.whole_loads, told.keywords) == (self._list.whole_loads, self._names)
        return is_same and self._messages.touched is not None

    def _unlisted(self, told: _Told | None) -> set[bytes]:
        """The bases of files without a line."""
        if told is None:
            return self._list.without_line(self._messages.bases())
        assert self._messages.touched is not None
        bases = self._list.without_line(told.unlisted | self._messages.touched)
        return {base for base in bases if self._messages.has(base)}

    def _tell(self, unlisted: set[bytes], reader: TextReader) -> None:
        """All that is there is about to be told."""
        last = next(reversed(self._list.entries), 0)
        unread = frozenset(reader.unread)
        self._told = _Told(last, self._list.whole_loads, self._names, frozenset(unlisted), unread)
        self._messages.track()

    def _found_whole(self, reader: TextReader) -> FoundBox:
        listing = self._listed()
        return FoundBox(reader.found(listing.messages), listing.carried)

    def _found_since(self, told: _Told, reader: TextReader) -> FoundBox:
        """Messages whose files or lines are others than were told."""
        guids = {entry.guid for entry in self._changed(told)}
        there = {guid: present[0] for guid in guids if (present := self._present(stored_guid(guid)))}
        found = []
        for guid, entry in sorted(there.items(), key=lambda pair: pair[1].uid):
            name = self._messages.find(entry.base)
            assert name is not None
            flags = flags_of(name.letters, self._keywords.known)
            found.append(Message(entry.uid, guid, flags, self._messages.path(entry.base)))
        gone = frozenset(map(to_text, guids - there.keys()))
        return FoundBox(reader.found(found), self._carried, is_whole=False, gone=gone)

    def _changed(self, told: _Told) -> list[Entry]:
        """The lines that are new, and those of files that are others than were told, or could not be read. Of a line
        whose GUID cannot be told nothing was told."""
        assert self._messages.touched is not None
        known = (self._list.of_base(base) for base in self._messages.touched)
        unread = (entry for guid in told.unread for entry in self._list.of_guid(_stored(guid)))
        named = (entry for entry in (*known, *unread, *self._new_lines(told)) if entry is not None)
        return [entry for entry in named if entry.uid not in self._list.untold]

    def _new_lines(self, told: _Told) -> Iterator[Entry]:
        """The last one first."""
        return takewhile(lambda entry: entry.uid > told.last_uid, reversed(self._list.entries.values()))

    @property
    def _names(self) -> dict[int, str]:
        return self._keywords.known.names

    @property
    def _carried(self) -> frozenset[str]:
        """The flags that a file's name can show."""
        return frozenset(SYSTEM) | self._keywords.known.told

    def texts(self, guids: Sequence[str]) -> list[bytes | None]:
        """The paths of these messages' texts; loaded anew. Raises OSError, CorruptData, OtherBox."""
        self.load()
        return [self.text(guid) for guid in guids]

    def text(self, guid: str) -> bytes | None:
        """The path of a message's text, which may be aside; None if it is not there. As loaded."""
        present = self._present(_stored(guid))
        return self._messages.path(present[-1].base) if present else self._aside.path(guid)

    def aside(self) -> list[str]:
        """The messages that are there and that nobody sees. As loaded."""
        return [guid for guid in self._aside.guids() if not self._present(_stored(guid))]

    def set_uidvalidity(self, uidvalidity: int) -> None:
        """Give the mailbox another one. Raises OSError, CorruptData, OtherBox, LockBusy."""
        self._lock.take(self.folder)
        try:
            self.load()
            self._list.set_identity(uidvalidity, self.guid)
        finally:
            self._lock.release(self.folder)

    def perform(self, works: Sequence[BoxWork], find_text: FindText) -> list[Result]:
        """Do them in order; how each ended. What is told as done is on disk. After the first one that failed, none is
        begun. Raises OtherBox."""
        try:
            self._lock.take(self.folder)
        except (OSError, LockBusy) as error:
            return [failed(error)] * len(works)
        try:
            return self._perform(works, find_text)
        except (OSError, CorruptData) as error:
            return [failed(error)] * len(works)
        finally:
            self._lock.release(self.folder)

    def _perform(self, works: Sequence[BoxWork], find_text: FindText) -> list[Result]:
        self.load()
        self._give_guids()
        before = self.next_uid
        results: list[Result] = []
        for portion in portions(works):
            if results and results[-1].outcome is Outcome.FAILED:
                results += [results[-1]] * len(portion)
            else:
                results += self._perform_portion(portion, find_text)
        self._messages.sync()
        self._one.check()
        self._keep_out(before)
        return results

    def _keep_out(self, before: int) -> None:
        """A Dovecot that is let in gives out no UIDs of others, whose messages came; `before`: the next UID before."""
        blocks, now = self._blocks, self.next_uid
        if blocks and blocks.are_apart(before, now) and not self._lock.is_shut(self.folder):
            self._lock.keep(self.folder)

    def _perform_portion(self, works: Sequence[BoxWork], find_text: FindText) -> list[Result]:
        plan = BoxPlan(self._list, self._present, find_text, self._aside.path)
        for index, work in enumerate(works):
            plan.add(index, work)
        flags = {flag for work in works if isinstance(work, AddMessage | MoveMessage | SetFlags) for flag in work.flags}
        unkept = self._keywords.add(flags, self._messages.letters)
        if plan.is_reused:
            self._list.sync()
            self._messages.reuse()
        self._list.append(plan.new, plan.next_uid)
        if plan.next_uid > next(reversed(self._list.entries), 0) + 1:
            self._raised_to = plan.next_uid
        results: list[Result] = []
        for index, work in enumerate(works):
            has_failed = bool(results) and results[-1].outcome is Outcome.FAILED
            results.append(results[-1] if has_failed else self._do(index, work, plan, unkept))
        self._leave_other_place(works, plan, results)
        return results

    def _do(self, index: int, work: BoxWork, plan: BoxPlan, unkept: list[str]) -> Result:
        result = plan.results.get(index, DONE)
        if result.outcome in (Outcome.NO_TEXT, Outcome.FAILED):
            return result
        try:
            match work:
                case AddMessage() | MoveMessage() if index in plan.aside:
                    self._put_aside(work.guid, plan.sources.get(index))
                case AddMessage() if index in plan.sources:
                    self._show(work, plan.entries.get(index), plan.sources[index])
                case AddMessage():
                    # It is there: a try before brought it, perhaps under another UID and with other flags.
                    self._move(work, plan.entries.get(index))
                    self._set_flags(work)
                case SetFlags():
                    self._set_flags(work)
                case MoveMessage() if index in plan.sources:
                    self._show(work, plan.entries.get(index), plan.sources[index])
                case MoveMessage():
                    self._move(work, plan.entries.get(index))
                case MendMessage():
                    self._mend(work.guid, plan.sources[index])
                case RemoveMessage():
                    self._leave_sight(work.guid)
                    self._aside.remove(work.guid)
        except OSError as error:
            return failed(error)
        if not unkept or not isinstance(work, AddMessage | MoveMessage | SetFlags):
            return result
        return result._replace(unkept_keywords=tuple(flag for flag in unkept if flag in work.flags))

    def _show(self, work: AddMessage | MoveMessage, entry: Entry | None, source: bytes) -> None:
        if entry is not None:
            letters = letters_of(work.flags, self._keywords.known)
            self._messages.add(source, Name(entry.base, letters))

    def _mend(self, guid: str, source: bytes) -> None:
        """Its files are this text from now on, each under the name that it has."""
        temporary = folder_of(source) + b"/mend." + self.guid
        for entry in self._present(_stored(guid)):
            self._messages.exchange(entry.base, source, temporary)
        path = self._aside.path(guid)
        if path is not None:
            exchange(self._files, path, source, temporary)
            self._files.sync(folder_of(path))

    def _put_aside(self, guid: str, source: bytes | None) -> None:
        found = source or self.text(guid)
        if found is not None:
            self._aside.add(guid, found)

    def _leave_sight(self, guid: str) -> None:
        present = self._present(_stored(guid))
        for entry in present:
            self._messages.remove(entry.base)
        if not present:
            self._messages.reuse()

    def _leave_other_place(self, works: Sequence[BoxWork], plan: BoxPlan, results: Sequence[Result]) -> None:
        """Messages that are on disk in one place leave the other: not those whose work failed, or was not begun. Raises
        OSError."""
        placed = [
            (index, work.guid)
            for index, work in enumerate(works)
            if isinstance(work, _PLACED)
            and results[index].outcome is not Outcome.FAILED
            and self._aside.path(work.guid) is not None
        ]
        went = [guid for index, guid in placed if index in plan.aside]
        came = [guid for index, guid in placed if index not in plan.aside]
        if not placed:
            return
        self._aside.sync()
        self._messages.sync()
        for guid in went:
            self._leave_sight(guid)
        for guid in came:
            if guid not in went and self._present(_stored(guid)):
                self._aside.remove(guid)

    def _set_flags(self, work: SetFlags | AddMessage) -> None:
        for entry in self._present(_stored(work.guid)):
            try:
                self._rename(entry, work)
            except FileNotFoundError:
                # Somebody renamed it without the lock: where it is now, it gets its flags.
                self._messages.seek({entry.base})
                if self._messages.has(entry.base):
                    self._rename(entry, work)

    def _rename(self, entry: Entry, work: SetFlags | AddMessage) -> None:
        name = self._messages.find(entry.base)
        if name is not None:
            flags = frozenset(work.flags)
            if work.before is not None:
                had = flags_of(name.letters, self._keywords.known)
                flags = with_change(had, work.before, work.flags)
            letters = letters_of(sorted(flags), self._keywords.known, name.letters)
            self._messages.rename(entry.base, name.with_letters(letters))

    def _move(self, work: MoveMessage | AddMessage, entry: Entry | None) -> None:
        present = [each for each in self._present(_stored(work.guid)) if each.uid != work.uid]
        if entry is None or not present:
            return
        name = self._messages.find(present[-1].base)
        assert name is not None
        self._messages.rename(present[-1].base, Name(entry.base, name.letters, name.tail))
        for other in present[:-1]:
            self._messages.remove(other.base)

    def _without_guid(self) -> list[Entry]:
        """Messages that have the GUID of one before them, or one that nodes cannot tell each other. As loaded."""
        shared = (self._list.of_guid(guid) for guid in self._list.shared_guids)
        there = ([each for each in same if self._messages.has(each.base)] for same in shared)
        copies = [copy for same in there for copy in same[1:]]
        untold = (self._list.entries[uid] for uid in self._list.untold)
        return copies + [entry for entry in untold if self._messages.has(entry.base)]

    def _give_guids(self) -> None:
        """A mail program's COPY into the mailbox itself leaves two messages of one GUID, where the nodes know one: the
        copy, which has the higher UID, gets a GUID of its own, and is a message like any other. So does a file with a
        name that can be no GUID on the wire. While we have the lock. Raises OSError."""
        nameless = self._without_guid()
        if nameless:
            self._list.set_guids(
                {each.uid: guid_of_copy(self.guid, self.uidvalidity, each.uid, each.guid) for each in nameless}
            )

    def _present(self, guid: bytes) -> list[Entry]:
        """The lines with this GUID whose files are there, by UID. Before a line counts as an expunged message's, its
        file is sought."""
        known = self._list.of_guid(guid)
        present = [entry for entry in known if self._messages.has(entry.base)]
        if known and not present and not self._has_sought:
            self._has_sought = True
            self._seek(self._list.entries.values())
            return self._present(guid)
        return present

    def _look_twice(self) -> None:
        self._has_sought = False
        self._messages.load(force=True)
        self._one.check()

    def _seek(self, lines: Iterable[Entry]) -> None:
        """Look once more for files of lines that have none."""
        missed = {entry.base for entry in lines if not self._messages.has(entry.base)}
        if missed:
            self._messages.seek(missed)
            self._one.check()


def _stored(guid: str) -> bytes:
    return stored_guid(from_text(guid))
