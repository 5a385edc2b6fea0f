"""Values of rows as columns of the database, and back. What the protocol has a word for is kept as that word.

Numbers and texts are columns as they are. Checksums are four bytes each, since a large message has many.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Final

from pyrepl.errors import PeerError
from pyrepl.mailbox.kinds import KINDS
from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MendMessage,
    MoveMessage,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.verbs import BY_VERB, Op
from pyrepl.mailbox.words import Dot, Registers, Stamp, Token, parse_stamp, parse_token, render_stamp, render_token

_WORKS: Final[dict[str, type[Work]]] = {
    kind.__name__: kind
    for kind in (
        *(MakeBox, RenameBox, RemoveBox, SubscribeBox),
        *(RaiseNext, AddMessage, SetFlags, MoveMessage, MendMessage, RemoveMessage),
    )
}
NO_STAMP = ""
"""The column of the stamp of what was never written: it has no node, so the protocol has no word for it."""


def stamp_column(stamp: Stamp) -> str:
    return render_stamp(stamp) if stamp.node else NO_STAMP


def stamp_of(column: str) -> Stamp:
    return parse_stamp(column) if column != NO_STAMP else Stamp(0, "")


def token_column(token: Token) -> str:
    return render_token(token)


def token_of(column: str) -> Token:
    return parse_token(column)


def dots_column(dots: tuple[Dot, ...]) -> str:
    return KINDS["Dots"].render(dots)


def dots_of(column: str) -> tuple[Dot, ...]:
    found: tuple[Dot, ...] = KINDS["Dots"].parse(column)
    return found


def flags_column(flags: Registers) -> str:
    return KINDS["Registers"].render(flags)


def flags_of(column: str) -> Registers:
    found: Registers = KINDS["Registers"].parse(column)
    return found


def sums_column(sums: tuple[int, ...]) -> bytes:
    return struct.pack(f">{len(sums)}I", *sums)


def sums_of(column: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(column) // 4}I", column)


def op_column(op: Op) -> str:
    """The op as its line, without tag and text."""
    return " ".join([op.VERB, *op.words()])


def op_of(column: str) -> Op:
    """Raises PeerError for a line that is no op."""
    verb, *words = column.split(" ")
    kind = BY_VERB.get(verb)
    if kind is None or not issubclass(kind, Op):
        raise PeerError(f"expected an op in the journal, got {verb[:64]!r}")
    op = kind.parse(words)
    assert isinstance(op, Op)
    return op


def work_column(work: Work) -> str:
    """A work as a JSON array: its kind, and its fields in their order."""
    return json.dumps([type(work).__name__, *(work.__dict__[name] for name in work.FIELDS)])


def work_of(column: str) -> Work:
    kind, *fields = json.loads(column)
    values: dict[str, Any] = dict(
        zip(_WORKS[kind].FIELDS, (tuple(field) if isinstance(field, list) else field for field in fields))
    )
    if values.get("at") is not None:
        values["at"] = Dot(*values["at"])
    return _WORKS[kind](**values)
