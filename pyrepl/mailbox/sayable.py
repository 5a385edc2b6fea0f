"""What other nodes can read of an op that this node is about to make.

A line that they cannot read ends a connection, and it is said again on the next one, as the op is in the journal: so it
would part the nodes for good. What mail programs have put into files, and what mail processes ask, becomes ops; what no
line can say is refused before anything is changed by it.

Not here: what is refused of others' ops (refusals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar, final

from pyrepl.errors import PeerError, PyreplError
from pyrepl.mailbox.codec import LINE_LIMIT
from pyrepl.mailbox.verbs import Command, Op

AnyOp = TypeVar("AnyOp", bound=Op)
MOST_BYTES: Final = LINE_LIMIT - 8 * 1024
"""Of the words of an op: what is left is for what it waits for."""
_NUMBER_BYTES: Final = 512
"""What its number and its modseq take at most, and that it is one of several."""


@final
class UnsayableOp(PyreplError):
    """An op that other nodes could not read: it is not made."""


def why_unsayable(op: Command) -> str | None:
    """Why other nodes could not read the line of an op, or of what else they are told; None if they can. An op without
    a number will get one."""
    try:
        words = op.words()
        op.parse(words)
    except PeerError as error:
        return str(error)
    except UnicodeEncodeError:
        return f"{op.VERB} has a word that is no UTF-8"
    size = len(" ".join(words)) + (_NUMBER_BYTES if isinstance(op, Op) and op.at is None else 0)
    return f"{op.VERB} has a line of {size} bytes, more than {MOST_BYTES}" if size > MOST_BYTES else None


def why_any_unsayable(ops: Iterable[Op]) -> str | None:
    """Why other nodes could not read one of these ops, which are one transaction; None if they can read all."""
    return next((why for op in ops if (why := why_unsayable(op)) is not None), None)


def sayable(ops: Iterable[AnyOp], refused: Callable[[str], None]) -> list[AnyOp]:
    """Those that other nodes can read; `refused` is told why of each other one."""
    found: list[AnyOp] = []
    for op in ops:
        why = why_unsayable(op)
        if why is None:
            found.append(op)
        else:
            refused(why)
    return found
