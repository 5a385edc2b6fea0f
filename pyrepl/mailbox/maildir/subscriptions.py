"""The file `subscriptions`: the names that a user has subscribed, of mailboxes that need not exist.

    V<TAB>2
    <empty line>
    <parts in modified UTF-7, joined by TAB>

Version 1, before Dovecot 2.2, has no first line; its names are in the layout's own form, with "." or "/" between the
parts. It is read, and written anew as version 2. A TAB, an LF, a CR, a NUL or a byte 1 within a part is escaped by a
byte 1. Names that cannot be read are passed over, as Dovecot passes over them, and stay in the file.

Source: Dovecot 2.3, subscription-file.c and strescape.c, and the files it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import mutf7

_VERSION: Final = b"V\t2\n\n"
_ESCAPED: Final = re.compile(rb"\x01(.?)", re.DOTALL)
_TO_ESCAPE: Final = re.compile(rb"[\0\x01\t\r\n]")
_ESCAPES: Final = {b"\0": b"0", b"\x01": b"1", b"\t": b"t", b"\r": b"r", b"\n": b"n"}
_UNESCAPES: Final = {letter: byte for byte, letter in _ESCAPES.items()}


def parse(data: bytes, separator: str) -> tuple[str, ...]:
    """The names, parts joined by "/", each once, in the file's order; `separator` is that of version 1's names."""
    found = (_name(parts) for _, parts in _lines(data, separator.encode("ascii")))
    return tuple(dict.fromkeys(name for name in found if name is not None))


def changed(data: bytes, separator: str, name: str, is_subscribed: bool) -> bytes:
    """The file in version 2, with a name more, or without it. All else is there as it was, be it a name that cannot be
    read."""
    lines = {line: None for line, parts in _lines(data, separator.encode("ascii")) if _name(parts) != name}
    if is_subscribed:
        lines[_line(map(mutf7.encode, name.split("/")))] = None
    return _VERSION + b"".join(line + b"\n" for line in lines)


def _name(parts: list[bytes]) -> str | None:
    """None if it cannot be read."""
    try:
        return "/".join(map(mutf7.decode, parts)) if all(parts) else None
    except CorruptData:
        return None


def _lines(data: bytes, separator: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Each line, as version 2 has it, and the parts of its name. What stands behind the last LF is a line cut short."""
    lines = data.split(b"\n")[:-1]
    if data.startswith(b"V\t"):
        yield from (
            (line, [_ESCAPED.sub(_unescaped, part) for part in line.split(b"\t")]) for line in lines[1:] if line
        )
    else:
        yield from ((_line(line.split(separator)), line.split(separator)) for line in lines if line)


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _UNESCAPES.get(found[1], found[1])


def _line(parts: Iterable[bytes]) -> bytes:
    return b"\t".join(_TO_ESCAPE.sub(lambda found: b"\x01" + _ESCAPES[found[0]], part) for part in parts)
