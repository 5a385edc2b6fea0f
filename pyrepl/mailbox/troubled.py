"""What an operator has to see to in mailboxes, as it is now: each is told once by a word of the log, and goes on.

Not here: users whose disk refuses, who stand still (the daemon's standing.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from pyrepl.mailbox.node import Node

MOST: Final = 100
"""So many are named."""


def count_troubled(node: Node) -> int:
    """How many mailboxes whose gate could not be moved, or that could not be looked at, when that was tried last, and
    of which messages or flags are not believed; and users whose folders cannot be listed, or are not believed. Of what
    is in memory alone."""
    return sum(1 for _ in _boxes(node)) + sum(1 for _ in _users(node))


def troubled(node: Node) -> list[tuple[str, str]]:
    """The first of them: users, and why, which begins with the word of the log. In a round."""
    found = []
    for guid, why in islice(_boxes(node), MOST):
        box = node.core.rows.box(guid)
        if box is not None:
            word, _, more = why.partition(" ")
            found.append((box.user, f"{word} {box.name}: {more}"))
    return sorted([*found, *islice(_users(node), MOST)])[:MOST]


def _boxes(node: Node) -> Iterator[tuple[str, str]]:
    if node.gates is not None:
        yield from node.gates.troubled()
    for guid in node.core.doubts.boxes():
        yield guid, "flags_differ say MAILBOX ALLOW or MAILBOX DENY"


def _users(node: Node) -> Iterator[tuple[str, str]]:
    return iter(()) if node.folders is None else node.folders.troubled()
