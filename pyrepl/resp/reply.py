"""What a command answers: the kinds of reply that Python's own types cannot express.

A Reply is one of

| Python | RESP2 | RESP3 |
|---|---|---|
| int | `:n` | the same |
| bytes | bulk string | the same |
| None | `$-1` | `_` |
| NULL_ARRAY | `*-1` | `_` |
| list, tuple | array | the same |
| dict | flat array | map |
| set, frozenset | array | set |
| float | bulk string | double |
| bool | `:1`, `:0` | `#t`, `#f` |
| Simple | `+text` | the same |
| Verbatim | bulk string | verbatim string |
| Push | array | push |
| Raw | its bytes as they are | the same |
| CommandError | `-text` | the same |
| NO_REPLY | nothing | nothing |

The encoding is in encoder.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias, final

from pyrepl.errors import CommandError


@final
class Simple:
    """A status line such as OK. `encoded` is the whole wire form; the text must not contain CR or LF."""

    __slots__ = ("encoded", "text")

    def __init__(self, text: bytes) -> None:
        assert b"\r" not in text and b"\n" not in text
        self.text: Final = text
        self.encoded: Final = b"+" + text + b"\r\n"

    def __repr__(self) -> str:
        return f"Simple({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simple) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


@final
class Verbatim:
    """Text for people, with its format: `txt` or `mkd`, always three bytes (INFO, CLIENT LIST)."""

    __slots__ = ("format", "text")

    def __init__(self, text: bytes, format: bytes = b"txt") -> None:
        assert len(format) == 3
        self.text: Final = text
        self.format: Final = format

    def __repr__(self) -> str:
        return f"Verbatim({self.text!r}, {self.format!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verbatim) and other.text == self.text and other.format == self.format

    def __hash__(self) -> int:
        return hash((self.text, self.format))


@final
class Push:
    """An out-of-band message (pub/sub): RESP3's push type, an array for RESP2."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Reply]) -> None:
        self.items: Final = items

    def __repr__(self) -> str:
        return f"Push({self.items!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Push) and list(other.items) == list(self.items)

    __hash__ = None  # type: ignore[assignment]


@final
class Raw:
    """One whole reply that is already encoded for the protocol version of its reader.

    `is_heard`: CLIENT REPLY OFF and SKIP do not silence it.
    """

    __slots__ = ("encoded", "is_heard")

    def __init__(self, encoded: bytes, *, is_heard: bool = False) -> None:
        self.encoded: Final = encoded
        self.is_heard: Final = is_heard

    def __repr__(self) -> str:
        return f"Raw({self.encoded!r})"


@final
class NullArray:
    """The absent array (EXEC after a failed WATCH); use the one instance NULL_ARRAY."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NULL_ARRAY"


@final
class NoReply:
    """Nothing is sent (CLIENT REPLY OFF, REPLCONF ACK); use the one instance NO_REPLY."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_REPLY"


NULL_ARRAY: Final = NullArray()
NO_REPLY: Final = NoReply()
OK: Final = Simple(b"OK")
QUEUED: Final = Simple(b"QUEUED")
PONG: Final = Simple(b"PONG")

Reply: TypeAlias = (
    int
    | bytes
    | float
    | Sequence["Reply"]
    | Mapping["Reply", "Reply"]
    | AbstractSet["Reply"]
    | Simple
    | Verbatim
    | Push
    | Raw
    | NullArray
    | NoReply
    | CommandError
    | None
)
"""Everything encode_reply accepts; bool is an int to the type checker and not to the encoder."""
