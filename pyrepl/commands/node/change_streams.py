"""STREAMS.*: applications write facts to change streams through the Redis port. Redis has none of these commands.

A fact is one or more rows of JSON that take effect together, under one id. The node is the writer of the facts, under
its stream-name, so two nodes that write to one stream are two writers. Not here: ids and tables (`pyrepl.changes`), and
the thread that waits for a database (`daemon.changes`).
"""

from __future__ import annotations

from typing import Final

from pyrepl.changes.tokens import MAX_ID, why_not_stream
from pyrepl.changes.writer import check_row
from pyrepl.commands.engine.arguments import ranged_integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import FactDeed, WriteFact
from pyrepl.commands.engine.table import NO_MULTI, NOSCRIPT, command
from pyrepl.errors import CommandError

MAX_IDS: Final = 1000
"""How many ids one STREAMS.RESERVE reserves at most."""
_FLAGS: Final = NO_MULTI | NOSCRIPT


@command("STREAMS.RESERVE", arity=-2, flags=_FLAGS, group="stream", since="7.0.0")
def streams_reserve(call: Call, stream: bytes, *count: bytes) -> WriteFact:
    """Reserve the id of a fact, or with COUNT of several; readers get nothing behind it until it is complete"""
    if count and (len(count) != 2 or count[0].upper() != b"COUNT"):
        raise syntax_error()
    number = ranged_integer_argument(count[1], 1, MAX_IDS) if count else 0
    return WriteFact(FactDeed.RESERVE, _stream(stream), number)


@command("STREAMS.COMPLETE", arity=-3, flags=_FLAGS, group="stream", since="7.0.0")
def streams_complete(call: Call, stream: bytes, stream_id: bytes, *rows: bytes) -> WriteFact:
    """Write the rows of a reserved fact, each JSON; the id up to which all of this node's facts are complete now"""
    return WriteFact(FactDeed.COMPLETE, _stream(stream), _id(stream_id), _rows(rows))


@command("STREAMS.ABORT", arity=3, flags=_FLAGS, group="stream", since="7.0.0")
def streams_abort(call: Call, stream: bytes, stream_id: bytes) -> WriteFact:
    """Complete a reserved fact without rows, as it failed; the id up to which all of this node's are complete now"""
    return WriteFact(FactDeed.COMPLETE, _stream(stream), _id(stream_id))


@command("STREAMS.APPEND", arity=-3, flags=_FLAGS, group="stream", since="7.0.0")
def streams_append(call: Call, stream: bytes, *rows: bytes) -> WriteFact:
    """Write a fact of one or more rows, each JSON; its id"""
    return WriteFact(FactDeed.APPEND, _stream(stream), 0, _rows(rows))


@command("STREAMS.POSITION", arity=2, flags=_FLAGS, group="stream", since="7.0.0")
def streams_position(call: Call, stream: bytes) -> WriteFact:
    """How far a stream is: the linear current id, and the current id of each writer"""
    return WriteFact(FactDeed.POSITION, _stream(stream))


@command("STREAMS.LIST", arity=1, flags=_FLAGS, group="stream", since="7.0.0")
def streams_list(call: Call) -> WriteFact:
    """The streams that can be followed at this node"""
    return WriteFact(FactDeed.LIST)


def _stream(word: bytes) -> str:
    """The name of a stream. Raises CommandError for a word that cannot be one."""
    try:
        name = word.decode()
    except UnicodeDecodeError:
        raise CommandError("ERR the name of a stream must be UTF-8") from None
    refusal = why_not_stream(name)
    if refusal is not None:
        raise CommandError(f"ERR bad name of a stream: {refusal}")
    return name


def _id(word: bytes) -> int:
    """The id of a fact, 1..MAX_ID. Raises CommandError."""
    return ranged_integer_argument(word, 1, MAX_ID)


def _rows(rows: tuple[bytes, ...]) -> tuple[str, ...]:
    """The rows of a fact as text. Raises CommandError, which names the row by its number from 1, for a bad one."""
    checked: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            text = row.decode()
            check_row(text)
        except ValueError as error:
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise CommandError(f"ERR row {number} cannot be written: {reason}") from None
        checked.append(text)
    return tuple(checked)
