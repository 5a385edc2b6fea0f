"""The manifest: which files make up an append-only file, in which order. Text to record and back.

One line a file, `file <name> seq <n> type <b|h|i>`: the base (at most one), history (files that are not needed any
more, which whoever opens the manifest deletes), and incrs in order. Lines that begin with # are remarks. Keys that a
later version adds (Redis 8: startoffset, endoffset) are skipped. Source: Redis 7.0 `aofLoadManifestFromFile`.
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.errors import CorruptData
from pyrepl.frozen import Frozen

MAX_LINE_BYTES: Final = 1024


class FileType(enum.Enum):
    """What a file is for; the value is the manifest's letter."""

    BASE = "b"
    HISTORY = "h"
    INCR = "i"


@final
class Entry(Frozen):
    """One file, a name without a folder; `seq` >= 1."""

    name: str
    seq: int
    type: FileType


@final
class Manifest(Frozen):
    """The files of an append-only file, in the order in which they are loaded: `base`, then `incrs`."""

    base: Entry | None = None
    incrs: tuple[Entry, ...] = ()
    history: tuple[Entry, ...] = ()

    @property
    def loaded(self) -> tuple[Entry, ...]:
        """The files that a start loads, in order: the base, then the incrs."""
        return self.incrs if self.base is None else (self.base, *self.incrs)

    @property
    def next_base_seq(self) -> int:
        return 1 if self.base is None else self.base.seq + 1

    @property
    def next_incr_seq(self) -> int:
        return max((entry.seq for entry in self.incrs), default=0) + 1


def render(manifest: Manifest) -> bytes:
    """The text, as Redis writes it: base, history, incrs."""
    entries = [*([manifest.base] if manifest.base else []), *manifest.history, *manifest.incrs]
    return "".join(f"file {_quoted(entry.name)} seq {entry.seq} type {entry.type.value}\n" for entry in entries).encode(
        "utf-8", "surrogateescape"
    )


def parse(text: bytes) -> Manifest:
    """Raises CorruptData that names the line and what is wrong with it."""
    if not text:
        raise CorruptData("the AOF manifest is empty", 0)
    base: Entry | None = None
    incrs: list[Entry] = []
    history: list[Entry] = []
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        entry = _parse_line(line, number, offset)
        if entry is None:
            pass
        elif entry.type is FileType.HISTORY:
            history.append(entry)
        elif entry.type is FileType.INCR:
            if incrs and incrs[-1].seq >= entry.seq:
                raise _broken("found a non-monotonic sequence number", number, offset)
            incrs.append(entry)
        elif base is not None:
            raise _broken("found duplicate base file information", number, offset)
        else:
            base = entry
        offset += len(line)
    return Manifest(base, tuple(incrs), tuple(history))


def _parse_line(line: bytes, number: int, offset: int) -> Entry | None:
    if len(line) > MAX_LINE_BYTES or not line.endswith(b"\n"):
        raise _broken("the line is too long or has no end", number, offset)
    if line.startswith(b"#"):
        return None
    words = _split(line.strip().decode("utf-8", "surrogateescape"))
    if words is None or len(words) < 6 or len(words) % 2:
        raise _broken("not `file NAME seq NUMBER type b|h|i`", number, offset)
    fields = dict(zip([word.lower() for word in words[::2]], words[1::2]))
    name, seq, letter = fields.get("file", ""), fields.get("seq", ""), fields.get("type", "")
    if not name or "/" in name or name in (".", ".."):
        raise _broken("the file name is missing or is a path", number, offset)
    if not (seq.isascii() and seq.isdigit()) or int(seq) < 1:
        raise _broken(f"seq is {seq!r}, expected a number from 1 on", number, offset)
    if letter not in ("b", "h", "i"):
        raise _broken(f"type is {letter!r}, expected b, h or i", number, offset)
    return Entry(name, int(seq), FileType(letter))


def _broken(why: str, number: int, offset: int) -> CorruptData:
    return CorruptData(f"the AOF manifest cannot be read, line {number}: {why}", offset)


def _quoted(name: str) -> str:
    """As Redis: a name with blanks or quotes stands between double quotes."""
    if name.isprintable() and not set(name) & set(" \"'\\"):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _split(line: str) -> list[str] | None:
    """Words, some of them between double quotes; None if a quote does not close."""
    words: list[str] = []
    index = 0
    while index < len(line):
        if line[index] == " ":
            index += 1
        elif line[index] == '"':
            word, index = _quoted_word(line, index + 1)
            if index > len(line):
                return None
            words.append(word)
        else:
            end = line.find(" ", index)
            end = len(line) if end < 0 else end
            words.append(line[index:end])
            index = end
    return words


def _quoted_word(line: str, index: int) -> tuple[str, int]:
    """The word up to the closing quote, and the index behind it; an index past the line if there is none."""
    word = ""
    while index < len(line):
        char = line[index]
        if char == '"':
            return word, index + 1
        if char == "\\" and index + 1 < len(line):
            index += 1
            char = line[index]
        word += char
        index += 1
    return word, len(line) + 1
