"""What an IMAP server says: words, texts and lists out of the bytes of one answer.

    answer = line *(literal line)   word = atom / "text" / literal / (word ...) / NIL

Source: RFC 3501, 9. More is taken than stands there: an atom ends at a space, a quotation mark or a parenthesis, so a
keyword may have a `[`, as Dovecot's may.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias, Union

from pyrepl.observability.event import one_line

Word: TypeAlias = Union[bytes, "Words", None]
"""An atom or a text; None for NIL; a list."""
Words: TypeAlias = tuple[Word, ...]

MOST_SHOWN: Final = 300
"""Characters of an error."""
MOST_DEPTH: Final = 8
"""Lists within lists, inclusive."""
_WORD: Final = re.compile(rb' +|(\()|(\))|"((?:[^"\\]|\\.)*)"|([^\x00-\x20"()\x7f]+)')
_OPEN, _CLOSE, _TEXT, _ATOM = 1, 2, 3, 4
_ESCAPED: Final = re.compile(rb"\\(.)")
_LITERAL: Final = re.compile(rb"\{([0-9]{1,10})\}$")
_STATUS: Final = re.compile(rb"\* (OK|NO|BAD|BYE|PREAUTH)\b", re.IGNORECASE)


class ImapError(Exception):
    """A server says what no server should, or refuses; the text is for people, one line, and as long as one can be
    read: the server chooses parts of it."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text[:MOST_SHOWN]))


def literal_size(line: bytes) -> int | None:
    """Bytes of the literal that follows this line, which is without its end; None if none follows."""
    found = _LITERAL.search(line)
    return None if found is None else int(found[1])


def words_of(pieces: Sequence[bytes]) -> Words:
    """The words of an answer without a tag, the star left out: of its lines, without their ends, and of the literals
    between them. Of one that tells of success or failure, which goes on with a text for people, the first. Raises
    ImapError."""
    status = _STATUS.match(pieces[0])
    if status is not None:
        return (status[1].upper(),)
    lists: list[list[Word]] = [[]]
    for place, piece in enumerate(pieces):
        if place % 2:
            lists[-1].append(piece)
        else:
            _read_line(piece if place + 1 == len(pieces) else _LITERAL.sub(b"", piece), lists)
    if len(lists) > 1:
        raise ImapError("expected the end of a list, got the end of an answer")
    return tuple(lists[0][1:])


def _read_line(line: bytes, lists: list[list[Word]]) -> None:
    """Put the words of a line into the innermost of the lists that are open."""
    at = 0
    while at < len(line):
        found = _WORD.match(line, at)
        if found is None or (found.lastindex == _CLOSE and len(lists) == 1):
            raise ImapError(f"expected a word at byte {at} of an answer, got {line[at : at + 40]!r}")
        at = found.end()
        if found.lastindex == _OPEN:
            if len(lists) > MOST_DEPTH:
                raise ImapError(f"expected at most {MOST_DEPTH} lists in each other")
            lists.append([])
        elif found.lastindex == _CLOSE:
            closed = tuple(lists.pop())
            lists[-1].append(closed)
        elif found.lastindex == _TEXT:
            lists[-1].append(_ESCAPED.sub(rb"\1", found[_TEXT]))
        elif found.lastindex == _ATOM:
            lists[-1].append(None if found[_ATOM].upper() == b"NIL" else found[_ATOM])
