"""The line protocol's bytes: lines out of pieces, commands out of lines, and commands into bytes.

Not here: the commands themselves (verbs.py). Lines end in LF, a CR before it is dropped; blank lines mean nothing.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.changes.tokens import shown
from pyrepl.changes.verbs import VERBS, LineCommand, Side
from pyrepl.errors import PeerError

DEFAULT_LINE_BYTES: Final = 16 * 1024
"""What a node accepts as one line of a client, its line end not counted."""

_BY_VERB: Final[dict[str, type[LineCommand]]] = {verb.VERB: verb for verb in VERBS}


@final
class LineSplitter:
    """Lines out of bytes that come in pieces of any size.

    Invariant: what is held is the beginning of one line, at most `max_line_bytes` and a CR of it.
    """

    __slots__ = ("_rest", "max_line_bytes")

    def __init__(self, max_line_bytes: int) -> None:
        """`max_line_bytes` is inclusive and counts no line end."""
        assert max_line_bytes > 0
        self.max_line_bytes = max_line_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends; blank ones are left out.

        Raises PeerError, after which nothing may be fed any more, if a line is longer than allowed.
        """
        *complete, rest = data.split(b"\n")
        if complete:
            self._rest += complete[0]
            complete[0] = bytes(self._rest)
            self._rest.clear()
        self._rest += rest
        # A CR that may belong to the line end is not held against the line.
        if len(self._rest) > self.max_line_bytes + 1:
            raise self._too_long()
        return [line for line in map(self._checked, complete) if line]

    def _checked(self, line: bytes) -> bytes:
        line = line.removesuffix(b"\r")
        if len(line) > self.max_line_bytes:
            raise self._too_long()
        return b"" if line.isspace() else line

    def _too_long(self) -> PeerError:
        return PeerError(f"expected lines of at most {self.max_line_bytes} bytes, got a longer one")


def parse_line(line: bytes, sender: Side) -> LineCommand:
    """The command of one line that `sender` sent. Raises PeerError if it is unknown, not the sender's, or malformed."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise PeerError(f"expected UTF-8, got {shown(line[:64].decode('latin-1'))} (byte {error.start})") from None
    verb, _, words = text.strip(" ").partition(" ")
    kind = _BY_VERB.get(verb)
    if kind is None:
        raise PeerError(f"unknown command {shown(verb)}")
    if sender not in kind.SENDERS:
        raise PeerError(f"{verb} is no command of a {sender.value}")
    return kind.parse(words.lstrip(" "))


def render(command: LineCommand) -> bytes:
    """The command as one line, its LF included. Line ends within it, as a text may have, become spaces."""
    words = command.words()
    line = f"{command.VERB} {words}" if words else command.VERB
    return line.replace("\r", " ").replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n"
