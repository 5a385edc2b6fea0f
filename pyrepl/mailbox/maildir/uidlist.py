"""dovecot-uidlist: which UID and which GUID the files of a mailbox have.

    3 V<uidvalidity> N<next uid> G<mailbox's GUID, 32 hex digits>
    <uid> [G<message's GUID>] [W<size with CRLF>] [S<size>] ... :<base>

UIDs ascend. N is old on purpose, since lines are appended behind a header that stays: the next UID is what `next_uid`
says. A line whose file is gone is an expunged message's, until the list is written anew. Version 1, of Dovecot 1.0, has
`1 <uidvalidity> <next uid>` and lines `<uid> <base>`; it is read, and written anew as version 3.

A list may end in half a line, when a writer died. Dovecot would append to it, and both lines were lost; so such a list
is written anew and never appended to. Source: Dovecot 2.3, maildir-uidlist.c, and the files it writes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final, final

from pyrepl.errors import CorruptData
from pyrepl.frozen import Frozen
from pyrepl.mailbox.maildir.filename import parse as parse_filename

LAST_UID: Final = 2**32 - 2
"""The greatest UID that a message may have."""
MOST_LINE_BYTES: Final = 4096

_NUMBER: Final = re.compile(rb"[0-9]{1,10}")
_GUID: Final = re.compile(rb"[0-9a-fA-F]{32}")


@final
class Entry(Frozen):
    """One line. `named_guid` is its field G; `extras` are its other fields, as they stand there."""

    uid: int
    base: bytes
    named_guid: bytes | None = None
    extras: tuple[bytes, ...] = ()

    @property
    def guid(self) -> bytes:
        """The message's GUID: the base, unless the line names another."""
        return self.base if self.named_guid is None else self.named_guid


@final
class Header(Frozen):
    """The first line. `stated_next` is N; `guid` is the mailbox's, in lower case, None in version 1 and before
    Dovecot gave it one; `extras` are its other fields."""

    uidvalidity: int
    stated_next: int
    guid: bytes | None = None
    version: int = 3
    extras: tuple[bytes, ...] = ()


@final
class Uidlist(Frozen):
    """A whole list; `entries` ascend in UID. `torn_bytes` at its end are half a line, which is no entry."""

    header: Header
    entries: tuple[Entry, ...] = ()
    torn_bytes: int = 0

    @property
    def last_uid(self) -> int:
        """The greatest UID that a line has; 0 without lines."""
        return self.entries[-1].uid if self.entries else 0

    @property
    def next_uid(self) -> int:
        """The least UID that the next message may have (UIDNEXT); never above LAST_UID + 1."""
        return max(self.header.stated_next, self.last_uid + 1)

    @property
    def takes_appends(self) -> bool:
        """May lines be appended? Otherwise the list has to be written anew."""
        return self.torn_bytes == 0 and self.header.version == 3 and self.header.guid is not None


def parse(data: bytes) -> Uidlist:
    """A whole file. Raises CorruptData that says what is wrong and at which byte."""
    end = data.find(b"\n")
    if end < 0:
        raise CorruptData("dovecot-uidlist has no whole first line", 0)
    header = _parse_header(data[:end])
    entries, used = parse_entries(data[end + 1 :], 0, header.version, end + 1)
    return Uidlist(header, entries, len(data) - end - 1 - used)


def parse_entries(data: bytes, after_uid: int, version: int = 3, at: int = 0) -> tuple[tuple[Entry, ...], int]:
    """The lines that were appended behind one with `after_uid`, and how many bytes the whole ones take.

    `at` is where `data` stands in the file, for errors. Raises CorruptData.
    """
    entries: list[Entry] = []
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        entry = _parse_entry(data[start:end], version, at + start)
        if entry.uid <= after_uid:
            raise CorruptData(f"dovecot-uidlist has UID {entry.uid} behind UID {after_uid}", at + start)
        entries.append(entry)
        after_uid = entry.uid
        start = end + 1
    if len(data) - start > MOST_LINE_BYTES:
        raise CorruptData(f"a line of dovecot-uidlist is longer than {MOST_LINE_BYTES} bytes", at + start)
    return tuple(entries), start


def render(whole: Uidlist) -> bytes:
    """The file, in version 3. The mailbox has its GUID by now; half a line is left out, and N is raised to what the
    lines say, as Dovecot raises it."""
    assert whole.header.guid is not None
    return render_header(whole.header, whole.next_uid) + render_entries(whole.entries)


def render_header(header: Header, next_uid: int) -> bytes:
    """The first line, in version 3."""
    assert header.guid is not None and 0 < header.uidvalidity < 2**32 and 0 < next_uid <= LAST_UID + 1
    words = [b"3", b"V%d" % header.uidvalidity, b"N%d" % next_uid, b"G" + header.guid, *header.extras]
    return b" ".join(words) + b"\n"


def render_entries(entries: Iterable[Entry]) -> bytes:
    """Lines to be appended, or all of a new list."""
    return b"".join(map(_render_entry, entries))


def why_not_guid(guid: bytes) -> str | None:
    """Why a GUID cannot stand in the field G; None if it can."""
    if not 0 < len(guid) <= MOST_LINE_BYTES // 4:
        return f"a GUID has 1 to {MOST_LINE_BYTES // 4} bytes, this one {len(guid)}"
    if re.search(rb"[\0-\x20\x7f]", guid):
        return "a GUID with blanks or control bytes cannot stand in dovecot-uidlist"
    return None


def stored_guid(guid: bytes) -> bytes:
    """A GUID as a line can name it: itself, or a digest of one that cannot stand there."""
    return guid if why_not_guid(guid) is None else hashlib.sha256(guid).hexdigest().encode("ascii")


def _render_entry(entry: Entry) -> bytes:
    assert 0 < entry.uid <= LAST_UID
    words = [b"%d" % entry.uid]
    if entry.named_guid is not None:
        words.append(b"G" + entry.named_guid)
    return b" ".join([*words, *entry.extras, b":" + entry.base]) + b"\n"


def _parse_header(line: bytes) -> Header:
    version, _, rest = line.partition(b" ")
    words = [word for word in rest.split(b" ") if word]
    if version == b"1" and len(words) == 2:
        return Header(_number(words[0], 2**32 - 1, 0), _number(words[1], LAST_UID + 1, 0), version=1)
    if version != b"3":
        raise CorruptData(f"dovecot-uidlist begins with {line[:40]!r}: of its versions 1 and 3 are known", 0)
    fields = {word[:1]: word[1:] for word in words}
    guid = fields.get(b"G")
    if guid is not None and not _GUID.fullmatch(guid):
        raise CorruptData("the mailbox's GUID in dovecot-uidlist is not 32 hex digits", 0)
    return Header(
        _number(fields.get(b"V", b""), 2**32 - 1, 0),
        _number(fields.get(b"N", b""), LAST_UID + 1, 0),
        guid.lower() if guid is not None else None,
        extras=tuple(word for word in words if word[:1] not in b"VNG"),
    )


def _parse_entry(line: bytes, version: int, at: int) -> Entry:
    if len(line) > MOST_LINE_BYTES:
        raise CorruptData(f"a line of dovecot-uidlist is longer than {MOST_LINE_BYTES} bytes", at)
    number, _, rest = line.partition(b" ")
    uid = _number(number, LAST_UID, at)
    if version == 1:
        return Entry(uid, _base(rest, at))
    fields, colon, name = rest.partition(b":") if rest.startswith(b":") else rest.partition(b" :")
    if not colon:
        raise CorruptData("a line of dovecot-uidlist names no file", at)
    words = [word for word in fields.split(b" ") if word]
    named = next((word[1:] for word in words if word.startswith(b"G")), None)
    return Entry(uid, _base(name, at), named or None, tuple(word for word in words if not word.startswith(b"G")))


def _base(name: bytes, at: int) -> bytes:
    """The base in a line; Dovecot's oldest lists have letters as well."""
    base = parse_filename(name).base
    if not base or b"/" in base or b"\0" in base:
        raise CorruptData("a line of dovecot-uidlist names no file of this mailbox", at)
    return base


def _number(digits: bytes, most: int, at: int) -> int:
    if not _NUMBER.fullmatch(digits) or not 0 < int(digits) <= most:
        raise CorruptData(f"expected a number from 1 to {most} in dovecot-uidlist, not {digits[:20]!r}", at)
    return int(digits)
