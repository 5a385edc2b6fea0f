"""Messages, and their flags, in portions that one op, or one command, names.

Not here: how many an op of another may name (refusals.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from pyrepl.mailbox.words import escape

T = TypeVar("T")

MOST_IN_OP: Final = 300
"""Messages that one op names: a line has room for their GUIDs."""
MOST_GUID_BYTES_IN_OP: Final = 32 * 1024
"""Of these GUIDs, as a line has them. They are rarely so long."""
MOST_FLAG_BYTES_IN_OP: Final = 16 * 1024
"""Of the flags that one op names, as a line has them: there is room for them beside the GUIDs."""


def flag_portions(flags: Sequence[str]) -> Iterator[Sequence[str]]:
    """All of a message's flags, in their order, as many in each as one op can name."""
    return portions(flags, MOST_IN_OP, MOST_FLAG_BYTES_IN_OP)


def portions(
    messages: Sequence[T], most: int = MOST_IN_OP, most_bytes: int = MOST_GUID_BYTES_IN_OP
) -> Iterator[Sequence[T]]:
    """All of them, in their order, at most `most` in each, and fewer where their GUIDs are long; none of nothing."""
    first, used = 0, 0
    for place, each in enumerate(messages):
        size = _guid_bytes(each)
        if place - first == most or (place > first and used + size > most_bytes):
            yield messages[first:place]
            first, used = place, 0
        used += size
    if first < len(messages):
        yield messages[first:]


def _guid_bytes(message: object) -> int:
    """Of a message's GUID or row; 0 for a UID."""
    guid = message if isinstance(message, str) else getattr(message, "guid", "")
    return len(escape(guid)) + 1
