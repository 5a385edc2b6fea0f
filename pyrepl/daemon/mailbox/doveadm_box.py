"""Works on the messages of one mailbox that a Dovecot keeps, by doveadm.

A message cannot be given another UID there: its text is saved again under the new one, with its GUID, flags and date,
and the old one is expunged behind that. So for a moment, and after a crash, a GUID may be there twice; the work, when
it is told again, expunges the one that is not to be.

Dovecot gives UIDs out meanwhile as it likes. A text that is saved with a UID below the next gets the next one, and
nothing is said of it, so what came out is looked at: a message that came out wrong is taken back, and is aside then.

Not here: what doveadm is asked (doveadm_mail.py), and mailboxes themselves (doveadm_store.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_plan import BoxWork
from pyrepl.daemon.mailbox.doveadm_mail import DoveadmBox, DoveadmMail, DoveadmMessage
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError
from pyrepl.daemon.mailbox.files import Files
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    DONE,
    AddMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveMessage,
    Result,
    SetFlags,
)

_MOST_AT_ONCE: Final = 50
"""Works that are done side by side; their texts are files meanwhile (fetched_texts.py keeps more)."""
_NO_TEXT: Final = Result(Outcome.NO_TEXT)
_Placing: TypeAlias = AddMessage | MoveMessage
FindText: TypeAlias = Callable[[str], bytes | None]
"""The path of a message's text, from wherever the user has it; its mtime is the date."""


class _Saved(NamedTuple):
    """A text that was saved, from a file, and has no flags of ours yet. `old`: UIDs under which the message was there
    before; `is_moved`: it keeps the flags that it has under these."""

    work: _Placing
    source: bytes
    old: tuple[int, ...]
    is_moved: bool


@final
class DoveadmBoxWorks:
    """The works of one batch. Its methods raise DoveadmError, OSError."""

    def __init__(self, mail: DoveadmMail, box: DoveadmBox, files: Files, aside: Aside, find_text: FindText) -> None:
        """`aside` is loaded."""
        self._mail: Final = mail
        self._box: Final = box
        self._files: Final = files
        self._aside: Final = aside
        self._find_text: Final = find_text
        self._next_uid = box.uidnext

    def perform(self, works: Sequence[BoxWork]) -> list[Result]:
        """Do them, in order; how each ended."""
        return [result for run in _runs(works) for result in self._perform(run)]

    def _perform(self, works: Sequence[BoxWork]) -> list[Result]:
        """Works of one kind, each on another message."""
        placing = [work for work in works if isinstance(work, AddMessage | MoveMessage)]
        if placing:
            return self._place(placing)
        there = self._there()
        if isinstance(works[0], SetFlags):
            self._set_flags([work for work in works if isinstance(work, SetFlags)], there)
        elif isinstance(works[0], RemoveMessage):
            self._remove([work.guid for work in works if isinstance(work, RemoveMessage)], there)
        elif isinstance(works[0], RaiseNext):
            self._mail.update(
                self._box.name, uidnext=max(work.uidnext for work in works if isinstance(work, RaiseNext))
            )
        else:
            raise DoveadmError("doveadm cannot mend a message's text")
        return [DONE] * len(works)

    def _there(self) -> dict[str, list[DoveadmMessage]]:
        """GUID -> its messages, by UID."""
        listed = self._mail.messages(self._box)
        if listed is None:
            raise DoveadmError(f"the mailbox {self._box.name} went meanwhile")
        found: dict[str, list[DoveadmMessage]] = {}
        for each in listed:
            found.setdefault(each.guid, []).append(each)
        return found

    # Messages that come, or get another UID

    def _place(self, works: Sequence[_Placing]) -> list[Result]:
        there = self._there()
        begun = [self._begin(work, there.get(work.guid, [])) for work in works]
        saved = [each for each in begun if isinstance(each, _Saved)]
        now = self._there() if saved else {}
        wrong = [each for each in saved if each.work.uid not in _uids(now, each.work.guid)]
        self._take_back(wrong, now)
        self._complete([each for each in saved if each not in wrong], now)
        too_low = Result(Outcome.TOO_LOW, next_uid=self._next_uid)
        return [each if isinstance(each, Result) else too_low if each in wrong else DONE for each in begun]

    def _begin(self, work: _Placing, present: list[DoveadmMessage]) -> Result | _Saved:
        """Save it under its UID, if it can have that; or how the work ended."""
        if work.uid == UNPLACED:
            return self._put_aside(work, present)
        if any(each.uid == work.uid for each in present):
            return self._stay(work, present)
        source = self._source(work, present)
        if source is None:
            return _NO_TEXT
        if work.uid < self._next_uid:
            self._hide(work.guid, source, _all(present))
            return Result(Outcome.TOO_LOW, next_uid=self._next_uid)
        received = work.received if isinstance(work, AddMessage) else self._date(source)
        self._mail.save(self._box, work.uid, work.guid, received, self._files.read(source))
        self._next_uid = work.uid + 1
        return _Saved(work, source, _all(present), is_moved=isinstance(work, MoveMessage) and bool(present))

    def _put_aside(self, work: _Placing, present: list[DoveadmMessage]) -> Result:
        """One that a crash left in sight stays there until it gets another UID: clients may have seen it."""
        if isinstance(work, AddMessage) and present:
            return DONE
        source = self._source(work, present)
        if source is None:
            return _NO_TEXT
        self._hide(work.guid, source, _all(present))
        return DONE

    def _stay(self, work: _Placing, present: list[DoveadmMessage]) -> Result:
        """It has the UID already: what a crash left undone."""
        old = [each for each in present if each.uid != work.uid]
        is_done = isinstance(work, MoveMessage) and not old and self._aside.path(work.guid) is None
        if not is_done:
            flags = old[-1].flags if old and isinstance(work, MoveMessage) else frozenset(work.flags)
            # What a mail program added since the text was saved stays; whether it took one away, or it was not given
            # yet, nobody knows.
            has_clients = isinstance(work, AddMessage) and work.before is not None
            self._mail.change_flags("add" if has_clients else "replace", self._box.guid, [work.uid], flags)
            self._expunge(_all(old))
            self._aside.remove(work.guid)
        return DONE

    def _source(self, work: _Placing, present: list[DoveadmMessage]) -> bytes | None:
        return self._aside.path(work.guid) or (
            self._find_text(work.guid) if present or isinstance(work, AddMessage) else None
        )

    def _complete(self, saved: Sequence[_Saved], now: dict[str, list[DoveadmMessage]]) -> None:
        """Give them their flags, beside those that a client gave them by now, then take away what they were before. One
        that a client expunged while it was moved goes with that."""
        by_flags: dict[frozenset[str], list[int]] = {}
        gone: list[int] = []
        for each in saved:
            left = [message for message in now[each.work.guid] if message.uid in each.old]
            gone += [*_all(left), *([each.work.uid] if each.is_moved and not left else [])]
            flags = left[-1].flags if each.is_moved and left else frozenset(each.work.flags)
            if flags and each.work.uid not in gone:
                by_flags.setdefault(flags, []).append(each.work.uid)
        for flags, uids in by_flags.items():
            self._mail.change_flags("add", self._box.guid, uids, flags)
        self._expunge(gone)
        for each in saved:
            self._aside.remove(each.work.guid)

    def _take_back(self, wrong: Sequence[_Saved], now: dict[str, list[DoveadmMessage]]) -> None:
        """Dovecot gave out the next UID before ours came."""
        self._next_uid = max([self._next_uid, *(each.uid + 1 for listed in now.values() for each in listed)])
        for each in wrong:
            self._hide(each.work.guid, each.source, _all(now.get(each.work.guid, [])))

    def _hide(self, guid: str, source: bytes, uids: Sequence[int]) -> None:
        """The text is aside, on disk, before the message goes."""
        if self._aside.path(guid) is None:
            self._aside.add(guid, source)
            self._aside.sync()
        self._expunge(uids)

    def _date(self, path: bytes) -> int:
        found = self._files.stat(path)
        return 0 if found is None else found.mtime_ns // 1_000_000_000

    # Messages that are there

    def _set_flags(self, works: Sequence[SetFlags], there: dict[str, list[DoveadmMessage]]) -> None:
        """Only what a work changes is asked for: a mail program may be changing other flags."""
        changes: dict[tuple[str, frozenset[str]], list[int]] = {}
        for work in works:
            for how, flags in _changes(work):
                changes.setdefault((how, flags), []).extend(_uids(there, work.guid))
        for (how, flags), uids in changes.items():
            self._mail.change_flags(how, self._box.guid, uids, flags)

    def _remove(self, guids: Sequence[str], there: dict[str, list[DoveadmMessage]]) -> None:
        self._expunge([uid for guid in guids for uid in _uids(there, guid)])
        for guid in guids:
            self._aside.remove(guid)

    def _expunge(self, uids: Sequence[int]) -> None:
        self._mail.expunge(self._box.guid, uids)


def _changes(work: SetFlags) -> Iterator[tuple[str, frozenset[str]]]:
    flags = frozenset(work.flags)
    if work.before is None:
        yield "replace", flags
        return
    before = frozenset(work.before)
    for how, changed in (("add", flags - before), ("remove", before - flags)):
        if changed:
            yield how, changed


def _uids(there: dict[str, list[DoveadmMessage]], guid: str) -> tuple[int, ...]:
    return _all(there.get(guid, []))


def _all(messages: Sequence[DoveadmMessage]) -> tuple[int, ...]:
    return tuple(each.uid for each in messages)


def _runs(works: Sequence[BoxWork]) -> Iterator[list[BoxWork]]:
    """Works of one kind that follow each other, each on another message."""
    run: list[BoxWork] = []
    guids: set[str] = set()
    for work in works:
        guid = "" if isinstance(work, RaiseNext) else work.guid
        if run and (type(work) is not type(run[0]) or guid in guids or len(run) == _MOST_AT_ONCE):
            yield run
            run, guids = [], set()
        run.append(work)
        guids.add(guid)
    if run:
        yield run
