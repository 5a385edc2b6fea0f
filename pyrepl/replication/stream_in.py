"""The stream on its way into a replica: bytes to whole units of commands, and how far it has been read.

Not here: parsing (resp/parser.py), the cutting into units (spans.py), what is applied and acknowledged
(conversation.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.events import Apply
from pyrepl.replication.spans import Spans
from pyrepl.resp.parser import UNLIMITED, Parser


@final
class StreamIn:
    """One connection's stream, from a cut on.

    Invariant: `end`, behind the last unit given out, <= `read_offset`. `error` is set once the stream is broken.
    """

    __slots__ = ("_parser", "_spans", "error")

    def __init__(self, start: int) -> None:
        self.error = ""
        self._spans: Final = Spans(start)
        self._parser: Final = Parser(
            max_bulk_bytes=UNLIMITED, max_args=UNLIMITED, query_buffer_bytes=UNLIMITED, inline_allowed=False
        )

    @property
    def end(self) -> int:
        """The cut behind the last unit given out."""
        return self._spans.start

    @property
    def read_offset(self) -> int:
        """The cut behind the last byte that came."""
        return self._spans.start + self._spans.held_bytes + self._parser.pending_bytes

    def take_back(self) -> bytes | None:
        """The beginning of a command, to be received again with what follows (`Parser.take_back`)."""
        return self._parser.take_back()

    def receive(self, data: bytes, beginning: bytes = b"") -> Apply | None:
        """The whole units that are complete now, None if there are none. Look at `error` afterwards.

        `beginning` came behind `data` and was cut off where `scan.whole_bytes` says.
        """
        batch = self._parser.feed(data)
        if beginning:
            self._parser.hold(beginning)
        apply = self._spans.add(batch)
        if batch.error is not None:
            text = batch.error.decode("utf-8", "replace")
            # Where the broken command begins, however the bytes before it came and whatever of them waits for its end.
            self.error = f"broken replication stream at offset {self._spans.start + self._spans.held_bytes}: {text}"
        return apply

    def wants_ack(self, cut: int) -> bool:
        """Did the master ask for an ACK at or left of `cut`, and has had none since?"""
        wanted = self._spans.acks_wanted
        asked = False
        while wanted and wanted[0] <= cut:
            wanted.pop(0)
            asked = True
        return asked
