"""Conversations as text: the notation, and nothing of what the two sides do.

    # text                 a comment
    sides: master          only this side is played (replica, master; without this line both)
    c1 R> PING             the replica sends a command on connection 1; "..." are raw bytes, as in a Python string
    c1 M> +PONG            the master sends a line
    c1 M> *2 SELECT 0      the master sends a command of the stream
    c1 R: connect          a connection begins and ends: connect, accept, refuse, close REASON
    @ 1.5                  so many seconds pass
    ! M fork               something happens to a side; sides.py knows what
    = R state=connected    a side's values, by name

`<id1>`, `<id2>`, ... stand for replication ids. What one side says is written right behind what made it say so; after
`@` the replica comes first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrepl.resp.encoder import encode_command
from pyrepl.words import quote_word, split_words

REPLICA, MASTER = "R", "M"
_LINE = re.compile(r"c(\d+) ([RM])([>:]) ?(.*)")
_ID = re.compile(r"<id(\d+)>")
_PLAIN = re.compile(rb"[!#-&(-~]+")


@dataclass(frozen=True)
class Said:
    """A line that one side said: kind `>` for bytes, `:` for the connection itself."""

    connection: int
    side: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"c{self.connection} {self.side}{self.kind} {self.text}".rstrip()


@dataclass(frozen=True)
class Told:
    """Any other line: mark `@`, `!` or `=` with its text; mark `#` for what is only kept."""

    mark: str
    text: str

    def __str__(self) -> str:
        return self.text if self.mark == "#" else f"{self.mark} {self.text}"


Line = Said | Told


def parse(text: str) -> list[Line]:
    """The lines of a conversation. ValueError for one that is none."""
    lines: list[Line] = []
    for raw in text.splitlines():
        said = _LINE.fullmatch(raw)
        if said:
            lines.append(Said(int(said[1]), said[2], said[3], said[4]))
        elif raw[:2] in ("@ ", "! ", "= "):
            lines.append(Told(raw[0], raw[2:].strip()))
        elif not raw or raw.startswith(("#", "sides:")):
            lines.append(Told("#", raw))
        else:
            raise ValueError(f"no line of a conversation: {raw!r}")
    return lines


def render(lines: list[Line]) -> str:
    return "".join(f"{line}\n" for line in lines)


def sides_of(lines: list[Line]) -> list[str]:
    for line in lines:
        if isinstance(line, Told) and line.text.startswith("sides:"):
            return [{"replica": REPLICA, "master": MASTER}[line.text.split()[1]]]
    return [REPLICA, MASTER]


def number_to_id(number: int) -> str:
    return f"{number:x}" * 40


def expand(text: str) -> str:
    """Ids as they are on the wire."""
    return _ID.sub(lambda match: number_to_id(int(match[1])), text)


def shorten(text: str) -> str:
    for number in range(1, 10):
        text = text.replace(number_to_id(number), f"<id{number}>")
    return text


def to_bytes(said: Said) -> bytes:
    """What the line means on the wire."""
    text = expand(said.text)
    if text.startswith('"'):
        words = split_words(text.encode("latin-1"))
        assert words is not None and len(words) == 1, text
        return words[0]
    if said.side == REPLICA or text.startswith("*"):
        words = split_words(text.encode("latin-1"))
        assert words, text
        return encode_command(words if said.side == REPLICA else words[1:])
    return text.encode("latin-1") + b"\r\n"


def raw_text(data: bytes) -> str:
    return shorten(quote_word(data).decode("latin-1"))


def command_text(argv: list[bytes]) -> str:
    words = [word if _PLAIN.fullmatch(word) else quote_word(word) for word in argv]
    return shorten(b" ".join(words).decode("latin-1"))
