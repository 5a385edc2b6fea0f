"""The kinds of words: how a field of a command is read from the wire and written to it, by the name of its type.

Not here: the fields themselves (verbs.py) and the grammar of a word (words.py).

A command declares a field as `uid: Uid`; the name `Uid` is looked up in KINDS. So a field is written down once, and
mypy, the reader and the writer all follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from pyrepl.mailbox import words
from pyrepl.mailbox.words import LAST_MODSEQ, LAST_UID, escape, join_list, listed, numbers, unescape

User: TypeAlias = str
Node: TypeAlias = str
Guid: TypeAlias = str
BoxGuid: TypeAlias = str
Text: TypeAlias = str
Flags: TypeAlias = tuple[str, ...]
Guids: TypeAlias = tuple[str, ...]
Dots: TypeAlias = tuple[words.Dot, ...]
Sums: TypeAlias = tuple[int, ...]
Uid: TypeAlias = int
UidOrNone: TypeAlias = int
"""0 stands for `*`: the node, or the mailbox's master, gives one."""
UidNext: TypeAlias = int
Modseq: TypeAlias = int
Count: TypeAlias = int
Epoch: TypeAlias = int
UidValidity: TypeAlias = int
Seconds: TypeAlias = int
Milliseconds: TypeAlias = int
Yes: TypeAlias = bool

ANY_UID: Final = 0
MOST_COUNT: Final = 2**53


class Kind(NamedTuple):
    """`parse` raises PeerError; `render` is its inverse."""

    parse: Callable[[str], Any]
    render: Callable[[Any], str]


def _parse_uid_or_none(word: str) -> int:
    return ANY_UID if word == "*" else words.number(word, 1, LAST_UID, "a UID")


def _parse_yes(word: str) -> bool:
    return words.number(word, 0, 1, "a number") == 1


def _render_yes(value: bool) -> str:
    return "1" if value else "0"


def _list_of(parse: Callable[[str], Any], render: Callable[[Any], str]) -> Kind:
    return Kind(listed(parse), lambda items: join_list(map(render, items)))


_COUNT: Final = Kind(numbers(0, MOST_COUNT, "a number"), str)

KINDS: Final[dict[str, Kind]] = {
    "User": Kind(words.parse_user, escape),
    "Box": Kind(words.parse_box, words.render_box),
    "BoxGuid": Kind(words.parse_box_guid, str),
    "Node": Kind(words.parse_origin, str),
    "Guid": Kind(words.parse_guid, escape),
    "Guids": _list_of(words.parse_guid, escape),
    "Text": Kind(unescape, escape),
    "Flags": Kind(words.parse_flags, words.render_flags),
    "Registers": _list_of(words.parse_register, words.render_register),
    "Uid": Kind(numbers(1, LAST_UID, "a UID"), str),
    "UidOrNone": Kind(_parse_uid_or_none, lambda uid: str(uid or "*")),
    "UidNext": Kind(numbers(1, LAST_UID + 1, "a UID"), str),
    "Uids": Kind(words.parse_uids, words.render_uids),
    "Modseq": Kind(numbers(0, LAST_MODSEQ, "a modseq"), str),
    "Dot": Kind(words.parse_dot, words.render_dot),
    "Dots": _list_of(words.parse_dot, words.render_dot),
    "Vector": Kind(words.parse_vector, lambda vector: join_list(map(words.render_dot, vector))),
    "Token": Kind(words.parse_token, words.render_token),
    "Stamp": Kind(words.parse_stamp, words.render_stamp),
    "Sums": _list_of(words.parse_sum, lambda crc: f"{crc:08x}"),
    "UidValidity": Kind(numbers(1, 2**32 - 1, "a UIDVALIDITY"), str),
    "Count": _COUNT,
    "Epoch": _COUNT,
    "Seconds": _COUNT,
    "Milliseconds": _COUNT,
    "Yes": Kind(_parse_yes, _render_yes),
}
"""The name of a type -> how its values are read and written."""
