"""`.pyrepl-drop`, beside the users' Maildirs and on their disk: where texts lie that came from elsewhere, and folders
in the making or on their way out.

A text comes in pieces, is counted and summed while it comes, and is whole before its work is told; the store syncs the
texts of all works that it is told together before it does any of them. It stays until the row is committed. So at a
start what lies here tells which messages were brought by ops whose rows may be missing; when these are dealt with, all
of it can go: it belongs to works that are told again, with their texts, or to none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.files import Files, remove_tree
from pyrepl.errors import PyreplError
from pyrepl.mailbox.maildir.filename import is_base
from pyrepl.mailbox.maildir.text_sums import TextSums, first_difference
from pyrepl.mailbox.store import SURE, Unsure
from pyrepl.mailbox.words import Dot
from pyrepl.words import from_text, to_text

NAME: Final = b".pyrepl-drop"
_SEQ_AND_GUID: Final = re.compile(r"(?<=.)\.(?=([0-9]{1,19})\.(.+))", re.DOTALL)
_NUMBERED: Final = "+"
"""Behind the number of a second text of one op. No node's name has one."""
_PROBE_BYTES: Final = 512
_NUMBER: Final = re.compile(r"^[0-9]+\+")
BY_WORKS: Final = b"flags."
BY_ALIGNING: Final = b"align."
_NEW: Final = b"new."


class WrongText(PyreplError):
    """A text that is not what its line said; it has to be sent again."""


@final
class DropFolder:
    """The folder of one disk. Its methods raise OSError."""

    def __init__(self, files: Files, root: bytes) -> None:
        """`root`: the folder with the Maildirs of all users."""
        self._files: Final = files
        self._root: Final = root
        self._folder: Final = root + b"/" + NAME

    def prepare(self) -> None:
        """Make it, if it is not there."""
        if self._files.stat(self._folder) is None:
            self._files.make_folder(self._folder)

    def probe(self) -> None:
        """See whether the disk takes anything: a few bytes, which are removed again."""
        self.prepare()
        path = self._folder + b"/probe"
        with suppress(FileNotFoundError):
            self._files.unlink(path)
        try:
            self._files.write_new(path, b"?" * _PROBE_BYTES)
            self._files.sync(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._folder) from None
        finally:
            with suppress(FileNotFoundError):
                self._files.unlink(path)

    def clear(
        self,
        held: Mapping[str, int],
        owed: Set[str] = frozenset(),
        own: str = "",
        uncompared: Set[str] | None = None,
    ) -> None:
        """Empty it but for texts of ops that come again, as the vector says, and those that are owed: after a start,
        when what a crash left is dealt with. `own`: our origin. No op of our own comes again, and its text has a number
        that the vector may never reach, as it counts connections too. `uncompared`: mailboxes of users who could not be
        compared yet, so that what tells of the crash stays until the next start; None if there are no such users."""
        for name in self._files.names(self._folder):
            text, ways = to_text(name), _ways(to_text(name))
            is_own = any(dot.origin == own for dot, _ in ways)
            if text in owed or (uncompared is not None and (is_own or _tells_of_crash(text, uncompared))):
                continue
            if not ways or is_own or any(held.get(dot.origin, 0) >= dot.seq for dot, _ in ways):
                # What works of the first round had here, the stores' threads remove at the same time.
                with suppress(FileNotFoundError):
                    remove_tree(self._files, self._folder + b"/" + name)

    def ops(self) -> dict[str, Dot]:
        """`shown_guid` of each message whose text lies here -> the op that brought it."""
        names = map(to_text, self._files.names(self._folder))
        return {guid: dot for name in names for dot, guid in _ways(name)}

    def find(self, guid: str) -> bytes | None:
        """The path of a text of this message; None if there is none."""
        wanted = shown_guid(guid)
        for name in self._files.names(self._folder):
            if any(shown == wanted for _, shown in _ways(to_text(name))):
                return self._folder + b"/" + name
        return None

    def path(self, name: str) -> bytes:
        """Where the text of that name lies, or would."""
        assert "/" not in name and not name.startswith(".")
        return self._folder + b"/" + from_text(name)

    def folder_path(self, kind: bytes, guid: bytes) -> bytes:
        """Where a folder is made (`box`), or taken apart (`gone`)."""
        return self._folder + b"/" + kind + b"." + guid

    def aside(self, box: bytes) -> Aside:
        """What is aside of the mailbox with that GUID."""
        return Aside(self._files, self._root, box)

    def begin_box(self, guid: bytes) -> None:
        """A mailbox is about to be made: until its row is committed, a file tells that a work did."""
        with suppress(FileExistsError):
            self._files.write_new(self._new_box(guid), b"")
        self._files.sync(self._folder)

    def is_new_box(self, guid: bytes) -> bool:
        """Was it made by a work whose row may be missing?"""
        return self._files.stat(self._new_box(guid)) is not None

    def begin_flags(
        self, guid: bytes, changing: Iterable[tuple[str, frozenset[str] | None]], by: bytes = BY_WORKS
    ) -> None:
        """Flags of messages in a mailbox are about to change: until their rows are committed, a file tells of which
        messages, and which flags; None for all. `by`: one file for works, and one for aligning, which end apart. It
        gets its name when it has its words, so that a kill leaves none without. It is not synced: names come to the
        disk in the order in which they were made, so a file that a power cut left empty still says that something
        was."""
        lines = (json.dumps([each, None if flags is None else sorted(flags)]) for each, flags in changing)
        data = "".join(f"{line}\n" for line in lines).encode()
        path, rough = self._flags(guid, by), self._folder + b"/rough." + by + guid
        if self._files.stat(path) is not None:
            self._files.append(path, data)
            return
        with suppress(FileNotFoundError):
            self._files.unlink(rough)
        self._files.write_new(rough, data)
        self._files.rename(rough, path)

    def new_flags(self, guid: bytes) -> Unsure | None:
        """GUID -> flags that were being changed whose rows may be missing; None if nobody knows which those are."""
        paths = [self._flags(guid, by) for by in (BY_WORKS, BY_ALIGNING)]
        told = [self._files.read(path) for path in paths if self._files.stat(path) is not None]
        found: dict[str, frozenset[str] | None] = {}
        # The last line may be half: then its works were not begun.
        for line in [line for data in told for line in data.split(b"\n")[:-1]]:
            try:
                each, flags = json.loads(line)
            except ValueError:
                return None
            before = found.get(each, frozenset())
            found[each] = None if flags is None or before is None else before | frozenset(flags)
        return (found or None) if told else SURE

    def keep(self, copies: Iterable[tuple[Dot, str, bytes]]) -> None:
        """Texts that are to be linked into another mailbox, by op, GUID and path: until their rows are committed they
        lie here too. On disk when this returns."""
        for dot, guid, path in copies:
            with suppress(FileExistsError):
                self._files.link(path, self.path(text_name(dot, guid)))
        self._files.sync(self._folder)

    def begin(self, dot: Dot, guid: str) -> IncomingText:
        """A text that begins to come. One op's may come by two links: what is here of it already may be awaited, so
        this one gets a number."""
        plain = name = text_name(dot, guid)
        tries = 0
        while self._files.stat(self.path(name)) is not None:
            tries += 1
            name = f"{tries}{_NUMBERED}{plain}"
        return IncomingText(self._files, self._folder, name)

    def sync(self, names: Iterable[str]) -> None:
        """Texts that are whole are on disk when this returns, their names too; what is not there is none."""
        paths = [path for path in map(self.path, sorted(set(names))) if self._files.stat(path) is not None]
        if paths:
            self._files.sync_all([*paths, self._folder])

    def remove(self, names: Iterable[str]) -> None:
        """Texts whose rows are committed; what is gone already is well."""
        for name in names:
            with suppress(FileNotFoundError):
                self._files.unlink(self.path(name))

    def remove_flags(self, guid: bytes, by: bytes = BY_WORKS) -> None:
        """The rows of its messages are committed."""
        with suppress(FileNotFoundError):
            self._files.unlink(self._flags(guid, by))

    def _flags(self, guid: bytes, by: bytes) -> bytes:
        return self._folder + b"/" + by + guid

    def remove_new_box(self, guid: bytes) -> None:
        """Its row is committed."""
        with suppress(FileNotFoundError):
            self._files.unlink(self._new_box(guid))

    def _new_box(self, guid: bytes) -> bytes:
        return self._folder + b"/" + _NEW + guid


@final
class IncomingText:
    """One text on its way into the folder."""

    def __init__(self, files: Files, folder: bytes, name: str) -> None:
        self.name: Final = name
        self._files: Final = files
        self._path: Final = folder + b"/" + from_text(name)
        self._sums: Final = TextSums()
        self._is_there = False

    def write(self, data: bytes) -> None:
        """The next piece. Raises OSError."""
        self._sums.feed(data)
        if self._is_there:
            self._files.append(self._path, data)
            return
        try:
            self._files.write_new(self._path, data)
        except OSError as error:
            # A full disk may have taken a part.
            self._is_there = not isinstance(error, FileExistsError)
            raise
        self._is_there = True

    def finish(self, received: int, size: int, sums: tuple[int, ...]) -> tuple[int, ...]:
        """It is whole: its checksums. With the date `received`, Unix seconds. On disk after `DropFolder.sync`.

        `sums` are those that were stated, () for none. Raises WrongText, OSError.
        """
        if not self._is_there:
            self.write(b"")
        if self._sums.size != size:
            raise WrongText(f"{self.name}: expected {size} bytes, got {self._sums.size}")
        differs_at = first_difference(sums, self._sums.sums) if sums else None
        if differs_at is not None:
            raise WrongText(f"{self.name}: the text is not the one that was sent, from byte {differs_at} on")
        self._files.set_mtime(self._path, received)
        return self._sums.sums

    def abandon(self) -> None:
        """It did not come whole. Raises OSError."""
        if self._is_there:
            with suppress(FileNotFoundError):
                self._files.unlink(self._path)
            self._is_there = False


def _tells_of_crash(name: str, boxes: Set[str]) -> bool:
    """Does a file tell which mailbox was new, or which flags were being changed of one of these?"""
    kind, dot, box = from_text(name).partition(b".")
    return kind + dot == _NEW or (kind + dot in (BY_WORKS, BY_ALIGNING) and to_text(box) in boxes)


def text_name(dot: Dot, guid: str) -> str:
    """`<origin>.<seq>.<guid>`; a second one at the same time is `<number>+<origin>.<seq>.<guid>`."""
    return f"{dot.origin}.{dot.seq}.{shown_guid(guid)}"


def is_of(name: str, guid: str) -> bool:
    """Does a text's name say that it is of this message? A mail that gets a GUID of its own came under another one."""
    return name.endswith(f".{guid}") or any(shown == shown_guid(guid) for _, shown in _ways(name))


def _ways(name: str) -> list[tuple[Dot, str]]:
    """Every way to read a text's name: a node's name may have dots and digits as well. At most one has a GUID that
    anybody asks for."""
    name = _NUMBER.sub("", name)
    return [(Dot(name[: each.start()], int(each[1])), each[2]) for each in _SEQ_AND_GUID.finditer(name)]


def shown_guid(guid: str) -> str:
    """A GUID as it stands in a file's name: one that cannot, as a digest."""
    raw = from_text(guid)
    return to_text(raw) if is_base(raw) else hashlib.sha256(raw).hexdigest()
