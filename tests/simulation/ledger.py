"""What every stream ever was, by its names: the truth that nodes are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Stream:
    """Bytes from the cut `base` on, written under one name; what lies before belongs to `parent`."""

    base: int
    parent: str | None
    data: bytearray = field(default_factory=bytearray)


class Ledger:
    """All streams. Only masters write."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def begin(self, replid: str, base: int, parent: str | None) -> None:
        """A master names its stream from the cut `base` on. A known name is left alone."""
        self._streams.setdefault(replid, Stream(base, parent))

    def write(self, replid: str, at: int, data: bytes) -> None:
        stream = self._streams[replid]
        assert at == stream.base + len(stream.data), (
            f"{replid[:8]} goes on at {stream.base + len(stream.data)}, not {at}"
        )
        stream.data += data

    def bytes_of(self, replid: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of a stream, across its forks."""
        stream = self._streams[replid]
        out = b""
        if start < stream.base:
            assert stream.parent is not None, f"{replid[:8]} begins at {stream.base}, asked from {start}"
            out = self.bytes_of(stream.parent, start, min(end, stream.base))
        return out + bytes(stream.data[max(start, stream.base) - stream.base : max(0, end - stream.base)])

    def knows(self, replid: str) -> bool:
        return replid in self._streams

    def name_at(self, replid: str, cut: int) -> str:
        """Under which name the byte left of `cut` was written, for one who calls its stream `replid`."""
        stream = self._streams.get(replid)
        while stream is not None and cut <= stream.base and stream.parent is not None:
            replid, stream = stream.parent, self._streams.get(stream.parent)
        return replid

    def agree_up_to(self, replid: str, other: str) -> float:
        """The cut up to which two streams are the same bytes: 0 if nowhere, infinite if they are one."""
        cuts = dict(self._line(replid))
        for name, cut in self._line(other):
            if name in cuts:
                return min(cut, cuts[name])
        return 0

    def _line(self, replid: str) -> Iterator[tuple[str, float]]:
        """A stream and those it forked from, each with the cut up to which its bytes are the stream's."""
        cut = float("inf")
        yield replid, cut
        while (stream := self._streams.get(replid)) is not None and stream.parent is not None:
            cut, replid = min(cut, stream.base), stream.parent
            yield replid, cut
