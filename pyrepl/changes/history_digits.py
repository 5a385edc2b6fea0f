"""Tokens that name their history: the replication offset, and behind it five digits that stand for the replid.

    5174 12480       as a token 517412480: offset 5174 of the history whose digits are 12480

Pure. An offset alone means nothing on another history: a node that began anew counts from 0 again, and whoever came
back with a number of before would be given the rows behind that number and miss those up to it. A subscriber may hold a
number and nothing else, so the number says of which history it is.

Offsets count on through a promotion, so tokens ascend through it too, whatever the digits of the two histories are;
only at the fork itself has one offset two tokens. Two histories share their digits once in 100,000 times: a subscriber
that can keep the replid gives it too, and is sure. A token fits into 64 bits until its stream is 92 TB long.

A token of 0 is no history's: it means "from the beginning".
"""

from __future__ import annotations

import zlib
from typing import Final

_COUNT: Final = 5
_SCALE: Final = 10**_COUNT


def digits_of(replid: str) -> str:
    """The digits of a history, whatever the case of its replid; of a node's own stream, those of its name."""
    return f"{zlib.crc32(replid.lower().encode()) % _SCALE:0{_COUNT}d}"


def token_at(offset: int, digits: str) -> int:
    """The token of an offset."""
    return offset * _SCALE + int(digits)


def split_token(token: int) -> tuple[int, str]:
    """(offset, digits) of a token."""
    offset, number = divmod(token, _SCALE)
    return offset, f"{number:0{_COUNT}d}"
