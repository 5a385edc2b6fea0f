"""The stream on its way into a replica: bytes to whole units of commands, and how far it has been read.

conversation.py makes one when the stream begins, with the cut from which it comes, and feeds it bytes. A unit is a
command, or a transaction from its MULTI to its EXEC; the shell applies units whole.

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

    `error` is empty until the bytes are no commands any more; then it says what is wrong, and at which offset.
    Invariant: `end` <= `read_offset`.
    """

    __slots__ = ("_parser", "_spans", "error")

    def __init__(self, start: int) -> None:
        self.error = ""
        self._spans: Final = Spans(start)
        # No limits on sizes: the master has accepted these commands, and we must apply what it applied. A stream has no
        # inline commands.
        self._parser: Final = Parser(
            max_bulk_bytes=UNLIMITED, max_args=UNLIMITED, query_buffer_bytes=UNLIMITED, inline_allowed=False
        )

    @property
    def end(self) -> int:
        """The cut behind the last unit given out."""
        return self._spans.start

    @property
    def read_offset(self) -> int:
        """The cut behind the last byte that came: given out, in an unfinished transaction, or in half a command."""
        return self._spans.start + self._spans.held_bytes + self._parser.pending_bytes

    def take_back(self) -> bytes | None:
        """Give back the beginning of a command, to be received again together with its rest (`Parser.take_back`)."""
        return self._parser.take_back()

    def receive(self, data: bytes, beginning: bytes = b"") -> Apply | None:
        """Take the next bytes. Returns the units that are complete now, None if there are none.

        Look at `error` afterwards: units before the fault are returned all the same. `beginning` came behind `data`:
        the first bytes of a command, which the caller cut off where `scan.whole_bytes` says. They are held unparsed.
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
        """Does a GETACK at or left of `cut` still wait for its ACK? Asked when everything left of `cut` is applied.

        Such a GETACK counts as answered afterwards: one ACK answers all of them.
        """
        wanted = self._spans.acks_wanted
        asked = False
        while wanted and wanted[0] <= cut:
            wanted.pop(0)
            asked = True
        return asked
