"""Where an append-only file stands in a replication stream: the small file beside it, text to record and back.

Theory. What we append is the stream itself, byte for byte, and what is aside says how long it is (own_block.py). So one
pair (byte `at` of a file, cut `offset` of stream `replid`) places every later byte: a file whose last whole unit ends
at byte e, with s bytes aside behind `at`, holds the stream up to `offset + e - at - s`, however it was cut. This is
exact as long as nobody else appends. Redis does, when it is started on our folder, so the place file stands in the
manifest as history: Redis deletes such files when it opens a manifest, and what it leaves has no place. Neither Redis
nor Valkey keeps one (Redis 8 notes offsets of its own in the manifest).

    replid <40 hex> offset <cut> file <name of the incr> at <byte>
"""

from __future__ import annotations

import re
from typing import Final, final

from pyrepl.frozen import Frozen

_LINE: Final = re.compile(rb"replid ([0-9a-f]{40}) offset ([0-9]{1,19}) file ([^\n]+) at ([0-9]{1,19})\n")


@final
class Place(Frozen):
    """Byte `at` of `file` is the cut `offset` of the stream `replid`, and the stream goes on from there."""

    replid: str
    offset: int
    file: str
    at: int

    def cut_at(self, byte: int) -> int | None:
        """The cut of the stream at `byte` of the file, if nothing between is aside; None left of the place, of which
        nothing is known."""
        return self.offset + byte - self.at if byte >= self.at else None


def render(place: Place) -> bytes:
    return f"replid {place.replid} offset {place.offset} file {place.file} at {place.at}\n".encode(
        "utf-8", "surrogateescape"
    )


def parse(text: bytes) -> Place | None:
    """None for anything that is not exactly one place: then there is none."""
    found = _LINE.fullmatch(text)
    if found is None:
        return None
    replid, offset, file, at = found.groups()
    return Place(replid.decode(), int(offset), file.decode("utf-8", "surrogateescape"), int(at))
