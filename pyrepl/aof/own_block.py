"""Lines of an append-only file that are no commands, and what stands in the file but not in the stream.

| line | what |
|---|---|
| `#TS:<Unix seconds>` | when the commands behind it were written (aof-timestamp-enabled), as Redis writes it |
| `#OWN:<bytes>` | so many bytes behind it are what clients wrote to a writable replica |

Redis and Valkey pass over lines that begin with `#` (since 7.0), and execute the commands of an own block like all
others. A line and an own block are aside: they do not count where a byte of the file stands for a cut of the stream.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, final

OWN: Final = re.compile(rb"#OWN:([0-9]{1,18})")
_MOST_SPANS: Final = 1024
"""So many of the last spans are known one by one."""


def timestamp(unix_s: int) -> bytes:
    """The line that says when the commands behind it were written."""
    return b"#TS:%d\r\n" % unix_s


def own_block(commands: bytes) -> bytes:
    """What clients wrote, as it stands in the file."""
    return b"#OWN:%d\r\n%b" % (len(commands), commands)


@final
class Aside:
    """What a file has aside, from byte `since` on.

    Invariant: `spans` are the last [start, end) that are aside, in order; from byte `known_from` on there are no
    others.
    """

    __slots__ = ("known_from", "since", "size", "spans")

    def __init__(self, since: int = 0) -> None:
        self.since = since
        self.known_from = since
        self.size = 0
        """How many bytes are aside, in all spans since `since`."""
        self.spans: deque[tuple[int, int]] = deque()

    def add(self, start: int, end: int) -> None:
        """The bytes [start, end) are aside; no effect left of `since`."""
        if start < self.since:
            return
        self.size += end - start
        self.spans.append((start, end))
        if len(self.spans) > _MOST_SPANS:
            self.known_from = self.spans.popleft()[1]

    def without(self, data: bytes, start: int) -> bytes:
        """The bytes of `data` that are not aside. `data` begins at byte `start` of the file, which is not left of
        `known_from` and not inside a span."""
        pieces: list[bytes] = []
        at = start
        for begin, end in self.spans:
            if begin >= start:
                pieces.append(data[at - start : begin - start])
                at = end
        pieces.append(data[at - start :])
        return b"".join(pieces)
