"""What one end of a connection has to say: lines, and texts behind them that are read when their turn comes.

A text is asked for (TextWanted) when everything before it has gone, and is handed out in pieces (PieceWanted), so no
text is ever held here as a whole. Its line goes out with it, as only then its size is sure. If it is not there any
more, a SAVE goes without it, and the other end FETCHes it; a FETCH is answered NO.

What elections and leases are about overtakes all else (`overtakes`): a lease must not end because much mail is on its
way. Epochs tell what such a line is worth, and not what was said before it.

Not here: sockets, and how much of what was taken has left (the shell says so).
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.errors import PeerError
from pyrepl.frozen import Frozen
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.codec import UNTAGGED, encode
from pyrepl.mailbox.verbs import Command, RootClaim, RootPing
from pyrepl.mailbox.words import Box

PIECE_BYTES: Final = 256 * 1024
"""Of a text, at most, that is asked for at once."""
LOW_WATER_BYTES: Final = 128 * 1024
"""So much is handed to the connection before it has sent what it has."""
LINE_BYTES: Final = 256
"""What a line that waits takes besides its own bytes: many short ones must not take many times what they seem to."""
_QUESTIONS: Final = (RootPing, RootClaim)
_ANSWERS: Final = (Ok, No)

TextOf: TypeAlias = tuple[str, str]
"""(user, GUID) of a message."""


class TextWanted(Frozen):
    """A text's turn has come: answer by `text_is` or `no_text`. `box`: the GUID of the mailbox that the message
    was put into, and may not be in any more; "" if the line does not say."""

    text_of: TextOf
    box: str = ""


class PieceWanted(Frozen):
    """The next `size` bytes of that text: answer by `add_piece`."""

    size: int


Wish: TypeAlias = TextWanted | PieceWanted


class _Item(NamedTuple):
    line: bytes
    """Without a text."""
    tag: str
    command: Command | None
    """Where a text goes along; else it is not needed any more, and much larger than its line."""
    text_of: TextOf | None

    @property
    def cost(self) -> int:
        return len(self.line) + LINE_BYTES


def _put_into(command: Command) -> str:
    box = command.__dict__.get("box")
    return box.text if isinstance(box, Box) and box.is_guid else ""


def overtakes(command: Command) -> bool:
    """Is it a question of elections or leases, or the answer to one?"""
    return isinstance(command, _QUESTIONS) or (isinstance(command, _ANSWERS) and command.epoch is not None)


@final
class Outgoing:
    """The queue of one end.

    Invariants: `waiting_bytes` is what all lines that wait take, each LINE_BYTES more than its size; `_first` has those
    that overtake the others.
    `_left` bytes of the text in front are still to be handed out; nothing else is, meanwhile. At most one wish is not
    answered.
    """

    __slots__ = ("_first", "_items", "_left", "_ready", "_wishes", "_wishing", "waiting_bytes")

    def __init__(self) -> None:
        self._first: list[bytes] = []
        self._items: deque[_Item] = deque()
        self._ready: list[bytes] = []
        self._left = 0
        self._wishing = False
        self._wishes: list[Wish] = []
        self.waiting_bytes = 0

    def add(self, command: Command, tag: str = UNTAGGED, text_of: TextOf | None = None) -> None:
        """One more line, and the message whose text goes along."""
        assert text_of is None or command.HAS_TEXT
        line = encode(command, tag)
        if overtakes(command):
            self._first.append(line)
        else:
            self._items.append(_Item(line, tag, command if text_of is not None else None, text_of))
        self.waiting_bytes += len(line) + LINE_BYTES

    def take(self, room: int) -> list[bytes]:
        """About `room` bytes at most of what can be sent now, in order."""
        out, self._ready = self._ready, []
        if self._first and not self._left:
            self.waiting_bytes -= sum(map(len, self._first)) + LINE_BYTES * len(self._first)
            out += self._first
            self._first = []
        size = sum(map(len, out))
        while self._items and not self._left and size < room:
            item = self._items[0]
            if item.text_of is not None:
                assert item.command is not None
                self._wish(TextWanted(item.text_of, _put_into(item.command)))
                break
            self._pop()
            out.append(item.line)
            size += len(item.line)
        if self._left and size < room:
            self._wish(PieceWanted(min(self._left, PIECE_BYTES)))
        return out

    def wishes(self) -> list[Wish]:
        """What `take` cannot go on without."""
        out, self._wishes = self._wishes, []
        return out

    def text_is(self, size: int) -> None:
        """The text that was wanted is there, and has `size` bytes; if it is to have others, it is another one."""
        command = self._items[0].command
        assert command is not None
        if command.__dict__.get("size") not in (None, size):
            self.no_text(Reason.NOUID)
            return
        item = self._answered_text()
        self._ready.append(b"%b {%d}\n" % (item.line.removesuffix(b"\n"), size))
        self._left = size

    def no_text(self, reason: Reason) -> None:
        """The text that was wanted is not there (NOUID), or cannot be read now (FAILED). A line that is no answer goes
        without it."""
        item = self._answered_text()
        is_answer = isinstance(item.command, Ok)
        self._ready.append(encode(No(reason=reason), item.tag) if is_answer else item.line)

    def add_piece(self, data: bytes) -> None:
        """The next bytes of the text. Raises PeerError for none: half a text cannot be taken back."""
        assert self._wishing and len(data) <= self._left
        if not data:
            raise PeerError("a text became shorter while it was sent")
        self._wishing = False
        self._left -= len(data)
        self._ready.append(data)

    def end_with(self, command: Command | None) -> None:
        """Say nothing more but what waits before the next text, and this behind it; nothing at all within a text."""
        lines = list(takewhile(lambda item: item.text_of is None, self._items)) if not self._left else []
        may_speak = not self._left
        self._items = deque(lines)
        self._first.clear()
        self.waiting_bytes = sum(item.cost for item in lines)
        self._left, self._wishing = 0, False
        self._wishes.clear()
        if command is not None and may_speak:
            self.add(command)

    def _wish(self, wish: Wish) -> None:
        if not self._wishing:
            self._wishing = True
            self._wishes.append(wish)

    def _answered_text(self) -> _Item:
        assert self._wishing and not self._left
        self._wishing = False
        return self._pop()

    def _pop(self) -> _Item:
        item = self._items.popleft()
        self.waiting_bytes -= item.cost
        return item
