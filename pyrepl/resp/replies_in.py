"""Replies from bytes: what a server answers, RESP2 and RESP3, in any pieces, for our own clients.

Requests are parser.py's, encoding is encoder.py's, the kinds of reply reply.py's: what encode_reply writes is read back
here, except that a set comes as a list (its members may be lists) and a push as a Push among the replies.

The machine: `_open` are the aggregates that lack items, the outermost first; an item goes into the innermost, and an
aggregate that has all of its items is itself an item. A reply is given out when `_open` is empty. Each byte is looked
at once, whatever the pieces. Rule: the RESP3 specification; streamed aggregates (`$?`, `*?`) no server sends, and they
are refused.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import CommandError, PeerError
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.reply import NULL_ARRAY, Push, Reply, Simple, Verbatim

MOST_DEPTH: Final = 64
"""Aggregates within each other, inclusive; servers nest a handful."""
LONGEST_LINE: Final = 64 * 1024
"""Bytes of a header, a status or an error, inclusive."""

_AGGREGATES: Final = b"*~>%|"
_BULKS: Final = b"$=!"


@final
class _Open:
    """An aggregate whose items are still coming. Invariant: left > 0 while it is on the stack."""

    __slots__ = ("items", "left", "mark")

    def __init__(self, mark: int, left: int) -> None:
        self.mark: Final = mark
        self.left = left
        self.items: list[Reply] = []


@final
class ReplyParser:
    """One connection's replies.

    Invariants: `_data[_at:]` is what was not understood yet, less than one item of it; `_size` is the length of the
    bulk string whose header was read, or None.
    """

    __slots__ = ("_at", "_data", "_mark", "_most_bytes", "_open", "_ready", "_size", "_taken")

    def __init__(self, most_bytes: int = 64 * 1024 * 1024) -> None:
        """`most_bytes` bounds one whole reply, inclusive: a peer must not fill our memory."""
        self._most_bytes: Final = most_bytes
        self._data = bytearray()
        self._at = 0
        self._taken = 0
        """Bytes of the present reply before `_at`."""
        self._mark = 0
        self._size: int | None = None
        self._open: list[_Open] = []
        self._ready: list[Reply] = []

    @property
    def is_idle(self) -> bool:
        """Is there no reply of which only a part has come?"""
        return not self._taken and self._at == len(self._data)

    def feed(self, data: bytes) -> list[Reply]:
        """The replies that are whole now, in order; an error reply is a CommandError among them, not raised.

        Raises PeerError for what is no RESP, or larger than allowed; the parser is then of no more use.
        """
        self._data += data
        while self._step():
            pass
        del self._data[: self._at]
        self._at = 0
        if self._taken + len(self._data) > self._most_bytes:
            raise PeerError(f"a reply is longer than {self._most_bytes} bytes")
        ready, self._ready = self._ready, []
        return ready

    def _step(self) -> bool:
        """Decode one header or one bulk string; False when more bytes are needed. Raises PeerError."""
        return self._take_line() if self._size is None else self._take_bulk(self._size)

    def _take_line(self) -> bool:
        end = self._data.find(b"\r\n", self._at)
        if (end if end >= 0 else len(self._data)) - self._at > LONGEST_LINE:
            raise PeerError(f"a line of a reply is longer than {LONGEST_LINE} bytes")
        if end < 0:
            return False
        line = bytes(self._data[self._at : end])
        if not line:
            raise PeerError("expected a reply, got an empty line")
        self._advance(end + 2)
        mark, rest = line[0], line[1:]
        if mark in _AGGREGATES:
            self._begin_aggregate(mark, rest)
        elif mark in _BULKS:
            self._begin_bulk(mark, rest)
        else:
            self._put(_scalar(mark, rest))
        return True

    def _take_bulk(self, size: int) -> bool:
        end = self._at + size
        if len(self._data) < end + 2:
            return False
        if self._data[end : end + 2] != b"\r\n":
            raise PeerError(f"a string of {size} bytes in a reply does not end with CRLF")
        content = bytes(self._data[self._at : end])
        self._advance(end + 2)
        self._size = None
        self._put(_bulk(self._mark, content))
        return True

    def _advance(self, to: int) -> None:
        assert to > self._at
        self._taken += to - self._at
        self._at = to

    def _begin_bulk(self, mark: int, rest: bytes) -> None:
        size = _count(mark, rest)
        if size < 0:
            self._put(None)
            return
        if size > self._most_bytes:
            raise PeerError(f"a string of {size} bytes in a reply, more than {self._most_bytes}")
        self._mark, self._size = mark, size

    def _begin_aggregate(self, mark: int, rest: bytes) -> None:
        count = _count(mark, rest)
        if count < 0:
            self._put(NULL_ARRAY)
        elif count > self._most_bytes:
            raise PeerError(f"{count} items in a reply, more than can be true")
        elif count == 0:
            self._close(_Open(mark, 0))
        elif len(self._open) >= MOST_DEPTH:
            raise PeerError(f"a reply nests more than {MOST_DEPTH} deep")
        else:
            self._open.append(_Open(mark, count * 2 if mark in b"%|" else count))

    def _put(self, item: Reply) -> None:
        """An item is complete: put it into the innermost open aggregate; without one it is a reply."""
        while self._open:
            inner = self._open[-1]
            inner.items.append(item)
            inner.left -= 1
            if inner.left:
                return
            self._open.pop()
            if inner.mark == 0x7C:
                # Attributes (|) are remarks on the item that follows them, not an item.
                return
            item = _aggregate(inner)
        self._ready.append(item)
        self._taken = 0

    def _close(self, empty: _Open) -> None:
        if empty.mark != 0x7C:
            self._put(_aggregate(empty))


def _count(mark: int, rest: bytes) -> int:
    number = parse_integer(rest)
    if number is None or number < -1:
        raise PeerError(f"expected a length behind {chr(mark)!r} in a reply, got {rest[:40]!r}")
    return number


def _scalar(mark: int, rest: bytes) -> Reply:
    """The value of a reply that is one line, such as `+OK` or `:5`. Raises PeerError."""
    kind = chr(mark)
    if kind == "+":
        return Simple(rest) if b"\n" not in rest and b"\r" not in rest else rest
    if kind == "-":
        return CommandError(rest.decode("utf-8", "backslashreplace"))
    if kind == "_" and not rest:
        return None
    if kind == "#" and rest in (b"t", b"f"):
        return rest == b"t"
    try:
        if kind in ":(":
            return int(rest)
        if kind == ",":
            return float(rest)
    except ValueError:
        pass
    raise PeerError(f"expected a reply, got {(bytes((mark,)) + rest)[:40]!r}")


def _bulk(mark: int, content: bytes) -> Reply:
    if mark == 0x24:
        return content
    if mark == 0x21:
        return CommandError(content.decode("utf-8", "backslashreplace"))
    if content[3:4] != b":":
        raise PeerError(f"expected a format such as txt: before a verbatim string, got {content[:40]!r}")
    return Verbatim(content[4:], content[:3])


def _aggregate(whole: _Open) -> Reply:
    if whole.mark == 0x3E:
        return Push(whole.items)
    if whole.mark != 0x25:
        return whole.items
    try:
        return dict(zip(whole.items[::2], whole.items[1::2], strict=True))
    except TypeError:
        raise PeerError("a map in a reply has a key that is no plain value") from None
