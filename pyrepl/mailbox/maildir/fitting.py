"""A name that a node's layout cannot store, as of a mailbox that was made on a node with another layout: what the
mailbox is called on this node's disk instead.

The name stays what it is for all nodes: only the folder here, and what a Dovecot shows of it, is called otherwise.

| name | layout | folder is that of |
|---|---|---|
| `v1.2` | Maildir++ | `v1_2 (0badcafe)` |
| `cur/Sub` | fs | `_cur/Sub (0badcafe)` |
| one that is too long | both | its beginning, and ` (0badcafe)` |

What stands behind is the beginning of the mailbox's GUID, so that no two get one name. Not here: who refuses such a
name of those who can be answered (pyrepl.mailbox.mail_side).
"""

from __future__ import annotations

from typing import Final

from pyrepl.mailbox.maildir.layout import MOST_PARTS, Layout, normal, why_unsafe

_SHOWN_OF_GUID: Final = 8


def mark(guid: str) -> str:
    """What stands behind the name of a mailbox that cannot have its own."""
    return f" ({guid[:_SHOWN_OF_GUID]})"


def fitted(layout: Layout, name: str, guid: str) -> str:
    """The name under which the layout stores this mailbox: its own if that can be, always the same one otherwise. One
    that would lead out of the user's folder stays as it is, and is refused by whoever stores it."""
    if layout.why_not(name) is None or why_unsafe(name) is not None:
        return name
    parts = [layout.tamed(part) for part in name.removesuffix(mark(guid)).split("/")]
    if len(parts) > MOST_PARTS:
        parts[MOST_PARTS - 1 :] = ["_".join(parts[MOST_PARTS - 1 :])]
    while layout.why_not(found := normal("/".join(parts) + mark(guid))) is not None:
        _shorten(parts)
    return found


def _shorten(parts: list[str]) -> None:
    """By one character of the longest part; a part that has no more goes."""
    longest = max(range(len(parts)), key=lambda place: len(parts[place]))
    if len(parts[longest]) > 1:
        parts[longest] = parts[longest][:-1]
    else:
        parts.pop()
