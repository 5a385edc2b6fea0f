"""The file `subscriptions`: the names that a user has subscribed, of mailboxes that need not exist.

    V<TAB>2
    <empty line>
    <parts in modified UTF-7, joined by TAB>

Version 1, before Dovecot 2.2, has no first line; its names are in the layout's own form, with "." or "/" between the
parts. It is read, and written anew as version 2. A TAB, an LF, a CR, a NUL or a byte 1 within a part is escaped by a
byte 1. Names that cannot be read are passed over, as Dovecot passes over them.

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
    found: dict[str, None] = {}
    for parts in _names(data, separator.encode("ascii")):
        try:
            name = "/".join(map(mutf7.decode, parts))
        except CorruptData:
            continue
        if all(parts):
            found[name] = None
    return tuple(found)


def render(names: Iterable[str]) -> bytes:
    """The file, in version 2, in the order given."""
    return _VERSION + b"".join(b"\t".join(_rendered(part) for part in name.split("/")) + b"\n" for name in names)


def _names(data: bytes, separator: bytes) -> Iterator[list[bytes]]:
    """The parts of each name. What stands behind the last LF is a line cut short."""
    lines = data.split(b"\n")[:-1]
    if not data.startswith(b"V\t"):
        yield from (line.split(separator) for line in lines)
        return
    for line in lines[1:]:
        yield [_ESCAPED.sub(_unescaped, part) for part in line.split(b"\t")]


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _UNESCAPES.get(found[1], found[1])


def _rendered(part: str) -> bytes:
    return _TO_ESCAPE.sub(lambda found: b"\x01" + _ESCAPES[found[0]], mutf7.encode(part))
