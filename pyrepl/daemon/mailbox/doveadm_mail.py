"""The mailboxes of one user as `doveadm` of a Dovecot 2.4 tells of them and changes them, whatever their format is.

Names are the protocol's, with "/" between their parts; Dovecot's own separator is known here alone. A mailbox is asked
for by its GUID where that can be, as its name may change meanwhile: one that is not there holds nothing then, so
whoever asks what it holds asks first whether it is there.

Not here: the program (doveadm_program.py), and what is to be done (doveadm_store.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.doveadm_program import MOST_UIDS, DoveadmError, DoveadmProgram, of_user
from pyrepl.mailbox.maildir.layout import Layout, normal
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.words import is_keyword, ranges, render_uids

MOST_TEXT_BYTES: Final = 8 * 1024 * 1024
"""Of texts that are read by one command, if they are more than one."""
STATUS: Final = "guid uidvalidity uidnext highestmodseq messages"
"""What is asked of mailboxes."""
_LISTED: Final = "mailbox-guid uid guid flags size.physical date.received.unixtime"
_RECENT: Final = "\\Recent"
_HEAD: Final = re.compile(rb"uid: (\d+)\nsize\.physical: (\d+)\ntext:\n")
_BETWEEN: Final = b"\f\n"


class DoveadmBox(NamedTuple):
    """A mailbox as it is now. `highest`: its HIGHESTMODSEQ, as this Dovecot counts."""

    name: str
    guid: str
    uidvalidity: int
    uidnext: int
    highest: int
    messages: int


class DoveadmMessage(NamedTuple):
    """A message. `received`: Unix seconds; `size`: bytes."""

    uid: int
    guid: str
    flags: frozenset[str]
    size: int
    received: int


@final
class DoveadmMail:
    """One user's mail. Its methods wait for the program, and raise DoveadmError."""

    def __init__(self, program: DoveadmProgram, user: str, layout: Layout) -> None:
        """`layout`: by its separator. Raises DoveadmError for who cannot be asked for."""
        self._program: Final = program
        self._user: Final = user
        self._of: Final = of_user(user)
        self.layout: Final = layout

    # What there is

    def boxes(self) -> list[DoveadmBox]:
        """All mailboxes whose names the protocol can say, by name. DoveadmError if there is none, as everybody has an
        INBOX: then what Dovecot keeps may be missing."""
        return self.listed()[0]

    def listed(self) -> tuple[list[DoveadmBox], tuple[str, ...]]:
        """As `boxes`, and the names that the protocol cannot say, as Dovecot has them."""
        rows = self._status()
        found, names = sorted(parsed_boxes(rows, self.layout)), sorted(row.get("mailbox", "") for row in rows)
        if not found:
            raise DoveadmError(f"Dovecot shows no mailbox of {self._user}: is the disk of its mail mounted?")
        return found, tuple(name for name in names if not list(parsed_names([{"mailbox": name}], self.layout)))

    def boxes_or_none(self) -> list[DoveadmBox]:
        """As `boxes`, of a user who may be new."""
        return sorted(parsed_boxes(self._status(), self.layout))

    def box(self, guid: str) -> DoveadmBox | None:
        """The mailbox with this GUID; None if there is none."""
        return next((box for box in self.boxes() if box.guid == guid), None)

    def subscribed(self) -> frozenset[str]:
        """The names that are subscribed."""
        rows = self._program.rows("mailbox", "list", "-s", *self._of)
        return frozenset(parsed_names(rows, self.layout))

    def messages(self, box: DoveadmBox) -> list[DoveadmMessage] | None:
        """What a mailbox holds, by UID; None if it went meanwhile, so that nobody knows."""
        found = self._messages("mailbox-guid", box.guid)[1]
        now = self.box(box.guid)
        is_there = now is not None and now.uidvalidity == box.uidvalidity and bool(found or not now.messages)
        return found if is_there else None

    def all_messages(self) -> dict[str, list[DoveadmMessage]]:
        """GUID of a mailbox -> what it holds, by UID. Mailboxes without a message are none."""
        return self._messages_by_box("all")

    def holding(self, guid: str) -> dict[str, list[DoveadmMessage]]:
        """GUID of a mailbox -> those of its messages that have this GUID."""
        return self._messages_by_box("guid", guid)

    def texts(self, box: str, messages: Sequence[DoveadmMessage]) -> Iterator[tuple[DoveadmMessage, bytes]]:
        """The messages that are still there, and their texts."""
        for portion in _by_size(messages):
            uids = {each.uid: each for each in portion}
            said = self._program.run(*("fetch", *self._of, "uid size.physical text"), *_search(box, uids))
            for uid, text in parsed_texts(said):
                if uid in uids:
                    yield uids[uid], text

    # What is changed

    def save(self, box: DoveadmBox, uid: int, guid: str, received: int, text: bytes) -> None:
        """Save a message. Dovecot gives it another UID if the next one is above this one, and says nothing of it."""
        words = ("-m", self._own(box.name), "-U", str(uid), "-g", guid, "-r", str(received))
        self._program.run("save", *self._of, *words, text=text)

    def change_flags(self, how: str, box: str, uids: Iterable[int], flags: Iterable[str]) -> None:
        """`how`: add, remove or replace."""
        for portion in portions(sorted(uids), MOST_UIDS):
            words = (*self._of, "--", " ".join(sorted(flags)), *_search(box, portion))
            self._program.run("flags", how, *words)

    def expunge(self, box: str, uids: Iterable[int]) -> None:
        for portion in portions(sorted(uids), MOST_UIDS):
            self._program.run("expunge", *self._of, *_search(box, portion))

    def create(self, guid: str, name: str) -> None:
        self._program.run("mailbox", "create", *self._of, "-g", guid, "--", self._own(name))

    def rename(self, name: str, to: str) -> None:
        self._program.run("mailbox", "rename", *self._of, "--", self._own(name), self._own(to))

    def delete_unless_mail(self, box: DoveadmBox) -> bool:
        """One that holds mail by now stays. Is it gone?"""
        try:
            self._program.run("mailbox", "delete", "-e", *self._of, "--", self._own(box.name))
        except DoveadmError:
            now = self.box(box.guid)
            if now is not None and now.messages == 0:
                raise
            return now is None
        return True

    def update(self, name: str, *, guid: str = "", uidvalidity: int = 0, uidnext: int = 0) -> None:
        """Give a mailbox another GUID, another UIDVALIDITY, or let its next UID be at least this one."""
        wanted = (("--mailbox-guid", guid), ("--uid-validity", uidvalidity), ("--min-next-uid", uidnext))
        words = [word for option, value in wanted if value for word in (option, str(value))]
        self._program.run("mailbox", "update", *self._of, *words, "--", self._own(name))

    def subscribe(self, name: str, is_subscribed: bool) -> None:
        how = "subscribe" if is_subscribed else "unsubscribe"
        self._program.run("mailbox", how, *self._of, "--", self._own(name))

    # Inside

    def _status(self) -> list[dict[str, str]]:
        return self._program.rows("mailbox", "status", *self._of, STATUS, "*")

    def _own(self, name: str) -> str:
        """A name as Dovecot has it."""
        why_not = self.layout.why_not(name)
        if why_not is not None:
            raise DoveadmError(f"the mailbox {name!r} cannot be kept: {why_not}")
        return name.replace("/", self.layout.separator)

    def _messages(self, *search: str) -> tuple[list[str], list[DoveadmMessage]]:
        """The mailboxes and the messages that are found, by UID."""
        rows = self._program.rows("fetch", *self._of, _LISTED, *search)
        try:
            found = sorted((_parsed_message(row), row["mailbox-guid"]) for row in rows)
        except (KeyError, ValueError) as error:
            raise DoveadmError(f"doveadm fetch said something else than {_LISTED}: {error}") from None
        return [box for _, box in found], [message for message, _ in found]

    def _messages_by_box(self, *search: str) -> dict[str, list[DoveadmMessage]]:
        found: dict[str, list[DoveadmMessage]] = {}
        for box, message in zip(*self._messages(*search), strict=True):
            found.setdefault(box, []).append(message)
        return found


def parsed_boxes(rows: Iterable[dict[str, str]], layout: Layout) -> Iterator[DoveadmBox]:
    """What `mailbox status` with STATUS said, of mailboxes whose names the protocol can say. Raises DoveadmError."""
    fields = ("uidvalidity", "uidnext", "highestmodseq", "messages")
    for row in rows:
        try:
            name, guid, numbers = row["mailbox"], row["guid"], [int(row[field]) for field in fields]
        except (KeyError, ValueError) as error:
            raise DoveadmError(f"doveadm mailbox status said something else than {STATUS}: {error}") from None
        for shown in parsed_names([row], layout) if name else ():
            yield DoveadmBox(shown, guid, *numbers)


def parsed_names(rows: Iterable[dict[str, str]], layout: Layout) -> Iterator[str]:
    """The names of mailboxes that `mailbox list` or `status` said, as the protocol says them."""
    for row in rows:
        name = row.get("mailbox", "").replace(layout.separator, "/")
        if normal(name) == name and layout.why_not(name) is None:
            yield name


def parsed_texts(said: bytes) -> Iterator[tuple[int, bytes]]:
    """UIDs and texts, as `fetch` says them. Raises DoveadmError."""
    at = 0
    while at < len(said):
        head = _HEAD.match(said, at)
        end = 0 if head is None else head.end() + int(head[2])
        is_whole = end == len(said) or said.startswith(_BETWEEN, end)
        if head is None or not is_whole:
            raise DoveadmError(f"doveadm fetch said no text at byte {at} of {len(said)}")
        yield int(head[1]), said[head.end() : end]
        at = end + len(_BETWEEN)


def _parsed_message(row: dict[str, str]) -> DoveadmMessage:
    """Raises KeyError, ValueError."""
    flags = frozenset(flag for flag in row["flags"].split() if flag.startswith("\\") or is_keyword(flag)) - {_RECENT}
    # IMAP has dates before 1970, the protocol has none.
    numbers = int(row["size.physical"]), max(int(row["date.received.unixtime"]), 0)
    return DoveadmMessage(int(row["uid"]), row["guid"], flags, *numbers)


def _search(box: str, uids: Iterable[int]) -> tuple[str, ...]:
    return "mailbox-guid", box, "uid", render_uids(ranges(sorted(uids)))


def _by_size(messages: Sequence[DoveadmMessage]) -> Iterator[list[DoveadmMessage]]:
    """In portions whose texts are small enough to be read at once, or are one."""
    portion: list[DoveadmMessage] = []
    size = 0
    for each in messages:
        if portion and (size + each.size > MOST_TEXT_BYTES or len(portion) == MOST_UIDS):
            yield portion
            portion, size = [], 0
        portion.append(each)
        size += each.size
    if portion:
        yield portion
