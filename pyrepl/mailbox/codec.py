"""The mailbox protocol's bytes: lines and texts out of pieces of any size, and commands into bytes.

Not here: the words of a command (verbs.py), and what is done about one.

    line = tag SP verb *(SP arg) [SP "{" size "}"] LF

A text of `size` bytes follows a line that ends in `{size}`, and the next line follows the text. Texts are handed on in
the pieces in which they come: nothing here holds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import ANSWERS
from pyrepl.mailbox.verbs import BY_VERB, Command, Side
from pyrepl.mailbox.words import EMPTY

LINE_LIMIT: Final = 64 * 1024
"""Bytes of a line, inclusive, its end not counted (`mailbox-line-limit`)."""
TEXT_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a mail process's text, inclusive (`mailbox-text-limit`)."""
MOST_TEXT: Final = 9_999_999_999
"""Bytes of any text, inclusive: a size has up to ten digits."""
UNTAGGED: Final = "*"
_TAG: Final = re.compile(r"\*|[A-Za-z0-9]{1,16}")
_SIZE: Final = re.compile(r"\{([0-9]{1,10})\}")
_BAD_BYTES: Final = re.compile(rb"[\x00-\x1f\x7f]")


class Line(NamedTuple):
    """A command and its tag. `text_size`: bytes of the text that follows, None if none does."""

    tag: str
    command: Command
    text_size: int | None = None


class Piece(NamedTuple):
    """A part of the text of the line before it, in order; `is_last` closes it. An empty text is one empty piece."""

    data: bytes
    is_last: bool


class BadLine(NamedTuple):
    """A line that is no command. A mail process is answered BAD; a node's connection ends."""

    tag: str
    why: str


Heard: TypeAlias = Line | Piece | BadLine


@final
class Decoder:
    """What one end hears.

    Invariants: what is held is the beginning of one line, at most LINE_LIMIT bytes and a CR; `_left` bytes of a text
    are still to come.
    """

    __slots__ = ("_left", "_rest", "_sender", "line_limit", "text_limit")

    def __init__(self, sender: Side, line_limit: int = LINE_LIMIT, text_limit: int = TEXT_LIMIT) -> None:
        """`sender` is the other end. Both limits are in bytes and inclusive."""
        assert line_limit > 0 and text_limit >= 0
        self._sender: Final = sender
        self._rest = bytearray()
        self._left = 0
        self.line_limit: Final = line_limit
        self.text_limit: Final = text_limit

    def feed(self, data: bytes) -> Iterator[Heard]:
        """What `data` completes, to be taken whole before more is fed.

        Raises PeerError behind what came before, and nothing may be fed any more: a line that is too long, a text that
        is too large, or bytes that are no line, as nobody knows then whether a text follows.
        """
        at = 0
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                yield Piece(piece, self._left == 0)
            else:
                end = data.find(b"\n", at)
                self._hold(data[at : end if end >= 0 else len(data)])
                at = end + 1 if end >= 0 else len(data)
                if end >= 0:
                    yield from self._take_line()

    def _hold(self, piece: bytes) -> None:
        # A CR that may belong to the line end is not held against the line.
        if len(self._rest) + len(piece.removesuffix(b"\r")) > self.line_limit:
            raise PeerError(f"expected lines of at most {self.line_limit} bytes, got a longer one")
        self._rest += piece

    def _take_line(self) -> Iterator[Heard]:
        raw = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        if not raw:
            return
        args, size = _split(raw)
        if size is not None and size > self.text_limit:
            raise PeerError(f"expected texts of at most {self.text_limit} bytes, got one of {size}")
        self._left = size or 0
        yield _read(args, size, self._sender)
        if size == 0:
            yield Piece(b"", True)


def _split(raw: bytes) -> tuple[list[str], int | None]:
    """The words of a line, and the size of the text behind it. PeerError for bytes that are not a line's."""
    bad = _BAD_BYTES.search(raw)
    if bad is not None:
        raise PeerError(f"expected a line without control characters, got byte {raw[bad.start()]} at {bad.start()}")
    try:
        args = raw.decode().split(" ")
    except UnicodeDecodeError as error:
        raise PeerError(f"expected UTF-8, got something else at byte {error.start}") from None
    sized = _SIZE.fullmatch(args[-1])
    if sized is None:
        return args, None
    return args[:-1], int(sized[1])


def _read(args: list[str], size: int | None, sender: Side) -> Line | BadLine:
    tag = args[0] if _TAG.fullmatch(args[0]) else UNTAGGED
    try:
        if tag != args[0] or len(args) < 2:
            raise PeerError(f"expected <tag> <verb>, got {' '.join(args)[:64]!r}")
        return Line(tag, _command(args[1], args[2:], size is not None, sender), size)
    except PeerError as error:
        return BadLine(tag, str(error))


def _command(verb: str, args: list[str], has_text: bool, sender: Side) -> Command:
    kind = BY_VERB.get(verb) or ANSWERS.get(verb)
    if kind is None:
        raise PeerError(f"unknown command {verb[:64]!r}")
    if sender not in kind.SENDERS:
        raise PeerError(f"{verb} is no command of a {sender.value}")
    if has_text and not kind.HAS_TEXT:
        raise PeerError(f"{verb} has no text")
    if "" in args:
        raise PeerError(f"expected one space between words and {EMPTY} for an empty one")
    return kind.parse(args)


def encode(command: Command, tag: str = UNTAGGED, text_size: int | None = None) -> bytes:
    """The line of a command, its LF included; `text_size` announces a text, which the caller writes behind it."""
    assert _TAG.fullmatch(tag) and (text_size is None or command.HAS_TEXT)
    size = [] if text_size is None else [f"{{{text_size}}}"]
    return " ".join([tag, command.VERB, *command.words(), *size]).encode() + b"\n"
