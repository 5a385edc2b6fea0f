"""Messages in portions that one op, or one command, names.

Not here: how many an op of another may name (refusals.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

MOST_IN_OP: Final = 300
"""Messages that one op names: a line has room for their GUIDs."""


def portions(messages: Sequence[T], most: int = MOST_IN_OP) -> Iterator[Sequence[T]]:
    """All of them, in their order, at most `most` in each; none of nothing."""
    return (messages[at : at + most] for at in range(0, len(messages), most))
