"""Checks whether packed collections are sound, in plain Python: the form of `compiled.checks` for a pure build.

As there, an element must be written the one way that Redis writes it, so that equal bytes mean equal elements. What is
not sound is not kept packed; what is wrong with it the decoders of `types` say.
"""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.intset import decode_intset
from pyrepl.rdb.packed.listpack import COUNT_UNKNOWN, decode_listpack, encode_listpack
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK

_MOST_CHECKED: Final = 1024
"""A listpack of more elements is not looked through for duplicates here: it is left to the reader."""
_LONGEST_SCORE: Final = 64
"""Text of so many bytes or more is no score."""
_SCORE_BYTES: Final = b"0123456789-+.e"
_INFINITIES: Final = (b"inf", b"-inf")


def is_sound(kind: int, packed: bytes) -> bool:
    """Whether a packed value is what the RDB type `kind` may hold, and written as Redis writes it."""
    # None that does not say how many elements it has is kept, so that the head of what is kept tells the truth.
    declared = int.from_bytes(packed[4:6], "little")
    if kind != SET_INTSET and (declared == COUNT_UNKNOWN or (kind != LIST_QUICKLIST2 and declared > _MOST_CHECKED)):
        return False
    try:
        if kind == SET_INTSET:
            return len(decode_intset(packed)) > 0
        elements = decode_listpack(packed)
    except Malformed:
        return False
    count = len(elements)
    if kind == LIST_QUICKLIST2 or count == 0:
        return count > 0
    if encode_listpack(elements) != packed:
        return False
    if kind == SET_LISTPACK:
        return len(set(elements)) == count
    if count & 1 or len(set(elements[::2])) * 2 != count:
        return False
    return kind == HASH_LISTPACK or _is_ascending(elements)


def _is_ascending(elements: list[bytes]) -> bool:
    """Whether the members of a sorted set stand by (score, member), and all scores are plain numbers."""
    order: list[tuple[float, bytes]] = []
    for member, text in zip(elements[::2], elements[1::2]):
        score = score_of(text)
        if score is None:
            return False
        order.append((score, member))
    return order == sorted(order)


def score_of(text: bytes) -> float | None:
    """The score that an element spells: an integer, or text of digits, sign, point, exponent, or infinity; else
    None."""
    if not 0 < len(text) < _LONGEST_SCORE or (text.strip(_SCORE_BYTES) and text not in _INFINITIES):
        return None
    try:
        return float(text)
    except ValueError:
        return None
